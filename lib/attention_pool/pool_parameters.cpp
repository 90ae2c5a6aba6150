#include "attention_pool/pool_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "ops/dtype.h"

namespace bert {
namespace {

/// A parameter's name, how many dimensions it has, and what it is for: the scores by a letter.
struct Known {
  std::string_view name;
  size_t rank;
  std::string_view scores;  ///< d dot and scaled dot, a additive, c concat, p perceptron, g gauss
};
constexpr Known kKnown[] = {
    {"W_q", 2, "dag"}, {"W_k", 2, "dag"}, {"W", 2, "c"},       {"W1", 2, "p"},      {"b1", 1, "p"},
    {"w_v", 1, "acp"}, {"width", 1, "g"}, {"W_v", 2, "dacpg"}, {"W_o", 2, "dacpg"},
};

char letter_of(nn::Score score) { return "ddacpg"[static_cast<size_t>(score)]; }

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(Error::Kind::data, where, what);
}

/// The float type of a safetensors file by its name.
DType type_of(const std::string& path, const SafetensorsEntry& entry) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    if (entry.dtype == dtype_name(type)) return type;
  }
  refuse(path, fmt::format("tensor '{}' has the type {}, wants a float type", entry.name,
                           printable(entry.dtype)));
}

PoolTensor read(const std::string& path, const SafetensorsEntry& entry) {
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& k) { return k.name == entry.name; });
  if (known == std::end(kKnown)) {
    refuse(path, fmt::format("found the tensor '{}', wants W_q, W_k, W_v, W_o, w_v, width, W, W1 "
                             "or b1",
                             printable(entry.name)));
  }
  const auto& shape = entry.shape;
  // A width may also be a scalar, as torch has it.
  const bool scalar = known->name == "width" && shape.empty();
  const size_t rows = known->rank == 2 && shape.size() == 2 ? shape[0] : 1;
  const size_t cols = scalar ? 1 : shape.empty() ? 0 : shape.back();
  if ((shape.size() != known->rank && !scalar) || rows == 0 || cols == 0 ||
      (known->name == "width" && cols != 1)) {
    refuse(path,
           fmt::format("tensor '{}' has the shape {}, wants {}", entry.name, shape_text(shape),
                       known->name == "width" ? "[1]"
                       : known->rank == 2     ? "two dimensions"
                                              : "one dimension"));
  }
  PoolTensor tensor{entry.name, rows, cols, std::vector<float>(rows * cols)};
  to_float(type_of(path, entry), entry.bytes.data(), tensor.values);
  if (!std::all_of(tensor.values.begin(), tensor.values.end(),
                   [](float value) { return std::isfinite(value); })) {
    refuse(path, fmt::format("tensor '{}' has numbers that are not finite", entry.name));
  }
  return tensor;
}

}  // namespace

std::string_view score_name(nn::Score score) {
  constexpr std::string_view kNames[] = {"dot",    "scaled-dot", "additive",
                                         "concat", "perceptron", "gauss"};
  return kNames[static_cast<size_t>(score)];
}

PoolParameters PoolParameters::open(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  std::map<std::string, std::string> metadata;
  PoolParameters parameters;
  for (const SafetensorsEntry& entry : read_safetensors(file.bytes(), path, &metadata)) {
    parameters.tensors_.push_back(read(path, entry));
  }
  parameters.score_ = metadata["score"];
  parameters.heads_ = to_number<size_t>(metadata["heads"]).value_or(0);
  return parameters;
}

void PoolParameters::write(OutputFile& file, const PoolForm& form) const {
  std::vector<SafetensorsTensor> tensors;
  for (const PoolTensor& tensor : tensors_) {
    std::vector<size_t> shape{tensor.rows, tensor.cols};
    const bool vector = tensor.name == "w_v" || tensor.name == "b1" || tensor.name == "width";
    if (vector) shape.erase(shape.begin());
    tensors.push_back({tensor.name, "F32", shape, std::as_bytes(std::span(tensor.values))});
  }
  write_safetensors(
      file, tensors,
      {{"score", std::string(score_name(form.score))}, {"heads", std::to_string(form.heads)}});
  file.commit();
}

const PoolTensor* PoolParameters::find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const PoolTensor& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

PoolTensor& PoolParameters::add(std::string_view name, size_t rows, size_t cols) {
  tensors_.push_back({std::string(name), rows, cols, std::vector<float>(rows * cols)});
  return tensors_.back();
}

size_t PoolParameters::count() const {
  size_t count = 0;
  for (const PoolTensor& tensor : tensors_) count += tensor.values.size();
  return count;
}

std::vector<std::string> PoolParameters::names_of(nn::Score score) {
  std::vector<std::string> names;
  for (const Known& known : kKnown) {
    if (known.scores.find(letter_of(score)) != known.scores.npos) names.emplace_back(known.name);
  }
  return names;
}

PoolWeights::PoolWeights(PoolParameters& parameters, size_t query_size) {
  for (PoolTensor& tensor : parameters.tensors()) {
    const Matrix m = tensor.matrix();
    if (tensor.name == "W_q") query.weight = m;
    if (tensor.name == "W_k") key.weight = m;
    if (tensor.name == "W_v") value = m;
    if (tensor.name == "W_o") output = m;
    if (tensor.name == "w_v") v = m.data;
    if (tensor.name == "b1") query.bias = m.data;
    if (tensor.name == "width") width = m.data;
    if (tensor.name != "W" && tensor.name != "W1") continue;
    query.weight = {m.data, m.rows, query_size, m.stride};
    key.weight = {m.data + query_size, m.rows, m.cols - query_size, m.stride};
  }
}

namespace {

/// "W_q of params.safetensors"
std::string name_of(const PoolTensor& tensor, const PoolNames& names) {
  return fmt::format("{} of {}", tensor.name, names.parameters);
}

/// Columns after a projection, which wants as many as come in.
size_t project(const PoolTensor* tensor, const std::string& file, size_t size,
               const PoolNames& names) {
  if (!tensor) return size;
  if (tensor->cols == size) return tensor->rows;
  refuse(file, fmt::format("{}, wants {}, as {} has", found_columns(size), tensor->cols,
                           name_of(*tensor, names)));
}

void check_names(const PoolForm& form, const PoolParameters& parameters, const PoolNames& names) {
  const std::vector<std::string> known = PoolParameters::names_of(form.score);
  for (const PoolTensor& tensor : parameters.tensors()) {
    if (std::find(known.begin(), known.end(), tensor.name) != known.end()) continue;
    refuse(names.parameters,
           fmt::format("the score '{}' has no tensor '{}', wants {}", score_name(form.score),
                       tensor.name, fmt::join(known, ", ")));
  }
}

void check_hidden(const char* name, size_t hidden, const PoolParameters& parameters,
                  const PoolNames& names) {
  const PoolTensor* tensor = parameters.find(name);
  if (!tensor || tensor->cols == hidden) return;
  refuse(names.parameters, fmt::format("tensor '{}' has {} numbers, wants {}, one for each number "
                                       "of the hidden layer",
                                       name, tensor->cols, hidden));
}

void check_heads(size_t heads, const char* what, size_t size) {
  if (size % heads == 0) return;
  throw Error::of_field(
      "heads",
      fmt::format("found {}, wants a divisor of {}, the columns of the {}", heads, size, what));
}

}  // namespace

std::string queries_fit(const PoolParameters& parameters, const PoolNames& names) {
  for (const char* name : {"W_q", "W", "W1"}) {
    if (!parameters.has(name)) continue;
    const std::string_view why = name[1] == '_' ? "" : " and the keys";
    return fmt::format("{} of {}{}", name, names.parameters, why);
  }
  return parameters.has("W_k") ? "W_k of " + names.parameters : names.keys;
}

std::string found_columns(size_t count) {
  return fmt::format("found {} column{}", count, count == 1 ? "" : "s");
}

PoolSizes PoolSizes::of(const PoolForm& form, const PoolParameters& parameters, size_t key_size,
                        size_t value_size, const PoolNames& names) {
  check_names(form, parameters, names);
  PoolSizes sizes;
  sizes.keys = key_size;
  sizes.values = value_size;
  const PoolTensor* joint = parameters.find(form.score == nn::Score::concat ? "W" : "W1");
  if (joint) {
    if (joint->cols <= key_size) {
      refuse(names.keys, fmt::format("{}, wants fewer than the {} of {}, which are "
                                     "those of query and key",
                                     found_columns(key_size), joint->cols, name_of(*joint, names)));
    }
    sizes.queries = joint->cols - key_size;
    sizes.hidden = joint->rows;
  } else {
    sizes.hidden = project(parameters.find("W_k"), names.keys, key_size, names);
    const PoolTensor* query = parameters.find("W_q");
    sizes.queries = query ? query->cols : sizes.hidden;
    if (query && query->rows != sizes.hidden) {
      refuse(names.parameters,
             fmt::format("W_q gives queries of {} numbers, wants {}, as keys have", query->rows,
                         sizes.hidden));
    }
  }
  check_hidden("w_v", sizes.hidden, parameters, names);
  check_hidden("b1", sizes.hidden, parameters, names);
  sizes.mixed = project(parameters.find("W_v"), names.values, value_size, names);
  sizes.output = sizes.mixed;
  if (const PoolTensor* output = parameters.find("W_o")) {
    if (output->cols != sizes.mixed) {
      refuse(names.parameters, fmt::format("W_o has {} columns, wants {}, as the heads' outputs",
                                           output->cols, sizes.mixed));
    }
    sizes.output = output->rows;
  }
  check_heads(form.heads, "keys", sizes.hidden);
  check_heads(form.heads, "values", sizes.mixed);
  return sizes;
}

}  // namespace bert
