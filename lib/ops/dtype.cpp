#include "ops/dtype.h"

#include "ops/kernels/kernel_table.h"

namespace bert {

std::string_view dtype_name(DType type) {
  switch (type) {
    case DType::f64:
      return "F64";
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::i16:
      return "I16";
    case DType::i8:
      return "I8";
    case DType::u8:
      return "U8";
    default:
      return "BOOL";
  }
}

void to_float(DType type, const std::byte* data, std::span<float> out) {
  kernels().to_float(static_cast<int>(type), data, out.size(), out.data());
}

}  // namespace bert
