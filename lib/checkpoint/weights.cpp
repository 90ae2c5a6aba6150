#include "checkpoint/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "checkpoint/tensor_files.h"
#include "io/safetensors.h"
#include "model/names.h"

namespace bert {

struct Weights::State {
  TensorFiles source;
  NameRules rules;
  size_t heads = 1;
  std::list<std::vector<std::byte>> gathered;  // what parts of tensors that join heads point to
  size_t query_groups = 1;  // heads of queries for each of keys and values, A / K
  std::unordered_map<std::string, const TensorView*> by_name;  // canonical
  std::string head;                                            // "heads.NAME." or empty
  std::list<TensorView> parts;                                 // of tensors that join several
  InputFactors factors;
  std::mutex mutex;
  std::map<const TensorView*, std::vector<float>> unblocked;  // by matrix(), on first need

  const TensorView* find(std::string_view name) const {
    if (!head.empty()) {
      const auto own = by_name.find(head + std::string(name));
      if (own != by_name.end()) return own->second;
    }
    const auto found = by_name.find(std::string(name));
    return found == by_name.end() ? nullptr : found->second;
  }
  void index_names();
  void add_name(std::string name, const TensorView& tensor);
  void add_parts(const std::string& name, const TensorView& tensor);
  const std::byte* gather_heads(const TensorView& tensor, size_t which);
  void settle_ties(bool tied);
};

namespace {

bool same_content(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.blocked == b.blocked &&
         (a.data == b.data || std::memcmp(a.data, b.data, a.bytes().size()) == 0);
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

size_t count_non_finite_rows(const TensorView& tensor) {
  std::vector<float> row(tensor.shape[1]);
  size_t count = 0;
  for (size_t i = 0; i < tensor.shape[0]; ++i) {
    tensor.row(i, row);
    count += static_cast<size_t>(
        std::count_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); }));
  }
  return count;
}

size_t count_non_finite(const TensorView& tensor) {
  if (tensor.blocked) return count_non_finite_rows(tensor);
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

std::string NonFinite::text() const {
  return fmt::format("tensor {}: {} elements are NaN or infinite", printable(tensor), count);
}

void Weights::State::index_names() {
  for (const TensorView& tensor : source.tensors) rules.note(tensor.name);
  by_name.reserve(source.tensors.size());
  for (const TensorView& tensor : source.tensors) {
    const std::string name = canonical_name(tensor.name, rules);
    add_name(name, tensor);
    add_parts(name, tensor);
  }
}

void Weights::State::add_name(std::string name, const TensorView& tensor) {
  const auto [entry, is_new] = by_name.try_emplace(std::move(name), &tensor);
  if (!is_new && !same_content(*entry->second, tensor)) {
    throw Error(Error::Kind::data, source.path,
                fmt::format("tensors {} and {} are two of one kind", printable(entry->second->name),
                            printable(tensor.name)));
  }
}

void Weights::State::add_parts(const std::string& name, const TensorView& tensor) {
  const std::vector<std::string> names = joined_parts(name), own = joined_parts(tensor.name);
  if (names.empty() || !tensor.is_weight()) return;
  // Heads of queries that share keys and values make the queries' part larger.
  const size_t first_share = names.size() == std::size(kQueryKeyValue) ? query_groups : 1;
  const size_t shares = first_share + names.size() - 1;
  const size_t share = tensor.shape.empty() ? 0 : tensor.shape[0] / shares;
  const bool by_heads = is_joined_by_heads(name);
  if (by_heads && tensor.blocked) {  // quantize writes no such tensor
    throw Error(Error::Kind::data, source.path,
                fmt::format("tensor {} joins heads, wants a float type", printable(tensor.name)));
  }
  if (share == 0 || tensor.shape[0] != shares * share || (by_heads && share % heads != 0)) {
    throw Error(Error::Kind::data, source.path,
                fmt::format("tensor {} is {}, wants a multiple of {} rows", printable(tensor.name),
                            shape_text(tensor.shape), shares));
  }
  size_t first = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    TensorView& view = parts.emplace_back(tensor);
    view.name = own.empty() ? names[i] : own[i];
    view.shape[0] = i == 0 ? first_share * share : share;
    if (by_heads) {
      view.data = gather_heads(tensor, i);
    } else if (tensor.blocked) {
      view.first_row = first;
    } else {
      view.data = tensor.data + first * (tensor.bytes().size() / tensor.shape[0]);
    }
    first += view.shape[0];
    add_name(names[i], view);
  }
}

/// Copies the rows of queries (0), keys (1) or values (2) of a tensor that has them head by head.
const std::byte* Weights::State::gather_heads(const TensorView& tensor, size_t which) {
  const size_t bytes = tensor.bytes().size() / (3 * heads);  // of one head's part
  std::vector<std::byte>& rows = gathered.emplace_back(heads * bytes);
  for (size_t head = 0; head < heads; ++head) {
    std::memcpy(rows.data() + head * bytes, tensor.data + (3 * head + which) * bytes, bytes);
  }
  return rows.data();
}

/// What transformers 5 does with the decoder and the word embeddings, which should be one matrix:
/// if both are in the file and differ, each keeps its own; if one is missing, it is the other.
void Weights::State::settle_ties(bool tied) {
  const std::string words_name = tensor_name(Role::word_embeddings);
  const std::string decoder_name = tensor_name(Role::mlm_decoder);
  // The layer's own bias is what is added.
  const TensorView* bias = find(tensor_name(Role::mlm_decoder, Part::bias));
  if (bias != nullptr) by_name[tensor_name(Role::mlm_bias, Part::bias)] = bias;
  if (!tied) return;
  const TensorView* words = find(words_name);
  const TensorView* decoder = find(decoder_name);
  if (decoder == nullptr) return;
  if (words == nullptr) {
    by_name.emplace(words_name, decoder);
  } else if (!same_content(*words, *decoder)) {
    return;
  }
  by_name.erase(decoder_name);
}

Weights::Weights(Weights&&) noexcept = default;
Weights& Weights::operator=(Weights&&) noexcept = default;
Weights::~Weights() = default;

Weights::Weights(TensorFiles source, const Config& config) : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  state_->rules = NameRules::of(config);
  state_->heads = config.num_attention_heads;
  if (config.num_key_value_heads > 0) {
    state_->query_groups = config.num_attention_heads / config.num_key_value_heads;
  }
  state_->index_names();
  state_->settle_ties(config.tie_word_embeddings);
}

Weights Weights::of(TensorFiles files, const Config& config) { return {std::move(files), config}; }

Weights Weights::of(std::vector<TensorView> tensors, const Config& config,
                    const std::string& path) {
  TensorFiles source;
  source.path = path.empty() ? config.path : path;
  source.tensors = std::move(tensors);
  return {std::move(source), config};
}

void Weights::use_head(std::string_view name) {
  state_->head = name.empty() ? "" : prefix_of_head(name);
}

void Weights::use_input_factors(InputFactors factors) { state_->factors = std::move(factors); }

std::span<const float> Weights::factors_of(std::string_view canonical_name) const {
  const auto found = state_->factors.find(canonical_name);
  return found == state_->factors.end() ? std::span<const float>() : found->second;
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
  if (!tensor->is_weight()) {
    throw Error(Error::Kind::data, path(),
                fmt::format("tensor {} is {}, wants F32, F16, BF16 or F64",
                            printable(tensor->name, 200), dtype_name(tensor->dtype)));
  }
  return *tensor;
}

std::vector<float> Weights::floats(std::string_view name,
                                   std::initializer_list<size_t> shape) const {
  return require(name, shape).floats();
}

WeightRef Weights::matrix(std::string_view name, size_t out, size_t in) const {
  const TensorView& tensor = require(name, {out, in});
  if (!tensor.blocked) return {tensor.data, tensor.dtype, out, in};
  const std::lock_guard lock(state_->mutex);
  std::vector<float>& values = state_->unblocked[&tensor];
  if (values.empty()) values = tensor.floats();
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, out, in};
}

Linear Weights::linear(std::span<const TensorSpec> specs, std::vector<float> bias,
                       Precision precision) const {
  // As the file has it, where it has just these, side by side.
  const TensorView& first = require(specs[0]);
  bool as_is = first.blocked == precision;
  size_t rows = 0;
  for (const TensorSpec& spec : specs) {
    const TensorView& tensor = as_is ? require(spec) : first;
    as_is = as_is && tensor.data == first.data && tensor.first_row == rows &&
            tensor.blocked == precision;
    rows += spec.shape[0];
  }
  if (as_is && first.all_rows == rows) return Linear(first.blocked_ref(), std::move(bias));
  std::vector<WeightRef> matrices;
  for (const TensorSpec& spec : specs) {
    matrices.push_back(matrix(spec.name, spec.shape[0], spec.shape[1]));
  }
  return Linear(matrices, std::move(bias), precision, factors_of(specs[0].name));
}

Linear Weights::linear(const Config& config, std::span<const Role> roles, Precision precision,
                       size_t layer) const {
  std::vector<TensorSpec> specs;
  std::vector<float> bias;
  size_t rows = 0;
  for (const Role role : roles) {
    specs.push_back(tensor_spec(config, role, Part::weight, layer));
    if (has_part(config, role, Part::bias)) {
      const std::vector<float> own = floats(tensor_spec(config, role, Part::bias, layer));
      bias.resize(rows);  // of roles before it that have none
      bias.insert(bias.end(), own.begin(), own.end());
    }
    rows += specs.back().shape[0];
  }
  if (!bias.empty()) bias.resize(rows);
  return linear(specs, std::move(bias), precision);
}

Precision Weights::precision() const {
  for (const TensorView& tensor : state_->source.tensors) {
    if (tensor.blocked) return *tensor.blocked;
  }
  return Precision::f32;
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
