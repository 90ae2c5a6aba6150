#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// A tensor as a pickled state dict describes it: a view of a storage that lies elsewhere in the
/// file.
struct PickledTensor {
  std::string name;
  std::string_view dtype;  ///< as safetensors names it
  std::string storage;     ///< key of the storage: of a zip archive, entry data/KEY
  uint64_t storage_elements = 0;
  uint64_t offset = 0;  ///< elements
  std::vector<size_t> shape;
  std::vector<size_t> stride;  ///< elements
};

/// The tensors of the pickle of a state dict (data.pkl of torch.save), in its order.
///
/// Not an unpickler: it knows the opcodes and the dozen names that torch.save uses for tensors,
/// builds plain values from them, and refuses all else; nothing is looked up, nothing is run. At
/// most a million opcodes, a stack of 10,000 and 100,000 remembered values; no recursion. Throws
/// Error(data) naming `where`, and the byte offset or the name that is not allowed.
std::vector<PickledTensor> read_state_dict(std::span<const std::byte> pickle,
                                           const std::string& where);

/// A file that torch.save wrote before 1.6: five pickles one after the other (a magic number, the
/// protocol, what the machine was, the state dict, the keys of its storages), then the storages in
/// the order of `keys`, each after its number of elements as 8 bytes.
struct OldStateDict {
  std::vector<PickledTensor> tensors;
  std::vector<std::string> keys;
  size_t storages = 0;  ///< where the first one begins
};

/// By the same interpreter, each pickle within the same limits. Throws Error(data) naming `where`.
OldStateDict read_old_state_dict(std::span<const std::byte> file, const std::string& where);

}  // namespace bert
