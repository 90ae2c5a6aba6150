#pragma once

#include <bert/bert.h>
#include <bert/matrix.h>

#include <memory>
#include <new>

namespace bert {
inline namespace v0 {

using Offset = bert_offset;

/// The tokens of a text or a pair, n of each. One thread at a time.
class Encoding {
 public:
  Encoding() : c_(bert_encoding_open(), bert_encoding_close) {
    if (!c_) throw std::bad_alloc();
  }
  /// One that a batch lends, until the batch is changed.
  explicit Encoding(const bert_encoding* lent)
      : c_(const_cast<bert_encoding*>(lent), [](bert_encoding*) {}) {}

  size_t size() const { return bert_encoding_size(c()); }  ///< n
  Span<const int32_t> ids() const { return {bert_encoding_ids(c()), size()}; }
  /// BERT: 0 of [CLS] text [SEP], 1 of pair [SEP].
  Span<const int32_t> type_ids() const { return {bert_encoding_type_ids(c()), size()}; }
  /// Bytes of the token's text; 0, 0 of tokens that the tokenizer added.
  Span<const Offset> offsets() const { return {bert_encoding_offsets(c()), size()}; }
  /// The index of the word in its text; -1 of tokens that the tokenizer added.
  Span<const int32_t> word_ids() const { return {bert_encoding_word_ids(c()), size()}; }
  /// 0: of the text; 1: of the pair; -1: added by the tokenizer.
  Span<const int8_t> sequence_ids() const { return {bert_encoding_sequence_ids(c()), size()}; }
  /// Tokens that max_length left out: at least this many, but 0 only if there are none.
  size_t dropped() const { return bert_encoding_dropped(c()); }
  /// Parts of the text that are not UTF-8 and were read as U+FFFD.
  size_t replaced() const { return bert_encoding_replaced(c()); }

  bert_encoding* c() { return c_.get(); }
  const bert_encoding* c() const { return c_.get(); }

 private:
  std::unique_ptr<bert_encoding, void (*)(bert_encoding*)> c_;
};

}  // namespace v0
}  // namespace bert
