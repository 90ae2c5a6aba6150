#include "inspect/quantize.h"

#include <fmt/format.h>

#include <list>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "checkpoint/weights_writer.h"
#include "directory/checkpoint.h"
#include "directory/file_names.h"
#include "directory/gliner_files.h"
#include "directory/model_files.h"
#include "encoder/input_factors.h"
#include "inspect/tensor_quantizer.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "model/names.h"
#include "model/seq2seq_config.h"
#include "seq2seq/halves.h"

namespace bert {
namespace {

void refuse_non_finite(const std::vector<NonFinite>& faults, const std::string& path) {
  if (!faults.empty()) throw Error(Error::Kind::data, path, faults[0].text());
}

/// config.json with these members and what tells the precision.
std::string config_text(const QuantizeOptions& options, ConfigMembers members) {
  members.emplace_back("torch_dtype", "");
  members.emplace_back("dtype", "\"float32\"");
  const bool plain = options.precision == Precision::f32;
  const char* name = options.precision == Precision::int8 ? "int8" : "bf16";
  members.emplace_back(
      "quantization_config",
      plain ? "" : fmt::format(R"({{"quant_method": "bertutils", "dtype": "{}"}})", name));
  return edit_config(options.model.document(file_names::kConfig).root(), members);
}

/// The file that tells the model, and its text.
std::pair<std::string, std::string> config_file(const QuantizeOptions& options,
                                                const ConfigMembers& members) {
  std::string text = config_text(options, members);
  const GlinerFiles* gliner = options.model.gliner();
  if (!gliner) return {std::string(file_names::kConfig), std::move(text)};
  return {std::string(file_names::kGliner),
          edit_config(gliner->root(), {{"encoder_config", text}})};
}

void write(const QuantizeOptions& options, const ConfigMembers& members,
           const WeightsWriter& writer) {
  NamedFiles files = model_files(options.model);
  files.push_back(config_file(options, members));
  write_model(files, writer, options.output);
  if (options.overwrite) remove_other_model_files(files, options.output);
}

/// Whether its tensors have names of halves: those of a model that translates, of a classifier with
/// both, or of one encoder.
bool has_halves(const ModelDirectory& model) {
  if (model.kind() == ModelDirectory::Kind::encoder) {
    return !model.gliner() && seq2seq_family(model.document(file_names::kConfig).root());
  }
  return model.kind() == ModelDirectory::Kind::transformer ||
         model.kind() == ModelDirectory::Kind::encoder_decoder;
}

/// The two halves of such a model.
class HalvesQuantizer {
 public:
  explicit HalvesQuantizer(const QuantizeOptions& options)
      : options_(options), halves_(Halves::open(options.model)) {
    if (!options.head.empty()) throw Error::of_field("head", "models that translate have none");
  }

  void run() {
    refuse_non_finite(non_finite(halves_.files), halves_.files.path);
    for (const bool decoder : {false, true}) add_half(decoder);
    for (const std::string part : {".weight", ".bias"}) add_projection(part);
    write(options_, {}, writer_);
  }

 private:
  const Config& config(bool decoder) const {
    return decoder ? halves_.config.decoder : halves_.config.encoder;
  }
  const Weights& weights(bool decoder) const {
    return decoder ? *halves_.decoder : *halves_.encoder;
  }

  void add_half(bool decoder) {
    const std::string words = tensor_name(Role::word_embeddings);
    const bool shared = halves_.config.shared_words &&
                        weights(false).find(words)->data == weights(true).find(words)->data;
    tensors_.emplace_back(config(decoder), weights(decoder), options_.precision, writer_,
                          half_prefix(halves_.config, decoder));
    for (const std::string& name : tensors_.back().names()) {
      if (shared && decoder && name == words) continue;
      if (options_.precision == Precision::f32) {
        const TensorView& tensor = *weights(decoder).find(name);
        const std::vector<float>& values = floats_.emplace_back(tensor.floats());
        writer_.add(seq2seq_file_name(halves_.config, decoder, name), file_shape(name, tensor),
                    values);
      } else if ((shared && name == words) || (halves_.config.family && is_classifier(name))) {
        tensors_.back().add(name, seq2seq_file_name(halves_.config, decoder, name));
      } else {
        tensors_.back().add(name);
      }
    }
  }

  /// A classifier has the name of its file, outside of both halves.
  static bool is_classifier(const std::string& name) {
    const std::optional<Role> role = role_of(name);
    return role == Role::classifier_dense || role == Role::classifier_output;
  }

  /// The bias of logits is one row in the files of transformers.
  std::vector<size_t> file_shape(const std::string& name, const TensorView& tensor) const {
    std::vector<size_t> shape = tensor.shape;
    if (halves_.config.family && role_of(name) == Role::mlm_bias) shape.insert(shape.begin(), 1);
    return shape;
  }

  void add_projection(const std::string& part) {
    const std::string name = std::string(kStatesProjection) + part;
    const TensorView* tensor = halves_.find(name);
    if (tensor) writer_.add(*tensor, name);
  }

  const QuantizeOptions& options_;
  const Halves halves_;
  WeightsWriter writer_;
  std::list<TensorQuantizer> tensors_;
  std::list<std::vector<float>> floats_;
};

class Quantizer {
 public:
  explicit Quantizer(const QuantizeOptions& options)
      : options_(options),
        checkpoint_(Checkpoint::open(options.model, {options.head, {}})),
        tensors_(checkpoint_.config, checkpoint_.weights, options.precision, writer_) {}

  void run() {
    refuse_non_finite(checkpoint_.weights.non_finite(), checkpoint_.weights.path());
    if (options_.precision == Precision::int8 && weights().precision() != Precision::int8) {
      measure_factors();
    }
    for (const std::string& name : names()) add(name);
    write(options_, config_members(), writer_);
  }

 private:
  /// The canonical names of the tensors that are wanted, in the order of the file.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    std::set<std::string> seen;
    for (const std::string& name : tensors_.names()) {
      const std::string own = wanted(name);
      const TensorView* tensor = own.empty() ? nullptr : weights().find(own);
      if (tensor && tensor->is_weight() && seen.insert(own).second) all.push_back(own);
    }
    return all;
  }

  /// The tensor's name in the new directory; empty: it is not in it. A head that is alone has what
  /// is its own and the trunk.
  std::string wanted(const std::string& name) const {
    if (options_.head.empty()) return name;
    const std::string own = prefix_of_head(options_.head);
    if (name.starts_with(own)) return name.substr(own.size());
    const HeadSpec* head = head_of_task(config().find_head(options_.head)->task);
    const bool pooled = head && head->kind == HeadKind::classify;
    return is_encoder_tensor(name) || (pooled && role_of(name) == Role::pooler) ? name : "";
  }

  void add(const std::string& name) {
    options_.precision == Precision::f32 ? add_plain(name) : tensors_.add(name);
  }

  void add_plain(const std::string& name) {
    const TensorView& tensor = *weights().find(name);
    const bool named = !head_prefix(name).empty();
    if (const std::string whole = joined_file_name(name, config()); !named && !whole.empty()) {
      if (joined_.insert(whole).second)
        add_plain_joined(joined_file_parts(name, config()), outer_name(name, whole));
      return;
    }
    const std::vector<float>& values = floats_.emplace_back(tensor.floats());
    writer_.add(named ? name : outer_name(name, file_name(name, config())), tensor.shape, values);
    // A decoder of its own has its own bias, which transformers reads instead.
    if (name == tensor_name(Role::mlm_bias, Part::bias) && config().family->saves_decoder_bias &&
        weights().find(Role::mlm_decoder) && !weights().find(Role::mlm_decoder, Part::bias)) {
      writer_.add(file_name(tensor_name(Role::mlm_decoder, Part::bias), config()), tensor.shape,
                  values);
    }
  }

  /// The name of a tensor in a file of floats: the family's, or that of a part of GLiNER.
  std::string outer_name(const std::string& name, const std::string& own) const {
    const bool of_encoder = is_encoder_tensor(name) || role_of(name) == Role::pooler;
    if (!options_.model.gliner() || !of_encoder) return own;
    const std::string_view prefix = config().family->tensor_prefix;
    return std::string(GlinerFiles::kEncoder) +
           (own.starts_with(prefix) ? own.substr(prefix.size()) : own);
  }

  /// What the family has as one tensor.
  void add_plain_joined(const std::vector<std::string>& parts, const std::string& file_name) {
    std::vector<float>& values = floats_.emplace_back();
    std::vector<size_t> shape;
    for (const std::string& name : parts) {
      const TensorView* tensor = weights().find(name);
      if (!tensor) {
        throw Error(Error::Kind::data, weights().path(), fmt::format("tensor {} is missing", name));
      }
      const std::vector<float> own = tensor->floats();
      values.insert(values.end(), own.begin(), own.end());
      const size_t rows = shape.empty() ? 0 : shape[0];
      shape = tensor->shape;
      shape[0] += rows;
    }
    writer_.add(file_name, shape, values);
  }

  /// Of a directory with heads, the first stands for all.
  void measure_factors() {
    const bool any = options_.head.empty() && !config().heads.empty();
    const std::string& head = any ? config().heads[0].name : options_.head;
    checkpoint_.weights.use_input_factors(input_factors(options_.model, head));
  }

  ConfigMembers config_members() const {
    ConfigMembers members;
    if (!options_.head.empty()) {
      members = head_members(config());
      members.emplace_back("bertutils_heads", "");
      members.emplace_back("num_labels", "");
    }
    const std::string_view other_names = config().family->other_names_key;
    if (!other_names.empty()) members.emplace_back(other_names, "");
    return members;
  }

  const Weights& weights() const { return checkpoint_.weights; }
  const Config& config() const { return checkpoint_.config; }

  const QuantizeOptions& options_;
  Checkpoint checkpoint_;
  WeightsWriter writer_;
  TensorQuantizer tensors_;
  std::list<std::vector<float>> floats_;
  std::set<std::string> joined_;  ///< that are done
};

}  // namespace

void quantize(const QuantizeOptions& options) {
  const bool halves = has_halves(options.model);
  std::optional<HalvesQuantizer> both;
  std::optional<Quantizer> one;
  halves ? static_cast<void>(both.emplace(options)) : static_cast<void>(one.emplace(options));
  if (holds_model(options.output) && !options.overwrite) {
    throw Error(Error::Kind::cannot_create, options.output,
                "a model is here already; `overwrite` replaces it");
  }
  const OutputDirectory made(options.output);
  const FileLock lock(options.output + "/.lock");
  halves ? both->run() : one->run();
}

}  // namespace bert
