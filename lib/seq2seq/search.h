#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/export.h"
#include "encoder/packed_batch.h"
#include "model/generation_config.h"
#include "seq2seq/decoder.h"
#include "seq2seq/token_rules.h"

namespace bert {

/// A target that a search has found: its tokens without the start token, with the end token where
/// it has one.
struct Target {
  std::vector<int32_t> ids;
  /// Of a beam search: the sum of the log-probabilities by the length to the power of
  /// length_penalty. 0 of a greedy one.
  float score = 0;
  bool finite = true;  ///< else some logits were no numbers
};

struct SearchOptions {
  size_t best = 1;        ///< targets of each source, at most num_beams
  bool cache = true;      ///< else each step computes all of its prefixes again
  size_t max_rows = 256;  ///< hypotheses that live at a time; never changes a target
};

class SearchedSource;

/// Finds the targets of sources: the likeliest token at each step (num_beams 1), or beam search, as
/// transformers 5 does both (generate). Sources are searched together, the longest first; one that
/// is done makes room for the next. A target does not depend on the other sources.
///
/// Thread rule: used by one thread, which may have a team.
class BERT_API Search {
 public:
  /// Borrows the model.
  Search(const Seq2Seq& model, GenerationConfig config, const SearchOptions& options);
  ~Search();

  void use_team(Team* team);
  /// found[s]: the targets of source s, best first; none if logits were no numbers. Throws
  /// Error(data) as Decoding::add does.
  void run(const PackedBatch& sources, std::vector<std::vector<Target>>& found);

 private:
  void refill(const PackedBatch& sources, const std::vector<size_t>& order, size_t& next);
  void step();
  void choose_dense(ConstMatrix hidden);
  void choose(ConstMatrix hidden);
  void advance(std::vector<std::vector<Target>>& found);

  const Seq2Seq& model_;
  const GenerationConfig config_;
  const TokenRules rules_;
  const SearchOptions options_;
  std::unique_ptr<Decoding> decoding_;
  std::vector<std::unique_ptr<SearchedSource>> live_;  ///< their rows are side by side
  std::vector<int32_t> tokens_;                        ///< [rows] read next
  std::vector<std::vector<int32_t>> banned_;           ///< [rows]
  Candidates candidates_;
  /// [rows] the tokens that may come next and their values: logits of a greedy search, else
  /// log-probabilities. Best first.
  std::vector<std::vector<Candidates::One>> values_;
  Buffer hidden_, logits_;
  OutputScratch output_;
  LinearScratch linear_;
};

}  // namespace bert
