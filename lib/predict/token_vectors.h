#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "predict/vectors.h"
#include "tokenizer/windows.h"

namespace bert {

/// The vector of a token or a word: of text number `text`, the `index`-th of it.
struct TokenVector {
  size_t text = 0, index = 0;
  std::string_view token = {};
  std::span<const float> vector = {};
};
using UseTokenVector = std::function<void(const TokenVector&)>;

/// The vector of a span: bytes of text number `text`.
struct SpanVector {
  size_t text = 0;
  Offset span = {};
  std::span<const float> vector = {};
};
using UseSpanVector = std::function<void(const SpanVector&)>;

/// The sequences of the text that comes in.
struct TextWindows {
  size_t begin = 0, end = 0;         ///< range of the sequences
  std::vector<TokenWindow> windows;  ///< windows of the prompt and the text
  size_t prompt = 0;                 ///< tokens of the prompt in it

  /// The text whose first sequence is `first`; `prompt_bytes` of it are the prompt's.
  void start(const Sequences& sequences, size_t first, size_t prompt_bytes);
};

/// The vector of each token, special ones too. A token of several windows has that of the window
/// where it has the most context. Tokens of the prompt have none, and do not count.
void predict_tokens(const VectorPredictor& predictor, const Sequences& sequences,
                    VectorScratch& scratch, const UseTokenVector& use);

/// The vector of each word: the mean of its pieces, each from the first window that holds it.
/// `texts`: without the prompt, whose words have no vector.
void predict_words(const VectorPredictor& predictor, const Sequences& sequences,
                   std::span<const std::string_view> texts, VectorScratch& scratch,
                   const UseTokenVector& use);

/// The vectors of spans of texts: their tokens, pooled, from one pass over the whole text, so that
/// each of them has seen what is around the span (late chunking, Guenther et al. 2024). Special
/// tokens around the text and tokens of a prompt belong to no span. A span without a token has NaN.
///
/// One per thread.
class BERT_API SpanPredictor {
 public:
  SpanPredictor(const VectorPredictor& predictor, VectorScratch& scratch, std::string_view prompt)
      : predictor_(predictor), scratch_(scratch), prompt_(prompt) {}

  /// `spans_of(text)`: bytes of the text; it is asked once for each text.
  void predict(const Sequences& sequences, std::span<const std::string_view> texts,
               const std::function<std::vector<Offset>(size_t text)>& spans_of,
               const UseSpanVector& use);

 private:
  void start_text(const Sequences& sequences, size_t first, std::string_view text,
                  std::vector<Offset> spans);
  size_t add_tokens(const Sequences& sequences, size_t sequence, ConstMatrix tokens);
  void give_spans(size_t text, size_t ready, const UseSpanVector& use);
  void pool_span(Offset span, std::span<float> out) const;

  const VectorPredictor& predictor_;
  VectorScratch& scratch_;
  const std::string prompt_;
  // The text whose tokens come in.
  TextWindows text_;
  std::string read_;             ///< prompt and text
  std::vector<Offset> spans_;    ///< bytes of read_
  size_t next_ = 0;              ///< the first span that was not given yet
  std::vector<uint32_t> needs_;  ///< the first byte that it and those behind it need
  std::vector<Offset> bytes_;    ///< bytes of the tokens that are kept
  std::vector<float> tokens_;    ///< [tokens, features]
  std::vector<float> pooled_;    ///< [pooled_width()]
};

}  // namespace bert
