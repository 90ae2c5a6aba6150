#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/embed.h"
#include "tasks/late_texts.h"
#include "tasks/rank.h"

namespace bert {

/// What is fixed before the first record.
struct BERT_API MaxSimPlan {
  LateSide query, document;
  std::vector<SentenceModules::Dense> modules;
  DenseModules dense;  ///< they, over each token's state
  bool normalize = true;
  bool mean = false;  ///< a score is divided by the number of the query's tokens

  /// Of a directory of late interaction its own way to read texts. Of other models, the last
  /// layer's states of the texts as they are, scaled to length 1. Throws Error naming the file.
  static MaxSimPlan make(const Model& model, const SentenceModules& modules,
                         const Tokenizer& tokenizer);
};

/// The late interaction of ColBERT (Khattab and Zaharia 2020): the sum, over the tokens of the
/// query, of the largest dot product with a token of the text.
///
///   query [N, D], text [M, D]    score = sum over i of max over j of q_i . d_j
///
/// The tokens of all windows of a long text are together those of the text.
class BERT_API MaxSimWorker : public RankWorker {
 public:
  /// Borrows all but the options; plan.document.tokenizer is what the options' length is of.
  MaxSimWorker(const Model& model, const MaxSimPlan& plan, const RankOptions& rank,
               const TaskOptions& options);

 protected:
  void score(std::span<const Record> records) override;

 private:
  struct Query {
    std::string text;
    Encoding encoding{};           ///< of the text, not filled up
    size_t tokens = 0;             ///< N, with those that fill it up
    std::vector<float> vectors{};  ///< [N, D]
  };
  void make_queries(std::span<const Record> records);
  Query make_query(std::string_view text);
  void note_query(const Record& record, const Encoding& encoding);
  void encode_documents(std::span<const Record> records);
  Matrix vectors_of(Matrix states);
  void match(const Query& query, const Encoding& encoding, ConstMatrix tokens);
  double sum_of(const Query& query) const;

  const MaxSimPlan& plan_;
  EncodeOptions query_options_;
  std::vector<Query> queries_;         ///< of the chunk; the last stays for the next chunk
  std::vector<size_t> query_of_;       ///< [records]
  std::vector<std::string> prompted_;  ///< documents with the prompt before them
  std::vector<float> best_;            ///< [N] of the record whose windows come in
  Buffer dense_first_, dense_second_;
};

}  // namespace bert
