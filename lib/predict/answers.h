#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "heads/question_answering.h"
#include "predict/batcher.h"
#include "predict/sequences.h"

namespace bert {

/// Bytes [begin, end) of the context, whole words with their combining marks.
struct Answer {
  size_t begin = 0;
  size_t end = 0;
  double logit = 0;  ///< start + end
  double score = 0;  ///< P(start) P(end)
};

struct Answers {
  std::vector<Answer> best;  ///< best first; none if the context has no token
  bool finite = true;        ///< false: a logit is not a number, and there are no answers
  double null_score = 0;     ///< P(start) P(end) of [CLS]: no answer
  double null_margin =
      0;  ///< logit of no answer minus that of the best (score_diff in run_squad.py)
};

/// Whether there is no answer: the context has none, or that no answer is right is said by more
/// than `null_margin`, where there is one.
bool is_null(const Answers& answers, std::optional<double> null_margin);
/// The best answer's text; empty if there is none.
BERT_API std::string_view best_answer(const Answers& answers, std::string_view context,
                                      std::optional<double> null_margin);

/// Finds the best answers of one record from the logits of its windows (Devlin et al. 2019, 4.2
/// and 4.3).
///
/// Spans begin and end in the context, end not before they begin, and have at most
/// `max_answer_length` tokens. A span begins in the window in which its first token has the most
/// context (run_squad.py's max context), so each is considered once. Probabilities are softmaxes
/// over [CLS] and the tokens of the context, each once:
///
///   P(start = t) = exp(start_t) / (exp(start_cls) + sum over u exp(start_u))      P(end) alike
///
/// with start_u from the window that owns u, end_u the largest of its windows, and [CLS] from the
/// window where start_cls + end_cls is least. In one window these are the scores of transformers'
/// question-answering pipeline (version 4); over several the order is that of run_squad.py, by the
/// sum of logits.
///
/// Spans that are the same whole words count once, with the best of their scores.
///
/// Thread rule: one per thread.
class BERT_API AnswerFinder {
 public:
  AnswerFinder(size_t n_best_size, size_t max_answer_length)
      : n_best_size_(n_best_size), max_answer_length_(max_answer_length) {}

  ///   windows        the record's encodings, [CLS] question [SEP] context [SEP]; window w begins
  ///   at token
  ///                  w * step of the context
  ///   start, end     their logits, end to end
  Answers find(std::span<const Encoding> windows, size_t step, std::span<const float> start,
               std::span<const float> end, std::string_view context);

 private:
  struct Window {
    const Encoding* encoding;
    size_t begin;                       ///< index in its encoding of its first token of the context
    size_t count;                       ///< tokens of the context
    size_t first;                       ///< index in the context of its first token
    std::span<const float> start, end;  ///< [count]
  };
  void split(std::span<const Encoding> windows, size_t step, std::span<const float> start,
             std::span<const float> end);
  void normalize();
  void collect(std::string_view context, size_t n_best, std::vector<Answer>& answers);

  size_t n_best_size_;
  size_t max_answer_length_;
  std::vector<Window> windows_;
  float null_start_ = 0, null_end_ = 0;
  double start_norm_ = 0, end_norm_ = 0;  ///< logarithms of the two sums
  bool more_ = false;                     ///< collect() left spans out
  std::vector<float> owned_, ends_;
  std::vector<uint8_t> allowed_;
};

/// The question, or as much of its begin as fills half of a window; its tokens in `tokens`, of
/// which some are then dropped.
BERT_API std::string_view fit_question(const Tokenizer& tokenizer, const EncodeOptions& window,
                                       std::string_view question, Encoding& tokens,
                                       Tokenizer::Scratch& scratch);

/// What was found in a question and its context.
struct QuestionReading : Reading {
  bool question_cut = false;
  size_t question_replaced = 0;  ///< replaced_bytes of the question
};

/// Questions that were read.
struct Questions {
  Sequences windows = {};
  std::vector<size_t> steps = {};               ///< [questions] tokens from window to window
  std::vector<std::string_view> contexts = {};  ///< [questions]

  void clear();
};

/// Answers questions from their contexts (Rajpurkar et al. 2016).
///
/// Thread rule: const; each thread has an AnswerFinder and a Batcher.
class BERT_API AnswerPredictor {
 public:
  /// Opens the head of the model. Borrows both. Throws Error as QuestionAnswering::open.
  AnswerPredictor(const Tokenizer& tokenizer, const Model& model)
      : tokenizer_(tokenizer), model_(model), head_(QuestionAnswering::open(model)) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Throws Error(usage) if a window has no room for a context.
  void check_room(const EncodeOptions& window) const;
  /// Reads one more question; with Overflow::window in as many windows as its context takes. Throws
  /// Error(usage) if a question leaves them no room.
  QuestionReading read(std::string_view question, std::string_view context, TextReader& reader,
                       Questions& to) const;
  /// Calls use(question, answers) for each of the questions, in order.
  template <typename Use>
  void predict(const Questions& questions, AnswerFinder& finder, Batcher& batcher, Use use) const {
    std::vector<float> start, end;
    logits(questions.windows, batcher, start, end);
    size_t token = 0;
    for (size_t window = 0, last = 0; window < questions.windows.size(); window = last) {
      last = questions.windows.end_of_text(window);
      size_t tokens = 0;
      for (size_t w = window; w < last; ++w) tokens += questions.windows[w].size();
      const size_t question = questions.windows.texts()[window];
      use(question, finder.find(questions.windows.encodings().subspan(window, last - window),
                                questions.steps[question],
                                std::span<const float>(start).subspan(token, tokens),
                                std::span<const float>(end).subspan(token, tokens),
                                questions.contexts[question]));
      token += tokens;
    }
  }

 private:
  /// start, end [tokens of all windows]
  void logits(const Sequences& windows, Batcher& batcher, std::vector<float>& start,
              std::vector<float>& end) const;

  const Tokenizer& tokenizer_;
  const Model& model_;
  const QuestionAnswering head_;
};

}  // namespace bert
