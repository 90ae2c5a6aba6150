#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "heads/masked_lm.h"
#include "predict/batcher.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// A row whose logits are wanted, and the name under which they come back.
struct WantedRow {
  size_t position = 0;  ///< in the sequence
  size_t tag = 0;
};

/// Packs sequences into batches of at most `max_batch_tokens`, runs the model, and hands the
/// vocabulary logits of the wanted rows, and of no others, to `use`, in the order they were asked
/// for. Memory is that of one batch and of a few rows of logits, however many sequences come.
///
/// Thread rule: one thread; borrows model and head.
class BERT_API MaskQueries {
 public:
  using Use = std::function<void(size_t tag, std::span<const float> logits)>;  ///< [V]

  MaskQueries(const Model& model, const MaskedLM& head, size_t max_batch_tokens)
      : model_(model), head_(head), batcher_(max_batch_tokens) {}
  void use_team(Team* team) { batcher_.use_team(team); }
  /// All logits are divided by it.
  void set_temperature(double temperature) { temperature_ = temperature; }

  void start(Use use);
  /// `input_ids` is copied; token types are 0. The wanted rows, one at least, ascend.
  void ask(std::span<const int32_t> input_ids, std::span<const WantedRow> wanted);
  /// Runs what is left.
  void finish();

 private:
  void run(const PackedBatch& batch);
  void project();

  const Model& model_;
  const MaskedLM& head_;
  double temperature_ = 1;
  Use use_;
  Batcher batcher_;
  std::vector<int32_t> types_;
  std::vector<size_t> rows_;  ///< [M] in the batch, ascending
  Buffer waiting_;            ///< [kLogitRows, H] hidden states that wait for the decoder
  size_t waiting_rows_ = 0;
  std::vector<size_t> indices_;
  std::vector<size_t> tags_;  ///< tags of the rows that wait, then of those in the batch
};

/// A vocabulary entry and its log probability.
struct ScoredId {
  int32_t id = 0;
  double logprob = 0;
};

/// [V]: whether a vocabulary entry may fill a mask: a token that is not special.
using Fillable = std::vector<bool>;
Fillable fillable_tokens(const Tokenizer& tokenizer);

/// The `k` largest of `values` [V], best first; equal ones in id order, NaN last. Only fillable
/// ones. `out` holds values, not probabilities.
BERT_API void top_ids(std::span<const float> values, size_t k, const Fillable& fillable,
                      std::vector<ScoredId>& out);
/// How many of the fillable values are larger than that of `id`, plus 1.
BERT_API size_t rank_of(std::span<const float> values, int32_t id, const Fillable& fillable);
/// -sum p ln p in nats, p = softmax(logits), from logits and their log_sum_exp.
BERT_API double entropy_of(std::span<const float> logits, double log_sum_exp);

/// Whether the vocabulary lacks a part of `text`, of which `pieces` are the tokens. A text that
/// spells the unknown token means that token.
bool lacks_pieces(const Tokenizer& tokenizer, std::string_view text,
                  std::span<const int32_t> pieces);

/// Calls use(sequence, position, best) for each mask of the sequences, in order: the `k` best
/// fillable entries with their log probabilities.
using UseFilling =
    std::function<void(size_t sequence, size_t position, std::span<const ScoredId> best)>;
BERT_API void fill_masks(MaskQueries& queries, int32_t mask_id, const Fillable& fillable,
                         std::span<const Encoding> sequences, size_t k, const UseFilling& use);

}  // namespace bert
