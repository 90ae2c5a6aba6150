// The header of a NumPy file: what is accepted has just the bytes that its shape says.
#include "io/npy.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const bert::NpyArray array = bert::read_npy(file, "fuzz");
    const size_t item = bert::dtype_size(array.type);
    size_t bytes = item;
    for (const size_t extent : array.shape) bytes *= extent;
    if (bytes != array.bytes.size() || item == 0) std::abort();
    if (bytes > 0 && array.bytes.data() + bytes != file.data() + size) std::abort();
    unsigned sum = 0;
    for (const std::byte byte : array.bytes) sum += std::to_integer<unsigned>(byte);
    volatile unsigned sink = sum;
    (void)sink;
  } catch (const bert::Error& error) {
    if (error.kind() != bert::Error::Kind::data) std::abort();
  }
  return 0;
}
