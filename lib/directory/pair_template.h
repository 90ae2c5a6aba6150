#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"

namespace bert {

/// How a reranker made of a large language model reads a query and a document (Qwen3-Reranker,
/// 2025): as one text, which its chat template makes of both and of an instruction. Of Jinja, in
/// which these are written, so much is read: text, comments, `{% set NAME = .. %}` and `{{ .. }}`
/// of
///
///   messages | selectattr("role", "eq", ROLE) | map(attribute="content") | first
///   (messages | selectattr("role", "eq", ROLE) | first).content
///
/// with `| default("..")` and `| trim` behind it, or of a NAME. ROLE is query, document or system.
/// Blanks are as transformers has them (trim_blocks, lstrip_blocks). Thread rule: const.
class BERT_API PairTemplate {
 public:
  /// Of chat_template.jinja, or chat_template in tokenizer_config.json. Throws Error: no_input if
  /// there is none, unsupported naming what is not of the above, or the role that it lacks.
  static PairTemplate open(const ModelDirectory& directory);
  /// `path` stands for the file in messages.
  static PairTemplate parse(std::string_view text, const std::string& path);

  /// What the model reads. The instruction may be empty: the template's own, then.
  std::string text(std::string_view query, std::string_view document,
                   std::string_view instruction) const;

  /// Text, or the content of a role.
  struct Piece {
    std::string text;  ///< or what stands for a role without content
    std::string role = {};
    bool trims = false;  ///< blanks around the content are left out
  };

 private:
  std::vector<Piece> pieces_;
};

}  // namespace bert
