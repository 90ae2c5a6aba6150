#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "checkpoint/tensor_view.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace bert {

/// The tensors of a directory under the names its files give them, and the files they lie in.
struct TensorFiles {
  std::string path;  ///< the file, or the index of a sharded model
  std::list<MappedFile> files;
  std::list<std::vector<std::byte>> copies;  ///< numbers of tensors that no file holds in order
  std::vector<TensorView> tensors;
};

/// Metadata of a file with matrices in kernel order: the version of their layout, and for each,
/// before its name, what it is: "int8 1152 384", or "int8 1152 384 factors".
inline constexpr std::string_view kLayoutKey = "bertutils_layout";
inline constexpr std::string_view kBlockedKey = "blocked.";

/// Where tensors lie: in one file, or in shards that an index lists.
struct TensorPlace {
  std::string path;  ///< the file, or the index
  bool pickle = false;
  std::optional<Json> index = {};  ///< the root of the index; its shards lie beside it
  bool adapter = false;            ///< whether these are changes of a model, not a model
};

/// Throws Error (no_input, data, permission, unsupported) naming file and tensor. A pickle is read
/// by an allow-list interpreter, nothing is executed.
BERT_API TensorFiles open_tensor_files(const TensorPlace& place);

/// Where `name` is one of DType's, or an unsigned type of the same size. Throws Error(unsupported).
DType dtype_from_name(std::string_view name, const std::string& path, std::string_view tensor);

}  // namespace bert
