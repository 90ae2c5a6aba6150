#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/guard.h"
#include "base/team.h"
#include "directory/static_files.h"
#include "encoder/model.h"
#include "heads/classification.h"
#include "heads/masked_lm.h"
#include "heads/question_answering.h"
#include "heads/token_classification.h"
#include "tasks/embed.h"
#include "tasks/static_text.h"
#include "tokenizer/tokenizer.h"

// What the opaque pointers of bert.h point at.

struct bert_tokenizer {
  bert::Tokenizer tokenizer;
};

struct bert_encoding {
  bert::Encoding encoding;
  bert::Tokenizer::Scratch scratch;
};

/// A model with the head that it was opened for. Heads borrow `encoder`, so it stays where it is.
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

  std::optional<bert::MaskedLM> masked_lm{};
  std::optional<bert::Classifier> classifier{};  ///< of texts, or next sentence prediction
  std::optional<bert::TokenClassifier> token_classifier{};
  std::optional<bert::QuestionAnswering> question_answering{};

  bert::EmbedPlan plan{};  ///< of the bare encoder: how sentences become vectors ...
  std::optional<bert::DenseModules> dense{};
  std::optional<bert::Error> no_vectors{};  ///< ... or why they cannot
};

/// Sequences, the memory of one thread, and the last result.
struct bert_batch {
  const bert_model& model;
  bert::EncodeOptions encode;
  bool strict = false;
  std::unique_ptr<bert::Team> team{};

  std::vector<std::unique_ptr<bert_encoding>> sequences{};  ///< the first `count` are in use
  size_t count = 0;                                         ///< S
  std::vector<size_t> begins{0};  ///< [S + 1] the row of a [T, ..] result where each begins

  bert::Tokenizer::Scratch scratch{};
  bert::PackedBatch packed{};
  bert::Workspace workspace{};
  bert::Buffer result{}, first{}, second{};
  std::vector<float> row{};
  std::vector<bert_filling> fillings{};
  std::vector<bert_answer> answers{};
  std::vector<double> probabilities{};

  size_t tokens() const { return begins.back(); }  ///< T
  const bert::Encoding& encoding(size_t s) const { return sequences[s]->encoding; }
};

namespace bert::api {

/// Tokens that are computed at once: as the tools do. It never changes a number.
constexpr size_t kMaxBatchTokens = 512;

bert_matrix view(Matrix matrix);
/// How texts become tokens, as the tools do it.
EncodeOptions encode_of(const bert_model& model);
/// Throws Error(usage) if the model was opened for another task.
void need_task(const bert_model& model, std::string_view task);

/// Runs the model over all sequences, a few at a time, and calls
///   use(first, packed, hidden)   first: index of the first sequence; hidden [T of packed, H]
template <typename Use>
void for_each_pack(bert_batch& batch, Use use, const ForwardOptions& options = {}) {
  for (size_t first = 0, last = 0; first < batch.count; first = last) {
    batch.packed.clear();
    do {
      const Encoding& next = batch.encoding(last++);
      batch.packed.append(next.input_ids, next.token_type_ids);
    } while (last < batch.count &&
             batch.packed.tokens() + batch.encoding(last).size() <= kMaxBatchTokens);
    use(first, batch.packed, batch.model.model().forward(batch.packed, batch.workspace, options));
  }
}

}  // namespace bert::api
