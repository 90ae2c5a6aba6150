#include "predict/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/kernels.h"
#include "text/unicode.h"
#include "tokenizer/windows.h"

namespace bert {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Bytes of the whole words of tokens [first, last] of an encoding, as far as it holds them.
Answer cut_words(const Encoding& encoding, size_t first, size_t last, size_t begin, size_t end) {
  const auto& words = encoding.word_ids;
  while (first > begin && words[first - 1] == words[first]) --first;
  while (last + 1 < end && words[last + 1] == words[last]) ++last;
  return {encoding.offsets[first].begin, encoding.offsets[last].end, 0, 0};
}

}  // namespace

bool is_null(const Answers& answers, std::optional<double> null_margin) {
  return answers.best.empty() || (null_margin && answers.null_margin > *null_margin);
}

std::string_view best_answer(const Answers& answers, std::string_view context,
                             std::optional<double> null_margin) {
  if (is_null(answers, null_margin)) return {};
  const Answer& best = answers.best[0];
  return context.substr(best.begin, best.end - best.begin);
}

/// Fills windows_, and the null logits from the window that believes least in "no answer".
void AnswerFinder::split(std::span<const Encoding> windows, size_t step,
                         std::span<const float> start, std::span<const float> end) {
  windows_.clear();
  for (size_t w = 0, token = 0; w < windows.size(); token += windows[w].size(), ++w) {
    const Encoding& e = windows[w];
    const Encoding::Range context = e.range(1);
    const size_t first = token + context.begin, count = context.size();
    windows_.push_back({&e, context.begin, count, w * step, start.subspan(first, count),
                        end.subspan(first, count)});
    if (w == 0 || start[token] + end[token] < null_start_ + null_end_) {
      null_start_ = start[token];
      null_end_ = end[token];
    }
  }
}

void AnswerFinder::normalize() {
  const Window& last = windows_.back();
  const size_t tokens = last.first + last.count;
  owned_.assign(tokens + 1, kNever);  // [tokens, CLS]
  ends_.assign(tokens + 1, kNever);
  for (size_t w = 0; w < windows_.size(); ++w) {
    const Window& window = windows_[w];
    for (size_t t = 0; t < window.count; ++t) {
      const size_t token = window.first + t;
      if (owns_token(windows_, w, token)) owned_[token] = window.start[t];
      ends_[token] = std::max(ends_[token], window.end[t]);
    }
  }
  owned_[tokens] = null_start_;
  ends_[tokens] = null_end_;
  start_norm_ = log_sum_exp(owned_);
  end_norm_ = log_sum_exp(ends_);
}

/// The answers of the n_best best spans of each window.
void AnswerFinder::collect(std::string_view context, size_t n_best, std::vector<Answer>& answers) {
  answers.clear();
  more_ = false;
  for (size_t w = 0; w < windows_.size(); ++w) {
    const Window& window = windows_[w];
    owned_.assign(window.start.begin(), window.start.end());
    for (size_t t = 0; t < window.count; ++t) {
      if (!owns_token(windows_, w, window.first + t)) owned_[t] = kNever;
    }
    allowed_.assign(window.count, 1);
    const auto spans = best_spans(owned_, window.end, allowed_, n_best, max_answer_length_);
    more_ |= spans.size() == n_best;
    for (const Span& span : spans) {
      if (span.score == kNever) continue;
      Answer answer = cut_words(*window.encoding, window.begin + span.start,
                                window.begin + span.end, window.begin, window.begin + window.count);
      include_marks(context, answer.begin, answer.end);
      answer.logit =
          static_cast<double>(owned_[span.start]) + static_cast<double>(window.end[span.end]);
      answer.score = std::exp(answer.logit - start_norm_ - end_norm_);
      answers.push_back(answer);
    }
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.logit > b.logit; });
  size_t kept = 0;
  for (size_t i = 0; i < answers.size() && kept < n_best_size_; ++i) {
    const auto end_kept = answers.begin() + static_cast<ptrdiff_t>(kept);
    const bool known = std::any_of(answers.begin(), end_kept, [&](const Answer& other) {
      return other.begin == answers[i].begin && other.end == answers[i].end;
    });
    if (!known) answers[kept++] = answers[i];
  }
  answers.resize(kept);
}

Answers AnswerFinder::find(std::span<const Encoding> windows, size_t step,
                           std::span<const float> start, std::span<const float> end,
                           std::string_view context) {
  Answers result;
  const auto is_finite = [](float v) { return std::isfinite(v); };
  result.finite = std::all_of(start.begin(), start.end(), is_finite) &&
                  std::all_of(end.begin(), end.end(), is_finite);
  if (!result.finite) return result;
  split(windows, step, start, end);
  normalize();
  const double null_logit = static_cast<double>(null_start_) + static_cast<double>(null_end_);
  result.null_score = std::exp(null_logit - start_norm_ - end_norm_);
  // Several spans may be the same words: look at more until enough differ.
  for (size_t n_best = 2 * n_best_size_ + 10;; n_best *= 4) {
    collect(context, n_best, result.best);
    if (result.best.size() >= n_best_size_ || !more_) break;
  }
  result.null_margin = result.best.empty() ? std::numeric_limits<double>::infinity()
                                           : null_logit - result.best[0].logit;
  return result;
}

std::string_view fit_question(const Tokenizer& tokenizer, const EncodeOptions& window,
                              std::string_view question, Encoding& tokens,
                              Tokenizer::Scratch& scratch) {
  EncodeOptions alone = window;
  alone.add_special_tokens = false;
  alone.truncation = Truncation::longest_first;
  alone.max_length = (window.max_length - tokenizer.added_tokens_pair()) / 2;
  tokenizer.encode(question, alone, tokens, scratch);
  return tokens.dropped > 0 ? question.substr(0, tokens.offsets.back().end) : question;
}

void Questions::clear() {
  windows.clear();
  steps.clear();
  contexts.clear();
}

void AnswerPredictor::check_room(const EncodeOptions& window) const {
  const size_t least = tokenizer_.added_tokens_pair() + 2;
  if (window.max_length >= least) return;
  throw Error::of_field("max_length",
                        fmt::format("found {}, wants at least {}", window.max_length, least));
}

QuestionReading AnswerPredictor::read(std::string_view question, std::string_view context,
                                      TextReader& reader, Questions& to) const {
  const ReadOptions& options = reader.options();
  Encoding tokens;
  question = fit_question(tokenizer_, options.encode, question, tokens, reader.scratch());
  const size_t room = options.encode.max_length - tokenizer_.added_tokens_pair() - tokens.size();
  const size_t stride = window_stride(room, options.stride), number = to.steps.size();
  const Text text{question, context};
  QuestionReading reading{options.overflow == Overflow::window
                              ? reader.read_windows(text, stride, number, to.windows)
                              : reader.read(text, number, to.windows),
                          tokens.dropped > 0, tokens.replaced_bytes};
  to.steps.push_back(room - stride);
  to.contexts.push_back(context);
  return reading;
}

void AnswerPredictor::logits(const Sequences& windows, Batcher& batcher, std::vector<float>& start,
                             std::vector<float>& end) const {
  batcher.run(model_, windows.encodings(), [&](size_t, const PackedBatch&, Matrix hidden) {
    const Matrix both = head_.logits(hidden, batcher.workspace());  // [T, 2]
    for (size_t t = 0; t < both.rows; ++t) {
      start.push_back(both.row(t)[0]);
      end.push_back(both.row(t)[1]);
    }
  });
}

}  // namespace bert
