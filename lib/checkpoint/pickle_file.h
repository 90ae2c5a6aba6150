#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/weights.h"

namespace bert {

/// The tensors of a pytorch_model.bin (torch.save of a state dict, zip form). The pickle inside is
/// read by an interpreter that knows a dozen names and nothing else; nothing is looked up, nothing
/// is run. Throws Error(data) naming `path` and what is wrong. `file` must outlive the views.
std::vector<TensorView> read_pickle_file(std::span<const std::byte> file, const std::string& path);

}  // namespace bert
