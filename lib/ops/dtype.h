#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Element types of tensors and matrices, as safetensors names them.
enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, u64, u32, u16 };

constexpr size_t dtype_size(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    default:
      return 1;
  }
}
constexpr bool is_float(DType type) {
  return type == DType::f64 || type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
BERT_API std::string_view dtype_name(DType type);

/// Converts `out.size()` elements at `data` (any alignment) to float.
BERT_API void to_float(DType type, const std::byte* data, std::span<float> out);

}  // namespace bert
