#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/tensor_view.h"

namespace bert {

/// The tensors of a pytorch_model.bin (torch.save of a state dict): a zip archive, or what torch
/// wrote before 1.6. The pickle inside is read by an interpreter that knows a dozen names and
/// nothing else; nothing is looked up, nothing is run. Every storage of an archive is held against
/// its CRC-32; older files have none.
///
/// `file` must outlive the views, and so must `copies`, which takes the few tensors whose rows are
/// not one after the other in the file. Throws Error(data) naming `path` and what is wrong.
std::vector<TensorView> read_pickle_file(std::span<const std::byte> file, const std::string& path,
                                         std::list<std::vector<std::byte>>& copies);

}  // namespace bert
