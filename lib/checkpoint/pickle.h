#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// A tensor as a pickled state dict describes it: a view of a storage that lies in another zip
/// entry.
struct PickledTensor {
  std::string name;
  std::string_view dtype;  ///< as safetensors names it
  std::string storage;     ///< key of the storage: entry data/KEY
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

}  // namespace bert
