#include "inspect/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <set>
#include <string_view>

#include "base/error.h"
#include "checkpoint/weights_writer.h"
#include "directory/checkpoint.h"
#include "directory/file_names.h"
#include "directory/gliner_files.h"
#include "directory/model_files.h"
#include "encoder/input_factors.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "model/names.h"

namespace bert {
namespace {

/// Matrices of fewer elements that are not in kernel order stay F32.
constexpr size_t kSmall = 16384;

/// Whether models compute with it in their precision: all else stays as exact as it was.
bool is_quantized(const Config& config, std::string_view name) {
  const std::optional<Role> role = role_of(without_head(name));
  return role && tensor_spec(config, *role).quantized;
}

class Quantizer {
 public:
  explicit Quantizer(const QuantizeOptions& options)
      : options_(options), checkpoint_(Checkpoint::open(options.model, {options.head, {}})) {}

  void run() {
    if (holds_model(options_.output) && !options_.overwrite) {
      throw Error(Error::Kind::cannot_create, options_.output,
                  "a model is here already; `overwrite` replaces it");
    }
    const OutputDirectory made(options_.output);
    const FileLock lock(options_.output + "/.lock");
    const std::vector<NonFinite> faults = checkpoint_.weights.non_finite();
    if (!faults.empty()) {
      throw Error(Error::Kind::data, checkpoint_.weights.path(), faults[0].text());
    }
    if (options_.precision == Precision::int8 && weights().precision() != Precision::int8) {
      measure_factors();
    }
    for (const std::string& name : names()) add(name);
    NamedFiles files = model_files(options_.model);
    files.push_back(config_file());
    write_model(files, writer_, options_.output);
    if (options_.overwrite) remove_other_model_files(files, options_.output);
  }

 private:
  /// The canonical names of the tensors that are wanted, in the order of the file.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    std::set<std::string> seen;
    const auto want = [&](const std::string& name) {
      const std::string own = wanted(name);
      const TensorView* tensor = own.empty() ? nullptr : weights().find(own);
      if (tensor && tensor->is_weight() && seen.insert(own).second) all.push_back(own);
    };
    for (const TensorView* tensor : weights().tensors()) {
      const std::string name = weights().canonical(*tensor);
      const std::vector<std::string> parts = joined_parts(name);
      if (parts.empty()) want(name);
      for (const std::string& part : parts) want(part);
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
    if (options_.precision == Precision::f32) return add_plain(name);
    const std::string whole = joined_whole(name, config());
    if (name.ends_with(".weight") && !whole.empty()) {
      if (joined_.insert(whole).second) add_joined(whole);
      return;
    }
    const TensorView& tensor = *weights().find(name);
    if (is_quantized(config(), name) && tensor.shape.size() == 2) return add_blocked(name, {name});
    floats_.push_back(tensor.floats());
    if (is_half(tensor)) {
      writer_.add_f16(name, tensor.shape, floats_.back());
    } else {
      writer_.add(name, tensor.shape, floats_.back());
    }
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

  /// Query, key and value as one; those that are not the head's own are the trunk's.
  void add_joined(const std::string& whole) {
    std::vector<std::string> parts = joined_parts(whole);
    for (std::string& name : parts) {
      if (!weights().find(name)) name = without_head(name);
    }
    add_blocked(whole, parts);
  }

  void add_blocked(const std::string& name, const std::vector<std::string>& parts) {
    const TensorView* whole = weights().find(name);
    const bool as_is = whole && whole->blocked == options_.precision &&
                       std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
                         const TensorView* tensor = weights().find(part);
                         return tensor && tensor->data == whole->data;
                       });
    if (as_is) return writer_.add(*whole, name);
    std::vector<WeightRef> matrices;
    for (const std::string& part : parts) {
      const TensorView* tensor = weights().find(part);
      if (!tensor || tensor->shape.size() != 2) {
        throw Error(Error::Kind::data, weights().path(),
                    fmt::format("tensor {} is missing or no matrix", part));
      }
      if (parts.size() > 1) {  // of a layer
        weights().require(part, tensor_spec(config(), *role_of(without_head(part))).shape);
      }
      matrices.push_back(weights().matrix(part, tensor->shape[0], tensor->shape[1]));
    }
    writer_.add_blocked(name, matrices, options_.precision,
                        weights().factors_of(without_head(parts[0])));
  }

  /// Of a directory with heads, the first stands for all.
  void measure_factors() {
    const bool any = options_.head.empty() && !config().heads.empty();
    const std::string& head = any ? config().heads[0].name : options_.head;
    checkpoint_.weights.use_input_factors(input_factors(options_.model, head));
  }

  /// The larger tables among what models look up or compute with in f32: half precision is more
  /// exact than int8 by far.
  bool is_half(const TensorView& tensor) const {
    const auto fits = [](float x) { return std::fabs(x) < 65504; };
    return options_.precision == Precision::int8 && tensor.shape.size() == 2 &&
           tensor.elements() >= kSmall &&
           std::all_of(floats_.back().begin(), floats_.back().end(), fits);
  }

  /// The file that tells the model, and its text.
  std::pair<std::string, std::string> config_file() const {
    const GlinerFiles* gliner = options_.model.gliner();
    if (!gliner) return {std::string(file_names::kConfig), config_text()};
    return {std::string(file_names::kGliner),
            edit_config(gliner->root(), {{"encoder_config", config_text()}})};
  }

  std::string config_text() const {
    ConfigMembers members;
    if (!options_.head.empty()) {
      members = head_members(config());
      members.emplace_back("bertutils_heads", "");
      members.emplace_back("num_labels", "");
    }
    const std::string_view other_names = config().family->other_names_key;
    if (!other_names.empty()) members.emplace_back(other_names, "");
    members.emplace_back("torch_dtype", "");
    members.emplace_back("dtype", "\"float32\"");
    const bool plain = options_.precision == Precision::f32;
    const char* name = options_.precision == Precision::int8 ? "int8" : "bf16";
    members.emplace_back(
        "quantization_config",
        plain ? "" : fmt::format(R"({{"quant_method": "bertutils", "dtype": "{}"}})", name));
    return edit_config(options_.model.document(file_names::kConfig).root(), members);
  }

  const Weights& weights() const { return checkpoint_.weights; }
  const Config& config() const { return checkpoint_.config; }

  const QuantizeOptions& options_;
  Checkpoint checkpoint_;
  WeightsWriter writer_;
  std::list<std::vector<float>> floats_;
  std::set<std::string> joined_;  ///< that are done
};

}  // namespace

void quantize(const QuantizeOptions& options) { Quantizer(options).run(); }

}  // namespace bert
