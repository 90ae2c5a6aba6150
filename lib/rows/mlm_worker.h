#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "predict/masks.h"
#include "rows/task_worker.h"
#include "tokenizer/windows.h"

namespace bert {

/// What the tools of the masked-LM laboratory share: mlm-fill, mlm-mask, mlm-score.

/// A sum that is the same in whatever order it is added up (in units of 2^-24).
class OrderFreeSum {
 public:
  void add(double value);
  void add(const OrderFreeSum& other) { units_ += other.units_; }
  double value() const { return static_cast<double>(units_) / kUnits; }

 private:
  static constexpr double kUnits = 1 << 24;
  int64_t units_ = 0;
};

/// What a run found that the vocabulary lacks: how many, and the first record with one.
struct BERT_API UnknownCount {
  uint64_t count = 0;
  uint64_t first = 0;

  void add(uint64_t record, uint64_t more);
  UnknownCount& operator+=(const UnknownCount& other);
};

/// A text as tokens: the record's text, or with --tokens its pieces as `tokenize` prints them.
struct TokenizedText {
  Encoding encoding;  ///< in its frame
  size_t front = 0;   ///< added tokens before the text
  size_t back = 0;    ///< and after it

  size_t count() const { return encoding.size() - front - back; }  ///< tokens of the text
  int32_t id(size_t t) const { return encoding.input_ids[front + t]; }
  size_t index(size_t t) const { return front + t; }  ///< in the sequence that the model sees
  const Offset& offset(size_t t) const { return encoding.offsets[front + t]; }
  int32_t word(size_t t) const { return encoding.word_ids[front + t]; }
  /// The tokens of `window` in their frame.
  void ids_of(const TokenWindow& window, std::vector<int32_t>& out) const;
};

/// A TaskWorker whose records are texts with masks, or tokens.
class MlmWorker : public TaskWorker {
 protected:
  MlmWorker(const Tokenizer& tokenizer, const TaskOptions& options, bool tokens)
      : TaskWorker(tokenizer, options), tokens_(tokens) {}

  /// `text` stands in for the record's own. Cuts at max_length unless there are windows; counts, or
  /// refuses, as the options say. Throws Error(data) naming the record for a token that the
  /// vocabulary does not have. Bytes `own` of `text` are the record's, the others a prompt's.
  void tokenize(const Record& record, std::string_view text, TokenizedText& out,
                Offset own = {0, UINT32_MAX});
  /// As tokenize(), of all the text, whatever the options say; notes nothing.
  void tokenize_whole(const Record& record, std::string_view text, TokenizedText& out) {
    tokenize_to(0, record, text, out);
  }
  /// The windows that the options ask for: one, or several with Overflow::window.
  std::vector<TokenWindow> windows_of(const TokenizedText& text) const;
  /// A `--labels` item "index:token": the token's TokenizedText::index, and its id.
  std::vector<std::pair<size_t, int32_t>> parse_labels(const Record& record,
                                                       std::string_view labels) const;

  /// Which of these words, in order, a token is of: by its last byte. -1: none.
  static int32_t word_of(std::span<const Offset> words, std::string_view text, Offset token);

  const bool tokens_;

 private:
  void tokenize_to(size_t max_length, const Record& record, std::string_view text,
                   TokenizedText& out);
  void split_tokens(const Record& record, std::string_view text, const EncodeOptions& encode,
                    Encoding& out);
  void find_words(Encoding& out);

  Encoding words_;
  std::vector<int32_t> numbers_;  ///< scratch of number_words
};

/// Whether the last character of `left` and the first of `right` would run two words into one:
/// letters of scripts that set words off by blanks.
BERT_API bool words_meet(std::string_view left, std::string_view right);

/// The window where a mask in token `token` is filled.
size_t mask_window(std::span<const TokenWindow> windows, size_t token);

/// How a piece meets the text before it.
///   as_is    as it stands there           glued   it goes on with the word before the blanks
///   beside   behind another piece: two words want a blank between them, which Chinese does not
///   spaced   it has the mark of a blank
enum class PieceJoin { as_is, beside, glued, spaced };

/// Appends a piece, Tokenizer::piece_text(), to text that is being filled. A glued one takes the
/// place of the blanks before it, of which those in the first `least` bytes of `out` stay.
BERT_API void append_piece(std::string& out, std::string_view piece, PieceJoin join,
                           size_t least = 0);

/// Makes what pieces left from byte `begin` on a part of a row: bytes that are no UTF-8, as those
/// of a half character, become U+FFFD, and line feeds, tabs and the like blanks.
BERT_API void mend_pieces(std::string& out, size_t begin);

/// A log probability with nine significant digits.
BERT_API std::string score_text(double value);

}  // namespace bert
