#pragma once

#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// A kind of file that is known by its first bytes.
struct FileKind {
  std::string_view name;    ///< with its article: "a gzip file"
  std::string_view remedy;  ///< makes text of it, for a message: "zcat FILE unpacks it"; may be ""
  size_t offset;            ///< where `magic` stands
  std::string_view magic;   ///< the bytes that all files of this kind have
  bool (*holds)(std::string_view start) = nullptr;  ///< and what else is true of their start
  /// encoding: a text, in another encoding; unmarked: its bytes alone tell. markup: also the begin
  /// of a good text. tensors: only where a text is wanted.
  enum class Class { binary, encoding, unmarked, markup, tensors };
  Class kind_class = Class::binary;
};

/// The kind of a file where a model file of tensors is wanted, for a message: "a zip archive", "a
/// git-lfs pointer, not the file itself" ...; empty if the kind is unknown.
std::string_view file_kind(std::string_view start);

/// The kind of an input that should be a text in UTF-8; nullptr if no kind is known. `nuls`: the
/// text has NULs, so that these do not tell UTF-16.
const FileKind* foreign_kind(std::string_view start, bool nuls);

/// Throws Error(data) if the start of a model file of text, of which is `wanted` ("JSON"), is that
/// of another kind of file.
BERT_API void refuse_other_kind(std::string_view start, const std::string& path,
                                std::string_view wanted);

}  // namespace bert
