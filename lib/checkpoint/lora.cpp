#include "checkpoint/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "io/safetensors.h"
#include "model/heads.h"
#include "model/names.h"
#include "model/schema.h"

namespace bert {
namespace {

/// Removes `part` and what follows it, "." included; whether it was there.
bool cut_at(std::string_view& name, std::string_view part, std::string_view& rest) {
  const size_t at = name.find(part);
  if (at == std::string_view::npos) return false;
  rest = name.substr(at + part.size());
  name = name.substr(0, at);
  return true;
}

std::string without(std::string name, std::string_view part) {
  if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, part.size());
  return name;
}

class Reader {
 public:
  explicit Reader(LoraTensors& out) : out_(out) {}

  void add(const TensorView& tensor) {
    std::string_view name = tensor.name, rest;
    if (constexpr std::string_view kPrefix = "base_model.model."; name.starts_with(kPrefix)) {
      name.remove_prefix(kPrefix.size());
    }
    // Behind the last word may stand a name of the adapter.
    if (cut_at(name, ".lora_embedding_A", rest)) return put(tensor, name, true, &Change::a);
    if (cut_at(name, ".lora_embedding_B", rest)) return put(tensor, name, true, &Change::b);
    if (cut_at(name, ".lora_A.", rest)) return put(tensor, name, false, &Change::a);
    if (cut_at(name, ".lora_B.", rest)) {
      return put(tensor, name, false, rest.ends_with("bias") ? &Change::bias : &Change::b);
    }
    for (const std::string_view other : {".lora_", ".trainable_tokens_", "prompt_embeddings"}) {
      if (tensor.name.find(other) != std::string::npos) {
        refuse(tensor, "of a kind of adapter that is not read");
      }
    }
    if (name.find(".original_module.") != std::string_view::npos) return;  // not used
    std::string own(name);
    for (const char* wrapper : {".modules_to_save.default", ".modules_to_save", ".base_layer"}) {
      own = without(std::move(own), wrapper);
    }
    if (!tensor.is_weight()) refuse(tensor, "wants F32, F16, BF16 or F64");
    out_.saved[own] = &tensor;
  }

  /// Whether each change is whole.
  void check() const {
    for (const auto& [module, change] : out_.changes) {
      const auto is_matrix = [](const TensorView* tensor) {
        return tensor && tensor->shape.size() == 2 && is_float(tensor->dtype);
      };
      if (is_matrix(change.a) && is_matrix(change.b) && change.a->shape[0] == change.b->shape[1] &&
          change.a->shape[0] > 0 && (!change.bias || is_float(change.bias->dtype))) {
        continue;
      }
      throw Error(Error::Kind::data, out_.files.path,
                  fmt::format("{}: wants two matrices, lora_A [r, in] and lora_B [out, r]",
                              printable(module, 200)));
    }
  }

 private:
  using Change = LoraTensors::Change;

  void put(const TensorView& tensor, std::string_view module, bool table,
           const TensorView* Change::*member) {
    Change& change = out_.changes[std::string(module)];
    change.table = table;
    change.*member = &tensor;
  }

  [[noreturn]] void refuse(const TensorView& tensor, const char* why) const {
    throw Error(Error::Kind::unsupported, out_.files.path,
                fmt::format("tensor {}: {}", printable(tensor.name, 200), why));
  }

  LoraTensors& out_;
};

struct Product {
  size_t rank, rows, cols;
  bool table;
  float scale;
};

/// w [rows, cols] += scale b a, of a table scale a^T b^T.
void add_product(std::span<const float> a, std::span<const float> b, const Product& p, float* w) {
  for (size_t i = 0; i < p.rows; ++i) {
    float* row = w + i * p.cols;
    for (size_t k = 0; k < p.rank; ++k) {
      const float x = p.scale * (p.table ? a[k * p.rows + i] : b[i * p.rank + k]);
      if (p.table) {
        for (size_t j = 0; j < p.cols; ++j) row[j] += x * b[j * p.rank + k];
      } else {
        for (size_t j = 0; j < p.cols; ++j) row[j] += x * a[k * p.cols + j];
      }
    }
  }
}

class Merger {
 public:
  Merger(TensorFiles& model, LoraTensors& adapter, const Config& config)
      : model_(model), adapter_(adapter), config_(config), rules_(NameRules::of(config)) {
    for (const TensorView& tensor : model.tensors) rules_.note(tensor.name);
    for (const auto& [name, tensor] : adapter.saved) rules_.note(name);
    model.tensors.reserve(model.tensors.size() + adapter.saved.size() + 1);  // pointers stay
    for (TensorView& tensor : model.tensors) by_name_[canonical(tensor.name)] = &tensor;
  }

  void run(const LoraScale& scale) {
    keep_decoder();
    for (const auto& [name, tensor] : adapter_.saved) save(name, *tensor);
    for (const auto& [module, change] : adapter_.changes) {
      if (is_absent_pooler(module)) continue;
      const double factor = scale(module, change.a->shape[0]);
      add(module, change, factor);
      if (change.bias) add_bias(module, *change.bias, factor);
    }
  }

 private:
  using Change = LoraTensors::Change;
  struct Place {
    TensorView* tensor = nullptr;
    size_t part = 0, parts = 1;  ///< which of so many parts of its rows
  };

  std::string canonical(const std::string& name) const { return canonical_name(name, rules_); }

  /// The tensor of this canonical name, or the one whose rows have it.
  Place find(const std::string& name) const {
    if (const auto found = by_name_.find(name); found != by_name_.end()) return {found->second};
    for (const std::string& whole : joined_wholes(name)) {
      const auto found = by_name_.find(whole);
      if (found == by_name_.end()) continue;
      const std::vector<std::string> parts = joined_parts(whole);
      const auto part = std::find(parts.begin(), parts.end(), name);
      return {found->second, static_cast<size_t>(part - parts.begin()), parts.size()};
    }
    return {};
  }

  /// A pooler that the base lacks was drawn at random where the adapter learned, and nothing says
  /// what it was: the model has none.
  bool is_absent_pooler(const std::string& module) const {
    const std::string weight = canonical(module + ".weight");
    return role_of(weight) == Role::pooler && !find(weight).tensor;
  }

  Place require(const std::string& name) const {
    const Place place = find(canonical(name));
    if (!place.tensor) {
      throw Error(Error::Kind::data, adapter_.files.path,
                  fmt::format("changes {}, which {} lacks", printable(name, 200), model_.path));
    }
    return place;
  }

  TensorView& append(TensorView tensor) {
    TensorView& added = model_.tensors.emplace_back(std::move(tensor));
    by_name_[canonical(added.name)] = &added;
    return added;
  }

  void save(const std::string& name, const TensorView& tensor) {
    TensorView own = tensor;
    own.name = name;
    const Place place = find(canonical(name));
    if (!place.tensor) {
      append(std::move(own));
    } else if (place.parts == 1) {
      own.name = place.tensor->name;
      *place.tensor = std::move(own);
    } else {
      const std::vector<float> values = tensor.floats();
      std::copy(values.begin(), values.end(), rows_of(name, tensor.shape));
    }
  }

  /// Whether the adapter has something of this module.
  bool touches(const std::string& canonical_weight) const {
    const auto is = [&](const std::string& name) { return canonical(name) == canonical_weight; };
    return std::any_of(adapter_.changes.begin(), adapter_.changes.end(),
                       [&](const auto& change) { return is(change.first + ".weight"); }) ||
           std::any_of(adapter_.saved.begin(), adapter_.saved.end(),
                       [&](const auto& saved) { return is(saved.first); });
  }

  /// A decoder that is the word table is a tensor of its own where one of the two changes: PEFT
  /// changes the module that it wraps, and no other.
  void keep_decoder() {
    const std::string words = tensor_name(Role::word_embeddings);
    const std::string decoder = tensor_name(Role::mlm_decoder);
    const auto table = by_name_.find(words);
    const bool masked = has_head(HeadKind::masked_lm, config_, [&](std::string_view name) {
      return by_name_.contains(std::string(name));
    });
    if (!config_.tie_word_embeddings || by_name_.contains(decoder) || table == by_name_.end() ||
        !masked || (!touches(words) && !touches(decoder))) {
      return;
    }
    TensorView own = *table->second;
    own.name = file_name(decoder, config_);
    append(std::move(own));
  }

  /// The numbers of a tensor, which become its own.
  float* writable(TensorView& tensor) {
    if (tensor.blocked) throw no_base(model_.path);
    float*& values = copies_[&tensor];
    if (values) return values;
    const size_t elements = tensor.elements();
    std::vector<std::byte>& bytes = model_.copies.emplace_back(elements * sizeof(float));
    values = reinterpret_cast<float*>(bytes.data());
    to_float(tensor.dtype, tensor.data, {values, elements});
    tensor.dtype = DType::f32;
    tensor.data = bytes.data();
    return values;
  }

  /// The rows of a tensor of the model that a change of this shape is for.
  float* rows_of(const std::string& name, const std::vector<size_t>& shape) {
    const Place place = require(name);
    std::vector<size_t> own = place.tensor->shape;
    if (!own.empty() && own[0] % place.parts == 0) own[0] /= place.parts;
    if (own != shape || !place.tensor->is_weight()) {
      throw Error(Error::Kind::data, adapter_.files.path,
                  fmt::format("changes {} by {}, but the model has {}", printable(name, 200),
                              shape_text(shape), shape_text(own)));
    }
    size_t before = place.part;
    for (const size_t size : own) before *= size;
    return writable(*place.tensor) + before;
  }

  void add(const std::string& module, const Change& change, double factor) {
    const size_t rank = change.a->shape[0];
    const size_t rows = change.table ? change.a->shape[1] : change.b->shape[0];
    const size_t cols = change.table ? change.b->shape[0] : change.a->shape[1];
    float* w = rows_of(module + ".weight", {rows, cols});
    const std::vector<float> a = change.a->floats(), b = change.b->floats();
    add_product(a, b, {rank, rows, cols, change.table, static_cast<float>(factor)}, w);
  }

  void add_bias(const std::string& module, const TensorView& bias, double factor) {
    float* own = rows_of(module + ".bias", bias.shape);
    for (const float value : bias.floats()) *own++ += static_cast<float>(factor) * value;
  }

  TensorFiles& model_;
  LoraTensors& adapter_;
  const Config& config_;
  NameRules rules_;
  std::unordered_map<std::string, TensorView*> by_name_;  ///< canonical
  std::unordered_map<const TensorView*, float*> copies_;
};

}  // namespace

LoraTensors LoraTensors::open(const std::string& path, bool pickle) {
  LoraTensors tensors;
  TensorPlace place{path, pickle};
  place.adapter = true;
  tensors.files = open_tensor_files(place);
  Reader reader(tensors);
  for (const TensorView& tensor : tensors.files.tensors) reader.add(tensor);
  reader.check();
  return tensors;
}

Error no_base(std::string_view path, std::string_view or_else) {
  return {Error::Kind::unsupported, path,
          fmt::format("its matrices are in the order of the kernels, which no adapter can change; "
                      "wants the model before quantize{}{}",
                      or_else.empty() ? "" : ", or ", or_else)};
}

void merge_lora(LoraTensors adapter, const LoraScale& scale, const Config& config,
                TensorFiles& model) {
  Merger(model, adapter, config).run(scale);
  model.files.splice(model.files.end(), adapter.files.files);
  model.copies.splice(model.copies.end(), adapter.files.copies);
}

}  // namespace bert
