#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/guard.h"
#include "base/team.h"
#include "directory/model_directory.h"
#include "model/static_config.h"
#include "predict/answers.h"
#include "predict/batcher.h"
#include "predict/labels.h"
#include "predict/masks.h"
#include "predict/next_sentence.h"
#include "predict/sequences.h"
#include "predict/static_text.h"
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
  bert::ModelDirectory directory;
  bert_tokenizer tokenizer;
  std::optional<bert::Model> encoder{};     ///< layers, or ...
  std::optional<bert::StaticText> fixed{};  ///< ... static vectors
  size_t max_length = 0;  ///< tokens of a sequence, special ones included; 0: no limit

  /// Throws Error(unsupported) if these are static vectors, which have no layers.
  const bert::Model& model() const {
    if (!encoder) bert::throw_static_vectors(directory);
    return *encoder;
  }

  // What is predicted for the task, by the one of these that is there.
  std::optional<bert::MaskedLM> masked_lm{};
  std::optional<bert::LabelPredictor> labels{};
  std::optional<bert::NextSentencePredictor> next_sentence{};
  std::optional<bert::TokenLabelPredictor> token_labels{};
  std::optional<bert::AnswerPredictor> answers{};
  std::optional<bert::VectorPredictor> vectors{};  ///< the bare encoder's vectors ...
  std::optional<bert::Error> no_vectors{};         ///< ... or why it gives none
  std::string prompt{};                            ///< before each text
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
/// How texts become tokens, as the tool for the model's task does it.
ReadOptions reading_of(const bert_model& model);
const TaskSpec& spec_of(const bert_model& model);
/// Throws Error(usage) if the model was opened for another task.
void need_task(const bert_model& model, std::string_view task);

}  // namespace bert::api
