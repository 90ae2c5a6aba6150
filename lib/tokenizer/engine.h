#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tokenizer/piece.h"

namespace bert {

class AddedTokenMatcher;

/// What splits a text into pieces: WordPiece (BERT's, in one pass), Composed (the parts of a
/// tokenizer.json), NamedPieces (Marian's) or DictionaryWords. Calls are virtual once per text,
/// not per token.
///
/// Thread rule: const once its tokenizer is open; each thread brings its own Scratch.
class Engine {
 public:
  /// Buffers and caches of one thread.
  struct Scratch {
    virtual ~Scratch() = default;

    int32_t next_word = 0;  ///< words so far in the text
    size_t replaced = 0;    ///< maximal invalid parts of UTF-8 so far in the text
  };

  virtual ~Engine() = default;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// The pieces of text[begin, end), a part of `text` that nothing joins to its neighbours. The
  /// scratch is one of this engine's. `literal`: special tokens in the text stay text.
  virtual void run(std::string_view text, size_t begin, size_t end, bool literal, Scratch& scratch,
                   PieceBuffer& out) const = 0;

  /// The spelling of an added token in normalised text.
  virtual std::string normalize_token(std::string_view token) const { return std::string(token); }
  /// The tokens that are looked for in normalised text. Borrows them; comes before the first run.
  virtual void set_added(const AddedTokenMatcher* /*added*/) {}
};

}  // namespace bert
