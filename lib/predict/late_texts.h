#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "directory/late_interaction.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// A side of LateInteraction with the ids of a tokenizer: what queries, or documents, become.
struct BERT_API LateSide {
  Tokenizer tokenizer;             ///< puts the marker behind [CLS]
  std::string prompt;              ///< text before the text
  size_t length = 0;               ///< tokens at most; 0: as many as the model takes
  std::vector<int32_t> skipped{};  ///< ids that have no part in a score
  size_t expand_to = 0;            ///< tokens; 0: it is not filled up
  int32_t expansion_id = -1;       ///< with these
  bool attend_expansion = false;   ///< whether other tokens attend to them
  bool skips_first = false;        ///< the first token has no part in a score

  /// A marker that the tokenizer does not have is text before the prompt, and skipped tokens that
  /// it does not have are none, as in sentence-transformers. Throws Error(data) naming `directory`
  /// if there is no token for the expansion.
  static LateSide of_query(const Tokenizer& tokenizer, const LateInteraction& late,
                           const std::string& directory);
  static LateSide of_document(const Tokenizer& tokenizer, const LateInteraction& late);

  /// Whether token number `place` has no part in a score.
  bool skips(int32_t id, size_t place) const;
  /// Fills a query up. Returns how many of its tokens others attend to.
  size_t expand(Encoding& encoding) const;

 private:
  static LateSide of(const Tokenizer& tokenizer, const LateInteraction& late,
                     const LateInteraction::Side& side);
};

}  // namespace bert
