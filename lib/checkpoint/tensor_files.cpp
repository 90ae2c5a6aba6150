#include "checkpoint/tensor_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "checkpoint/pickle_file.h"
#include "io/json.h"
#include "io/safetensors.h"

namespace bert {
namespace {

constexpr size_t kMaxShards = 1024;

/// A whole number of at most `limit` at the start of `text`, which it loses; 0 if there is none.
size_t take_number(std::string_view& text, size_t limit) {
  const std::string_view whole = text;
  const size_t value = bert::take_number<size_t>(text).value_or(0);
  if (value <= limit) return value;
  text = whole;
  return 0;
}

/// Those before the first panel.
void check_factors(const std::string& path, const TensorView& view) {
  std::vector<float> factors(view.shape[1]);
  to_float(DType::f32, view.data, factors);
  for (size_t k = 0; k < factors.size(); ++k) {
    if (factors[k] > 0 && std::isfinite(factors[k])) continue;
    throw Error(Error::Kind::data, path,
                fmt::format("tensor {}: factor {} is {}, wants a number above 0",
                            printable(view.name), k + 1, factors[k]));
  }
}

/// "int8 1152 384": precision, rows and columns of a matrix in kernel order; of int8 perhaps with
/// factors.
void read_blocked(const std::string& path, std::string_view text, TensorView& view) {
  constexpr std::pair<std::string_view, Precision> kPrecisions[] = {{"int8 ", Precision::int8},
                                                                    {"bf16 ", Precision::bf16}};
  const std::string whole(text);
  for (const auto& [word, precision] : kPrecisions) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    view.blocked = precision;
    break;
  }
  const size_t bytes = view.elements() * dtype_size(view.dtype);
  const size_t out = take_number(text, 1u << 27);
  if (text.starts_with(' ')) text.remove_prefix(1);
  const size_t in = take_number(text, 1u << 20);
  view.factors = view.blocked == Precision::int8 && text == " factors";
  if (view.factors) text = {};
  if (!view.blocked || out == 0 || in == 0 || !text.empty()) {
    throw Error(
        Error::Kind::data, path,
        fmt::format("metadata of tensor {}: found \"{}\", wants int8 or bf16, rows, columns, and "
                    "after those of int8 \"factors\" or nothing",
                    printable(view.name), printable(whole)));
  }
  const size_t wanted = blocked_bytes(*view.blocked, out, in, view.factors);
  if (view.dtype != DType::u8 || bytes != wanted) {
    throw Error(
        Error::Kind::data, path,
        fmt::format("tensor {}: {} bytes of {}, wants {} of U8 for {}", printable(view.name), bytes,
                    dtype_name(view.dtype), wanted, printable(whole)));
  }
  view.shape = {out, in};
  view.all_rows = out;
  if (view.factors) check_factors(path, view);
}

/// Finds what `quantize` wrote: the metadata of the file name each such matrix.
void mark_blocked(const std::string& path, const std::map<std::string, std::string>& metadata,
                  std::span<TensorView> tensors) {
  const auto layout = metadata.find(std::string(kLayoutKey));
  if (layout == metadata.end()) return;
  if (layout->second != std::to_string(kBlockedLayout)) {
    throw Error(Error::Kind::unsupported, path,
                fmt::format("its matrices have layout {}, wants {}; quantize the model again",
                            printable(layout->second), kBlockedLayout));
  }
  std::optional<Precision> precision;
  for (TensorView& tensor : tensors) {
    const auto found = metadata.find(std::string(kBlockedKey) + tensor.name);
    if (found == metadata.end()) continue;
    read_blocked(path, found->second, tensor);
    if (precision && precision != tensor.blocked) {
      throw Error(Error::Kind::data, path, "has int8 and bf16 matrices, wants one of them");
    }
    precision = tensor.blocked;
  }
}

void append_safetensors(const std::string& path, TensorFiles& out) {
  const MappedFile& file = out.files.emplace_back(MappedFile::open(path));
  const size_t before = out.tensors.size();
  std::map<std::string, std::string> metadata;
  for (SafetensorsEntry& entry : read_safetensors(file.bytes(), path, &metadata)) {
    TensorView view;
    view.dtype = dtype_from_name(entry.dtype, path, entry.name);
    view.name = std::move(entry.name);
    view.shape = std::move(entry.shape);
    view.data = entry.bytes.data();
    out.tensors.push_back(std::move(view));
  }
  mark_blocked(path, metadata, std::span(out.tensors).subspan(before));
}

void append_pickle(const std::string& path, TensorFiles& out) {
  const MappedFile& file = out.files.emplace_back(MappedFile::open(path));
  for (TensorView& view : read_pickle_file(file.bytes(), path, out.copies))
    out.tensors.push_back(std::move(view));
}

/// tensor name -> shard, of an index; and the shards, each once.
struct ShardIndex {
  std::unordered_map<std::string, size_t> shard_of;
  std::vector<std::string> shards;
};

ShardIndex read_index(const Json& root, const std::string& path) {
  ShardIndex index;
  std::unordered_map<std::string, size_t> numbers;
  root.at("weight_map").for_each_member([&](std::string_view tensor, Json value) {
    std::string shard(value.as_string());
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      throw Error(
          Error::Kind::data, value.where(),
          fmt::format("found {}, wants the name of a file beside the index", value.describe()));
    }
    const auto [entry, is_new] = numbers.try_emplace(shard, index.shards.size());
    if (is_new) index.shards.push_back(std::move(shard));
    if (index.shards.size() > kMaxShards) {
      throw Error(Error::Kind::data, path, fmt::format("more than {} shards", kMaxShards));
    }
    index.shard_of.emplace(tensor, entry->second);
  });
  return index;
}

void append_tensors(const std::string& path, bool pickle, TensorFiles& out) {
  pickle ? append_pickle(path, out) : append_safetensors(path, out);
}

TensorFiles open_sharded(const TensorPlace& place) {
  TensorFiles result;
  ShardIndex index = read_index(*place.index, place.path);
  const std::string folder = place.path.substr(0, place.path.rfind('/') + 1);
  for (size_t shard = 0; shard < index.shards.size(); ++shard) {
    const size_t before = result.tensors.size();
    append_tensors(folder + index.shards[shard], place.pickle, result);
    std::erase_if(result.tensors, [&, i = size_t{0}](const TensorView& tensor) mutable {
      if (i++ < before) return false;
      const auto found = index.shard_of.find(tensor.name);
      if (found == index.shard_of.end() || found->second != shard) return true;
      index.shard_of.erase(found);
      return false;
    });
  }
  if (!index.shard_of.empty()) {
    const auto& [tensor, shard] = *index.shard_of.begin();
    throw Error(
        Error::Kind::data, place.path,
        fmt::format("tensor {} is not in {}", printable(tensor), printable(index.shards[shard])));
  }
  return result;
}

/// Throws Error if a whole file has tensors of something that was wrapped around the model, or
/// those of an adapter: data for names that all begin with a prefix such as `module.`, unsupported
/// for an adapter.
void refuse_wrapped(const std::string& path, const std::vector<std::string_view>& names) {
  struct Wrapper {
    std::string_view prefix, by, instead;
  };
  constexpr Wrapper kWrappers[] = {
      {"_orig_mod.", "torch.compile", "the model before it was compiled (_orig_mod)"},
      {"module.", "DataParallel", "its model (module)"},
      {"_forward_module.", "Lightning", "the model"},
      {"base_model.model.", "PEFT", "what merge_and_unload() gives"},
      {"0.auto_model.", "SentenceTransformer", "the whole, with its own save()"}};
  for (const std::string_view name : names) {
    if (name.find(".lora_A.") == std::string_view::npos) continue;
    throw Error(Error::Kind::unsupported, path,
                fmt::format("tensor {}: of an adapter, wants a whole model: merge them with "
                            "merge_and_unload() of PEFT, then save_pretrained()",
                            printable(name, 200)));
  }
  for (const Wrapper& wrapper : kWrappers) {
    const auto wrapped = [&](std::string_view name) { return name.starts_with(wrapper.prefix); };
    if (names.empty() || !std::all_of(names.begin(), names.end(), wrapped)) continue;
    throw Error(Error::Kind::data, path,
                fmt::format("all names of tensors begin with {}, which {} puts there; save {} with "
                            "save_pretrained()",
                            wrapper.prefix, wrapper.by, wrapper.instead));
  }
}

}  // namespace

TensorFiles open_tensor_files(const TensorPlace& place) {
  TensorFiles files;
  if (place.index) {
    files = open_sharded(place);
  } else {
    append_tensors(place.path, place.pickle, files);
  }
  files.path = place.path;
  if (place.adapter) return files;
  std::vector<std::string_view> names;
  for (const TensorView& tensor : files.tensors) names.push_back(tensor.name);
  refuse_wrapped(place.path, names);
  return files;
}

DType dtype_from_name(std::string_view name, const std::string& path, std::string_view tensor) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"F32", DType::f32},     {"F16", DType::f16}, {"BF16", DType::bf16}, {"F64", DType::f64},
      {"I64", DType::i64},     {"U64", DType::i64}, {"I32", DType::i32},   {"U32", DType::i32},
      {"I16", DType::i16},     {"U16", DType::i16}, {"I8", DType::i8},     {"U8", DType::u8},
      {"BOOL", DType::boolean}};
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  throw Error(
      Error::Kind::unsupported, path,
      fmt::format("tensor {}: dtype {} is not supported", printable(tensor), printable(name)));
}

}  // namespace bert
