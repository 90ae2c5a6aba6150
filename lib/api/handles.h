#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/guard.h"
#include "base/team.h"
#include "predict/answers.h"
#include "predict/batcher.h"
#include "predict/embedder.h"
#include "predict/labels.h"
#include "predict/masks.h"
#include "predict/next_sentence.h"
#include "predict/opened_model.h"
#include "predict/sequences.h"
#include "predict/token_labels.h"
#include "predict/vectors.h"
#include "tokenizer/tokenizer.h"

// What the opaque pointers of bert.h point at.

struct bert_tokenizer {
  bert::Tokenizer tokenizer;
};

/// A model with the head that it was opened for. It stays where it is: what predicts borrows it.
struct bert_model {
  std::string task;  ///< "": the bare encoder
  bert::OpenedModel opened;
  bert_tokenizer tokenizer{opened.tokenizer()};
  bert::ReadOptions reading{};  ///< as the tool for the task reads texts

  const bert::Model& model() const { return opened.model(); }
  const bert::TaskSpec& spec() const { return opened.request().task; }
  /// Tokens of a sequence, special ones included; 0: no limit.
  size_t max_length() const { return reading.encode.max_length; }

  // What is predicted for the task, by the one of these that is there.
  std::optional<bert::MaskedLM> masked_lm{};
  std::optional<bert::LabelPredictor> labels{};
  std::optional<bert::NextSentencePredictor> next_sentence{};
  std::optional<bert::TokenLabelPredictor> token_labels{};
  std::optional<bert::AnswerPredictor> answers{};
  std::optional<bert::Embedder> embedder{};
  const bert::VectorPredictor* vectors = nullptr;  ///< the embedder's ...
  std::optional<bert::Error> no_vectors{};         ///< ... or why it has none
};

/// Sequences, the memory of one thread, and the last result.
struct bert_batch {
  const bert_model& model;
  bert::TextReader reader;
  bool strict = false;
  std::unique_ptr<bert::Team> team{};

  bert::Sequences sequences{};    ///< each of a text of its own
  std::vector<size_t> begins{0};  ///< [S + 1] the row of a [T, ..] result where each begins

  bert::Batcher batcher{};
  std::optional<bert::VectorScratch> vectors{};
  bert::LabelScores scores{};
  std::vector<bert::NextSentence> pairs{};
  std::optional<bert::TextReader> questions{};  ///< how they are read, in windows
  bert::Buffer result{};
  std::vector<bert_filling> fillings{};
  std::vector<bert_answer> answers{};
  std::vector<double> probabilities{};

  size_t tokens() const { return begins.back(); }    ///< T
  size_t count() const { return sequences.size(); }  ///< S
};

namespace bert::api {

/// A bert_encoding is never defined: its pointer is one to an Encoding, of a batch or ...
inline const Encoding* tokens_of(const bert_encoding* encoding) {
  return reinterpret_cast<const Encoding*>(encoding);
}
/// ... of bert_encoding_open.
struct OwnEncoding : Encoding {
  Tokenizer::Scratch scratch;

  bert_encoding* handle() { return reinterpret_cast<bert_encoding*>(static_cast<Encoding*>(this)); }
  static OwnEncoding* of(bert_encoding* handle) {
    return static_cast<OwnEncoding*>(reinterpret_cast<Encoding*>(handle));
  }
};

bert_matrix view(Matrix matrix);
/// Throws Error(usage) if the model was opened for another task.
void need_task(const bert_model& model, std::string_view task);

}  // namespace bert::api
