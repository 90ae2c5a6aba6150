#include "checkpoint/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "checkpoint/names.h"
#include "checkpoint/tensor_files.h"
#include "io/safetensors.h"

namespace bert {

struct Weights::State {
  TensorFiles source;
  NameRules rules;
  std::unordered_map<std::string, const TensorView*> by_name;  // canonical
  std::string head;                                            // "heads.NAME." or empty

  const TensorView* find(std::string_view name) const {
    if (!head.empty()) {
      const auto own = by_name.find(head + std::string(name));
      if (own != by_name.end()) return own->second;
    }
    const auto found = by_name.find(std::string(name));
    return found == by_name.end() ? nullptr : found->second;
  }
  void index_names();
  void settle_ties(bool tied);
};

namespace {

constexpr std::string_view kWords = "embeddings.word_embeddings.weight";
constexpr std::string_view kDecoder = "cls.predictions.decoder.weight";
constexpr std::string_view kDecoderBias = "cls.predictions.decoder.bias";
constexpr std::string_view kBias = "cls.predictions.bias";

bool same_content(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         (a.data == b.data || std::memcmp(a.data, b.data, a.elements() * dtype_size(a.dtype)) == 0);
}

/// Elements of a float tensor that are NaN or infinite: those whose exponent bits are all ones.
template <typename Bits>
size_t count_non_finite(const TensorView& tensor, Bits exponent) {
  const size_t elements = tensor.elements();
  size_t count = 0;
  for (size_t i = 0; i < elements; ++i) {
    Bits bits;
    std::memcpy(&bits, tensor.data + i * sizeof(Bits), sizeof(Bits));
    count += static_cast<Bits>(bits & exponent) == exponent;
  }
  return count;
}

size_t count_non_finite(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::f64:
      return count_non_finite<uint64_t>(tensor, 0x7FF0000000000000u);
    case DType::f32:
      return count_non_finite<uint32_t>(tensor, 0x7F800000u);
    case DType::f16:
      return count_non_finite<uint16_t>(tensor, 0x7C00u);
    case DType::bf16:
      return count_non_finite<uint16_t>(tensor, 0x7F80u);
    default:
      return 0;
  }
}

}  // namespace

size_t TensorView::elements() const {
  uint64_t count = 0;
  checked_elements(shape, count);
  return count;
}

std::string NonFinite::text() const {
  return fmt::format("tensor {}: {} elements are NaN or infinite", printable(tensor), count);
}

void Weights::State::index_names() {
  for (const TensorView& tensor : source.tensors) {
    const std::string_view head = head_prefix(tensor.name);
    if (std::string_view(tensor.name).substr(head.size()) == "pre_classifier.weight") {
      rules.pre_classifiers.emplace(head);
    }
  }
  by_name.reserve(source.tensors.size());
  for (const TensorView& tensor : source.tensors) {
    const auto [entry, is_new] = by_name.try_emplace(canonical_name(tensor.name, rules), &tensor);
    if (!is_new) {
      throw Error(Error::Kind::data, source.path,
                  fmt::format("tensors {} and {} are two of one kind",
                              printable(entry->second->name), printable(tensor.name)));
    }
  }
}

/// What transformers 5 does with the decoder and the word embeddings, which should be one matrix:
/// if both are in the file and differ, each keeps its own; if one is missing, it is the other.
void Weights::State::settle_ties(bool tied) {
  const TensorView* bias = find(kDecoderBias);
  if (bias != nullptr) by_name[std::string(kBias)] = bias;  // the layer's own bias is what is added
  if (!tied) return;
  const TensorView* words = find(kWords);
  const TensorView* decoder = find(kDecoder);
  if (decoder == nullptr) return;
  if (words == nullptr) {
    by_name.emplace(kWords, decoder);
  } else if (!same_content(*words, *decoder)) {
    return;
  }
  by_name.erase(std::string(kDecoder));
}

Weights::Weights() : state_(std::make_unique<State>()) {}
Weights::Weights(Weights&&) noexcept = default;
Weights& Weights::operator=(Weights&&) noexcept = default;
Weights::~Weights() = default;

bool Weights::present(const std::string& directory) { return tensor_files_present(directory); }

Weights Weights::open(const std::string& directory, const Config& config) {
  Weights weights;
  State& state = *weights.state_;
  state.source = open_tensor_files(directory);
  state.rules.model_type = config.model_type;
  state.index_names();
  state.settle_ties(config.tie_word_embeddings);
  return weights;
}

void Weights::use_head(std::string_view name) {
  state_->head = name.empty() ? "" : fmt::format("heads.{}.", name);
}

const TensorView* Weights::find(std::string_view canonical_name) const {
  return state_->find(canonical_name);
}

const TensorView& Weights::require(std::string_view name,
                                   std::initializer_list<size_t> shape) const {
  return require(name, std::span<const size_t>(shape.begin(), shape.size()));
}

const TensorView& Weights::require(std::string_view name, std::span<const size_t> wanted) const {
  const TensorView* tensor = find(name);
  if (tensor == nullptr) {
    throw Error(Error::Kind::data, path(),
                fmt::format("tensor {} is missing, wants {}", name, shape_text(wanted)));
  }
  if (!std::equal(wanted.begin(), wanted.end(), tensor->shape.begin(), tensor->shape.end())) {
    throw Error(Error::Kind::data, path(),
                fmt::format("tensor {} is {}, wants {}", printable(tensor->name, 200),
                            shape_text(tensor->shape), shape_text(wanted)));
  }
  if (!is_float(tensor->dtype)) {
    throw Error(Error::Kind::data, path(),
                fmt::format("tensor {} is {}, wants F32, F16, BF16 or F64",
                            printable(tensor->name, 200), dtype_name(tensor->dtype)));
  }
  return *tensor;
}

std::vector<float> Weights::floats(std::string_view name,
                                   std::initializer_list<size_t> shape) const {
  const TensorView& tensor = require(name, shape);
  std::vector<float> values(tensor.elements());
  to_float(tensor.dtype, tensor.data, values);
  return values;
}

WeightRef Weights::matrix(std::string_view name, size_t out, size_t in) const {
  const TensorView& tensor = require(name, {out, in});
  return {tensor.data, tensor.dtype, out, in};
}

std::vector<const TensorView*> Weights::tensors() const {
  std::vector<const TensorView*> all;
  for (const TensorView& tensor : state_->source.tensors) all.push_back(&tensor);
  return all;
}

std::string Weights::canonical(const TensorView& tensor) const {
  return canonical_name(tensor.name, state_->rules);
}

std::vector<NonFinite> Weights::non_finite() const {
  std::vector<NonFinite> found;
  for (const TensorView& tensor : state_->source.tensors) {
    if (const size_t count = count_non_finite(tensor)) found.push_back({tensor.name, count});
  }
  return found;
}

void Weights::hold() const {
  for (MappedFile& file : state_->source.files) file.hold();
}

const std::string& Weights::path() const { return state_->source.path; }

}  // namespace bert
