#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/config.h"

namespace bert {

/// How the tensors of one file are named.
struct NameRules {
  const Family* family = nullptr;
  std::string class_name = {};  ///< transformers' class of the model, or empty
  size_t group_layers = 1;      ///< Config::inner_group_num
  /// The companions (Renaming::beside) that the file has, each behind its head_prefix.
  std::set<std::string, std::less<>> companions = {};

  /// Those of a model of this config, in a file without companions.
  static NameRules of(const Config& config);
  /// Notes a name of the file if it is a companion. All names are noted before the first is asked.
  void note(std::string_view name);
};

/// "heads.NAME." of a tensor that belongs to a named head; else empty.
BERT_API std::string_view head_prefix(std::string_view name);
/// The NAME in it.
BERT_API std::string_view head_name(std::string_view tensor_name);
/// The prefix of a head's tensors.
BERT_API std::string prefix_of_head(std::string_view head_name);
/// The name without its head_prefix.
std::string_view without_head(std::string_view name);

/// The canonical BERT name (see weights.h) of a tensor that a file calls `name`, behind its
/// head_prefix.
std::string canonical_name(std::string_view name, const NameRules& rules);
/// The name that transformers gives to a tensor of this family: the inverse of canonical_name for a
/// tensor of no named head.
BERT_API std::string file_name(std::string_view canonical_name, const Config& config);
/// The name of the tensor of transformers that has the one of this name and its neighbours, where
/// the family joins them; else empty.
BERT_API std::string joined_file_name(std::string_view canonical_name, const Config& config);
/// The same of a tensor that joins queries, keys and values head by head.
BERT_API std::string by_heads_file_name(std::string_view canonical_name, const Config& config);
/// The canonical names of what that tensor has, in order.
BERT_API std::vector<std::string> joined_file_parts(std::string_view canonical_name,
                                                    const Config& config);

}  // namespace bert
