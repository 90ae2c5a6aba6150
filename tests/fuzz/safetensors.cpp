// The safetensors reader; what it accepts is held against the format's rules once more.
#include "io/safetensors.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const std::byte* end = nullptr;
    unsigned sum = 0;
    for (const bert::SafetensorsEntry& tensor : bert::read_safetensors(file, "fuzz")) {
      if (end != nullptr && tensor.bytes.data() != end) std::abort();
      end = tensor.bytes.data() + tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
      if (tensor.shape.size() > bert::kMaxTensorRank) std::abort();
    }
    if (end != nullptr && end != file.data() + file.size()) std::abort();
    volatile unsigned sink = sum;
    (void)sink;
  } catch (const bert::Error& error) {
    if (error.kind() != bert::Error::Kind::data) std::abort();
  }
  return 0;
}
