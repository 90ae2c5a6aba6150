#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/engine.h"
#include "tokenizer/files/tokenizer_files.h"
#include "tokenizer/parts/added_tokens.h"
#include "tokenizer/parts/offset_trimmer.h"
#include "tokenizer/parts/token_decoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_marks.h"

namespace bert {

/// What a tokenizer is made of, shared by its copies and by all threads.
struct Tokenizer::State {
  explicit State(TokenizerFiles read);

  const uint64_t serial;  ///< tells tokenizers apart, also those that lived at the same address
  TokenizerFiles files;   ///< without the tables that are in the engine
  WordMarks marks;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Decoder> decoder;
  AddedTokenMatcher raw;         ///< added tokens of the text as it is
  AddedTokenMatcher normalized;  ///< added tokens of the normalised text
  OffsetTrimmer trimmer;
  std::vector<bool> special;  ///< [vocab_size]
  /// Tokens of `normalized` whose normalised text, which is how the reference spells them, is
  /// another.
  std::unordered_map<int32_t, std::string> respelled;
  BySpecial<int32_t> ids;  ///< ids of kNamedTokens; -1: the vocabulary has none

  /// Hands `sink` portions of about `portion` pieces. Returns the invalid parts of UTF-8.
  size_t run(std::string_view text, bool literal, size_t portion, Scratch::State& scratch,
             const PieceBuffer::Sink& sink) const;
  /// At most `limit` + 1 pieces of a text, which tell whether it has more than `limit`.
  size_t collect(std::string_view text, bool literal, size_t limit, Scratch::State& scratch,
                 std::vector<Piece>& pieces) const;

 private:
  void add_patterns();
};

struct Tokenizer::Scratch::State {
  explicit State(const Tokenizer::State& tokenizer)
      : engine(tokenizer.engine->make_scratch()), owner(tokenizer.serial) {}

  std::unique_ptr<Engine::Scratch> engine;
  PieceBuffer buffer;
  std::vector<Piece> first;   ///< pieces of the text
  std::vector<Piece> second;  ///< pieces of the second text
  uint64_t owner;             ///< serial of the tokenizer whose words the caches hold
};

}  // namespace bert
