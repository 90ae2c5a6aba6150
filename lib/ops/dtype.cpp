#include "ops/dtype.h"

#include <cstring>

#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

template <typename Integer>
void integers_to_float(const std::byte* data, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Integer value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

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
    case DType::u64:
      return "U64";
    case DType::u32:
      return "U32";
    case DType::u16:
      return "U16";
    default:
      return "BOOL";
  }
}

void to_float(DType type, const std::byte* data, std::span<float> out) {
  switch (type) {
    case DType::i64:
      return integers_to_float<int64_t>(data, out);
    case DType::i32:
      return integers_to_float<int32_t>(data, out);
    case DType::i16:
      return integers_to_float<int16_t>(data, out);
    case DType::i8:
      return integers_to_float<int8_t>(data, out);
    case DType::u64:
      return integers_to_float<uint64_t>(data, out);
    case DType::u32:
      return integers_to_float<uint32_t>(data, out);
    case DType::u16:
      return integers_to_float<uint16_t>(data, out);
    case DType::u8:
    case DType::boolean:
      return integers_to_float<uint8_t>(data, out);
    default:
      kernels().to_float(static_cast<int>(type), data, out.size(), out.data());
  }
}

}  // namespace bert
