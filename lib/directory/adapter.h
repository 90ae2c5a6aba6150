#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export.h"
#include "checkpoint/tensor_files.h"
#include "io/json.h"
#include "model/config.h"
#include "model/heads.h"
#include "text/posix_regex.h"

namespace bert {

struct LoraTensors;

/// What adapter_config.json says of a LoRA adapter of PEFT: some matrices that change those of a
/// whole model, its base, and perhaps a classifier of its own.
///
/// Thread rule: const after read.
struct BERT_API AdapterConfig {
  std::string base;              ///< base_model_name_or_path; "": the file names none
  std::optional<HeadKind> head;  ///< task_type
  double alpha = 8;              ///< lora_alpha
  bool rank_root = false;        ///< use_rslora: alpha / sqrt(r) instead of alpha / r
  std::vector<std::pair<Regex, double>> alphas;  ///< alpha_pattern, the first that fits

  /// Throws Error(unsupported) naming a kind of adapter, or a setting of LoRA, that is not read.
  static AdapterConfig read(const Json& root);
  /// What the change of a module is multiplied by, whose r is `rank`.
  double scale(std::string_view module, size_t rank) const;
};

/// An adapter's folder.
///
/// Thread rule: const after its constructor.
class BERT_API Adapter {
 public:
  static constexpr std::string_view kWeights = "adapter_model.safetensors";
  /// Whether a folder is an adapter's; a link that leads nowhere counts.
  static bool stands_in(const std::string& folder);
  /// Throws Error as AdapterConfig::read and JsonDocument::open do, no_input if it has no weights.
  explicit Adapter(std::string folder);

  const std::string& folder() const { return folder_; }
  const AdapterConfig& config() const { return config_; }
  /// Whether this file of a model is the adapter's, by its name or "FOLDER/NAME": its tokenizer and
  /// its sentence-transformers modules stand for those of the base, each of them whole.
  bool brings(std::string_view name) const;
  /// The base's config.json with the adapter's classifier: its class, and as many labels as it has.
  JsonDocument change(const JsonDocument& config) const;
  /// Changes the tensors of the base. Throws Error as merge_lora.
  void merge(const Config& config, TensorFiles& base) const;
  /// "LoRA of NAME, with which 12 matrices are changed and 2 tensors are its own", for people.
  std::string summary() const;

 private:
  std::string weights() const;
  /// The tensors that were kept, else those of the file; and keeps them for the next who takes.
  LoraTensors take() const;
  void keep(LoraTensors tensors) const;

  struct Opened;
  std::string folder_;
  AdapterConfig config_;
  bool tokenizer_ = false, modules_ = false;
  std::shared_ptr<Opened> opened_;
};

}  // namespace bert
