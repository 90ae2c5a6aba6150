// A whole pytorch_model.bin: zip archive, pickle, storages.
#include <cstdint>
#include <cstdlib>
#include <list>
#include <vector>

#include "base/error.h"
#include "checkpoint/pickle_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    std::list<std::vector<std::byte>> copies;
    unsigned sum = 0;
    const std::span file(reinterpret_cast<const std::byte*>(data), size);
    for (const bert::TensorView& tensor : bert::read_pickle_file(file, "fuzz", copies)) {
      for (size_t i = 0; i < tensor.elements() * bert::dtype_size(tensor.dtype); ++i) {
        sum += std::to_integer<unsigned>(tensor.data[i]);
      }
    }
    volatile unsigned sink = sum;
    (void)sink;
  } catch (const bert::Error& error) {
    if (error.kind() != bert::Error::Kind::data && error.kind() != bert::Error::Kind::unsupported)
      std::abort();
  }
  return 0;
}
