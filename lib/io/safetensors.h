#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

inline constexpr size_t kMaxTensorRank = 8;

/// One tensor of a safetensors file, inside the file's bytes.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as the file spells it: F32, BF16, I64 ..
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;
};

/// The tensors of a safetensors file, in the order of their data. The header length, JSON, names,
/// dtypes and shapes are checked. So are the offsets: they start at 0, leave no hole, do not
/// overlap, agree with shape and dtype, and end where the file ends. Throws Error(data) that names
/// `path` and the tensor. `file` must outlive the entries. `metadata`, if given, gets the entries
/// of __metadata__.
BERT_API std::vector<SafetensorsEntry> read_safetensors(
    std::span<const std::byte> file, const std::string& path,
    std::map<std::string, std::string>* metadata = nullptr);

/// Sets `elements` to the number of elements of `shape`; false if it does not fit 64 bits.
bool checked_elements(std::span<const size_t> shape, uint64_t& elements);

/// "[30522, 768]"
BERT_API std::string shape_text(std::span<const size_t> shape);

}  // namespace bert
