#include "checkpoint/pickle_file.h"

#include "base/error.h"

namespace bert {

std::vector<TensorView> read_pickle_file(std::span<const std::byte>, const std::string& path) {
  throw Error(Error::Kind::unsupported, path, "pytorch_model.bin is not read yet");
}

}  // namespace bert
