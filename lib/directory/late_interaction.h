#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"
#include "io/json.h"

namespace bert {

struct SentenceModules;

/// How a model of late interaction (ColBERT: Khattab and Zaharia 2020) reads queries and documents,
/// of which it makes a vector for each token. Its layers over each token are the modules of
/// SentenceModules.
///
/// Three programs write such directories: PyLate, sentence-transformers (MultiVectorEncoder), and
/// ColBERT itself (HF_ColBERT, with artifact.metadata).
struct BERT_API LateInteraction {
  struct Side {
    std::string marker;         ///< a token behind [CLS], as "[Q] "; "": none
    std::string prompt;         ///< text before the text
    size_t length = 0;          ///< tokens at most, special ones included; 0: no limit of its own
    bool skips_tokens = false;  ///< tokens of `skipped` have no part in a score
    bool skips_first = false;   ///< nor has the first token
  };
  /// Queries are filled up with a token.
  struct Expansion {
    size_t length = 0;    ///< to so many tokens; 0: they are not
    bool attend = false;  ///< whether other tokens attend to the new ones
    std::string token;    ///< "": the mask token
  };
  Side query, document;
  Expansion expansion;
  std::vector<std::string> skipped;
  bool mean = false;  ///< a score is divided by the number of the query's tokens

  /// Of a directory whose modules are `of_tokens`; of other models the texts as they are. Throws
  /// Error naming file and value.
  static LateInteraction open(const ModelDirectory& directory, const SentenceModules& modules);
  /// Of the root of config_sentence_transformers.json, as PyLate writes it.
  static LateInteraction of_pylate(const Json& root);
};

}  // namespace bert
