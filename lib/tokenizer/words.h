#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "tokenizer/encoding.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// Words and blanks, however the vocabulary spells them: tokens may have a mark of the blank before
/// them ("▁the"), and their offsets may include it.

/// `bytes` of `text` without the white space that they begin with; white space alone stays.
BERT_API Offset without_blank(std::string_view text, Offset bytes);

/// The words of `text` from byte `from` on: what stands between white space, punctuation with it.
BERT_API std::vector<Offset> words_between_blanks(std::string_view text, size_t from = 0);

/// The bytes of a token without white space before it. A token that is white space alone stands for
/// the blank of what follows: the result is the first byte behind it.
BERT_API Offset behind_blanks(std::string_view text, Offset token);

/// Tokenizer::encode of a text that stands behind a blank: where words that do are marked, its
/// first token is one. Offsets are those of `text`.
BERT_API void encode_behind_blank(const Tokenizer& tokenizer, std::string_view text,
                                  const EncodeOptions& options, Encoding& out,
                                  Tokenizer::Scratch& scratch);

/// For each token of an encoding of `text` without special tokens around it: the number of its word
/// as transformers' token-classification pipeline sees it. Where pieces that go on with a word have
/// a prefix, the tokenizer's own words; else a word reaches from blank to blank, and unknown tokens
/// begin one too.
BERT_API std::vector<int32_t> pipeline_words(const Tokenizer& tokenizer, std::string_view text,
                                             const Encoding& encoding);

/// The number of each token's word, -1 for added tokens: the tokenizer's own words, but where it
/// takes a text with blanks for one word, as Gemma's does, a word reaches from blank to blank. Of a
/// window too. `before`: bytes that stand before the text in what was encoded; where words are
/// counted by blanks, their tokens have -1. The result may lie in `scratch`.
BERT_API std::span<const int32_t> number_words(std::string_view text, size_t before,
                                               const Encoding& encoding,
                                               std::vector<int32_t>& scratch);

}  // namespace bert
