#pragma once

#include <string>
#include <vector>

#include "base/export.h"

namespace bert {

/// The regular files in a folder and the folders below it, in the order of the bytes of their
/// names. Symbolic links, but `folder` itself, are not followed. A folder that cannot be read
/// stands among them, so that the reader of the files tells why. "": the working directory, whose
/// files have no folder before their names.
BERT_API std::vector<std::string> files_below(const std::string& folder);

}  // namespace bert
