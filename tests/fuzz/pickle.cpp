// The pickle interpreter alone: a data.pkl.
#include "checkpoint/pickle.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    for (const auto& tensor :
         bert::read_state_dict({reinterpret_cast<const std::byte*>(data), size}, "fuzz")) {
      if (tensor.shape.size() > bert::kMaxTensorRank || tensor.shape.size() != tensor.stride.size())
        std::abort();
    }
  } catch (const bert::Error& error) {
    if (error.kind() != bert::Error::Kind::data) std::abort();
  }
  return 0;
}
