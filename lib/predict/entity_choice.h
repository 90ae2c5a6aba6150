#pragma once

#include <vector>

#include "base/export.h"
#include "heads/entity_head.h"

namespace bert {

/// Which of several spans that share words are entities.
struct EntityRule {
  bool nested = false;   ///< one may lie in another; else no two share a word
  bool several = false;  ///< the same words may have several names
};

/// Keeps the best of the spans that may not stand together, as GLiNER does: the one with the
/// highest score, then the next that the rule allows beside it; of equal scores the first. The
/// result is in the order of begins, of equal ones by falling score.
BERT_API void choose_entities(const EntityRule& rule, size_t words,
                              std::vector<EntityScore>& spans);

}  // namespace bert
