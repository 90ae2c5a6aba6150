#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/rank_loss.h"
#include "tokenizer/text_counts.h"
#include "tokenizer/tokenizer.h"
#include "trainers/examples.h"

namespace bert {

/// Pairs of a query and a text with a label, the texts of a query together.
struct RankExamples {
  struct Pair {
    std::vector<int32_t> input_ids, token_type_ids;
    float label = 0;
    uint64_t number = 0;  ///< its record's
    std::string text;     ///< if texts are kept
  };
  /// A query's texts: pairs [first, end).
  struct Query {
    std::string text;
    size_t first = 0, end = 0;
  };
  std::vector<Pair> pairs;
  std::vector<Query> queries;
  bool texts_are_drawn = false;  ///< queries draw texts of others
  bool lists = false;            ///< an example is a query with its texts, else a pair
  size_t cut = 0;                ///< pairs that were too long
  TextCounts counts;

  size_t size() const { return lists ? queries.size() : pairs.size(); }
  /// The pairs [first, second) of an example.
  std::pair<size_t, size_t> range(uint32_t example) const;
  uint64_t hash() const;
  /// The examples of these numbers as a batch of RankNetwork.
  void fill(std::span<const uint32_t> examples, training::TrainingBatch& batch) const;
};

/// Reads records of a query, a text and its label, a number. For `margin` and `ranking`, the first
/// text of each query is the one with the highest label. Throws Error(data) that names the record.
RankExamples read_rank_examples(const ExampleOptions& options, const Tokenizer& tokenizer,
                                nn::RankLoss loss, bool keep_texts = false);

/// Draws `count` texts of the other queries of a batch for each query, and reads them with it.
class DrawnTexts {
 public:
  /// Borrows the examples.
  DrawnTexts(const RankExamples& set, Tokenizer tokenizer, const EncodeOptions& encode,
             size_t count, uint64_t seed)
      : set_(set), tokenizer_(std::move(tokenizer)), encode_(encode), count_(count), seed_(seed) {}

  /// As RankExamples::fill(), with the drawn texts behind those of each query. The examples of a
  /// batch decide the draw.
  void fill(std::span<const uint32_t> examples, training::TrainingBatch& batch);

 private:
  bool has_text(const RankExamples::Query& query, const std::string& text) const;

  const RankExamples& set_;
  const Tokenizer tokenizer_;
  const EncodeOptions encode_;
  const size_t count_;
  const uint64_t seed_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
};

/// Takes a share of the queries out of `train`. Throws Error (`dev`) if that is none.
RankExamples hold_out(RankExamples& train, double share, uint64_t seed);

/// How relevant the text of a pair is for the measures of a ranking: the whole part of its label;
/// for `margin`, whose labels are a teacher's scores, 1 for a query's first text.
int64_t relevance_of(const RankExamples& set, const RankExamples::Query& query, size_t pair,
                     nn::RankLoss loss);

}  // namespace bert
