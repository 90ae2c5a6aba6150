#include "predict/token_vectors.h"

#include <algorithm>
#include <limits>

#include "tokenizer/words.h"

namespace bert {

void TextWindows::start(const Sequences& sequences, size_t first, size_t prompt_bytes) {
  begin = first;
  end = sequences.end_of_text(first);
  windows.clear();
  prompt = 0;
  for (size_t i = begin; i < end; ++i) {
    const Encoding& encoding = sequences[i];
    const Encoding::Range text = encoding.range(0);
    windows.push_back({encoding.before, text.size()});
    for (size_t t = text.begin; t < text.end; ++t) {
      if (encoding.offsets[t].end > prompt_bytes) break;
      prompt = encoding.before + t - text.begin + 1;
    }
  }
}

namespace {

/// Gives the vectors of the tokens of one window.
void give_tokens(const VectorPredictor& predictor, const Sequences& sequences, size_t sequence,
                 const TextWindows& text, ConstMatrix vectors, const UseTokenVector& use) {
  const Encoding& encoding = sequences[sequence];
  const Tokenizer& tokenizer = predictor.tokenizer();
  const size_t window = sequence - text.begin, front = tokenizer.frame().before.size();
  for (size_t t = 0; t < vectors.rows; ++t) {
    if (predictor.is_left_out(encoding.input_ids[t])) continue;
    const size_t index = encoding.index(t);
    if (encoding.is_added(t)) {  // once: [CLS] of the first window, [SEP] of the last
      if (t < front ? window > 0 : sequence + 1 < text.end) continue;
    } else if (index < front + text.prompt || !owns_token(text.windows, window, index - front)) {
      continue;
    }
    use({sequences.texts()[sequence],
         t < front ? index : index - text.prompt,
         tokenizer.token(encoding.input_ids[t]),
         {vectors.row(t), vectors.cols}});
  }
}

/// The words of texts whose pieces come in, in order.
class Words {
 public:
  Words(const VectorPredictor& predictor, std::span<const std::string_view> texts,
        VectorScratch& scratch, const UseTokenVector& use)
      : predictor_(predictor), texts_(texts), scratch_(scratch), use_(use) {}

  /// The pieces of a window that no window before had.
  void add(size_t text, const Encoding& encoding, ConstMatrix states) {
    if (text != text_) end();
    text_ = text;
    const auto words = number_words(texts_[text], scratch_.prompt_bytes(), encoding, words_);
    for (size_t t = 0; t < states.rows; ++t) {
      const int32_t word = words[t];
      const bool seen = encoding.index(t) < next_;
      if (word < 0 || seen || predictor_.is_left_out(encoding.input_ids[t])) continue;
      next_ = encoding.index(t) + 1;
      if (word != word_) {
        give();
        word_ = word;
        bytes_ = encoding.offsets[t];
      }
      bytes_.end = encoding.offsets[t].end;
      pieces_.insert(pieces_.end(), states.row(t), states.row(t) + states.cols);
    }
  }
  /// The text has no more pieces.
  void end() {
    give();
    word_ = first_ = -1;
    next_ = 0;
  }

 private:
  /// Gives the word whose pieces are all there, if there is one.
  void give() {
    const size_t width = predictor_.plan().features;
    // Offsets are those of the prompt and the text; words of the prompt have no vector.
    const size_t prompt = scratch_.prompt_bytes();
    if (!pieces_.empty() && bytes_.end > prompt) {
      mean_.resize(width);
      pool(Pooling::mean, {pieces_.data(), pieces_.size() / width, width}, mean_);
      const Matrix vector = predictor_.finish({mean_.data(), 1, width}, scratch_);
      const size_t from = std::max<size_t>(bytes_.begin, prompt) - prompt;
      const size_t end = bytes_.end - prompt;
      const Offset bytes =
          without_blank(texts_[text_], {static_cast<uint32_t>(from), static_cast<uint32_t>(end)});
      // The prompt's last word may be the text's first too: only what is given tells word 0.
      if (first_ < 0) first_ = prompt > 0 ? word_ : 0;
      use_({text_,
            static_cast<size_t>(word_ - first_),
            texts_[text_].substr(bytes.begin, end - bytes.begin),
            {vector.data, vector.cols}});
    }
    pieces_.clear();
  }

  const VectorPredictor& predictor_;
  const std::span<const std::string_view> texts_;
  VectorScratch& scratch_;
  const UseTokenVector& use_;
  size_t text_ = 0;
  int32_t word_ = -1;
  int32_t first_ = -1;  ///< id of the text's first word; -1: none was given yet
  size_t next_ = 0;     ///< index of the first token that is not in yet
  Offset bytes_;
  std::vector<float> pieces_;   ///< [pieces, features]
  std::vector<int32_t> words_;  ///< scratch of number_words
  std::vector<float> mean_;     ///< [features]
};

}  // namespace

void predict_tokens(const VectorPredictor& predictor, const Sequences& sequences,
                    VectorScratch& scratch, const UseTokenVector& use) {
  TextWindows text;
  predictor.for_each_batch(
      sequences, scratch, [&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
        const Matrix vectors = predictor.finish(states, scratch);  // [T, width]
        for (size_t s = 0; s < batch.sequences(); ++s) {
          if (first + s == text.end) text.start(sequences, first + s, scratch.prompt_bytes());
          give_tokens(predictor, sequences, first + s, text,
                      vectors.slice(batch.begin(s), batch.length(s)), use);
        }
      });
}

void predict_words(const VectorPredictor& predictor, const Sequences& sequences,
                   std::span<const std::string_view> texts, VectorScratch& scratch,
                   const UseTokenVector& use) {
  Words words(predictor, texts, scratch, use);
  predictor.for_each_batch(sequences, scratch,
                           [&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
                             for (size_t s = 0; s < batch.sequences(); ++s) {
                               words.add(sequences.texts()[first + s], sequences[first + s],
                                         states.slice(batch.begin(s), batch.length(s)));
                             }
                           });
  words.end();
}

void SpanPredictor::predict(const Sequences& sequences, std::span<const std::string_view> texts,
                            const std::function<std::vector<Offset>(size_t text)>& spans_of,
                            const UseSpanVector& use) {
  text_.end = 0;
  predictor_.for_each_batch(
      sequences, scratch_, [&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
        for (size_t s = 0; s < batch.sequences(); ++s) {
          const size_t sequence = first + s, text = sequences.texts()[sequence];
          if (sequence == text_.end) start_text(sequences, sequence, texts[text], spans_of(text));
          const size_t read =
              add_tokens(sequences, sequence, states.slice(batch.begin(s), batch.length(s)));
          const bool last = sequence + 1 == text_.end;
          give_spans(text, last ? std::numeric_limits<size_t>::max() : read, use);
        }
      });
}

void SpanPredictor::start_text(const Sequences& sequences, size_t first, std::string_view text,
                               std::vector<Offset> spans) {
  text_.start(sequences, first, prompt_.size());
  read_.assign(prompt_).append(text);
  spans_ = std::move(spans);
  next_ = 0;
  bytes_.clear();
  tokens_.clear();
  const auto prompt = static_cast<uint32_t>(prompt_.size());
  needs_.assign(spans_.size() + 1, std::numeric_limits<uint32_t>::max());
  for (size_t i = spans_.size(); i-- > 0;) {
    spans_[i] = {spans_[i].begin + prompt, spans_[i].end + prompt};
    needs_[i] = std::min(needs_[i + 1], spans_[i].begin);
  }
}

/// Keeps the tokens [T, features] of a window that the text's spans need; each token counts in the
/// window where it has the most context. Returns where the last of them begins.
size_t SpanPredictor::add_tokens(const Sequences& sequences, size_t sequence, ConstMatrix tokens) {
  const Encoding& encoding = sequences[sequence];
  const Encoding::Range text = encoding.range(0);
  size_t last = 0;
  for (size_t t = text.begin; t < text.end; ++t) {
    const size_t token = encoding.before + t - text.begin;
    if (predictor_.is_left_out(encoding.input_ids[t])) continue;
    if (!owns_token(text_.windows, sequence - text_.begin, token)) continue;
    const Offset bytes = without_blank(read_, encoding.offsets[t]);
    last = bytes.begin;
    if (bytes.end <= needs_[next_]) continue;
    bytes_.push_back(bytes);
    tokens_.insert(tokens_.end(), tokens.row(t), tokens.row(t) + tokens.cols);
  }
  return last;
}

/// Gives the spans that end before byte `ready`: all their tokens are there. Drops tokens that no
/// other span needs.
void SpanPredictor::give_spans(size_t text, size_t ready, const UseSpanVector& use) {
  const auto prompt = static_cast<uint32_t>(prompt_.size());
  for (; next_ < spans_.size() && spans_[next_].end <= ready; ++next_) {
    const Offset span = spans_[next_];
    pooled_.resize(predictor_.plan().pooled_width());
    pool_span(span, pooled_);
    const Matrix vector = predictor_.finish({pooled_.data(), 1, pooled_.size()}, scratch_);
    use({text, {span.begin - prompt, span.end - prompt}, {vector.data, vector.cols}});
  }
  const uint32_t from = needs_[next_];
  const auto needed =
      std::find_if(bytes_.begin(), bytes_.end(), [from](Offset token) { return token.end > from; });
  const auto dropped = needed - bytes_.begin();
  bytes_.erase(bytes_.begin(), needed);
  tokens_.erase(tokens_.begin(),
                tokens_.begin() + dropped * static_cast<ptrdiff_t>(predictor_.plan().features));
}

/// The tokens that share a byte with a span, pooled; NaN if there are none.
void SpanPredictor::pool_span(Offset span, std::span<float> out) const {
  size_t begin = 0;
  while (begin < bytes_.size() && bytes_[begin].end <= span.begin) ++begin;
  size_t end = begin;
  while (end < bytes_.size() && bytes_[end].begin < span.end) ++end;
  const size_t width = predictor_.plan().features;
  const ConstMatrix tokens(tokens_.data() + begin * width, end - begin, width);
  const std::vector<Pooling>& poolings = predictor_.plan().poolings;
  for (size_t i = 0; i < poolings.size(); ++i) {
    const std::span<float> part = out.subspan(i * width, width);
    if (begin == end) {
      std::fill(part.begin(), part.end(), std::numeric_limits<float>::quiet_NaN());
    } else {
      pool(poolings[i], tokens, part);
    }
  }
}

}  // namespace bert
