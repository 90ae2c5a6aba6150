#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/batcher.h"
#include "predict/dense_modules.h"
#include "predict/late_texts.h"
#include "predict/opened_model.h"
#include "predict/sequences.h"

namespace bert {

/// What is fixed before the first record.
struct BERT_API MaxSimPlan {
  LateSide query, document;
  std::vector<SentenceModules::Dense> modules;
  DenseModules dense;  ///< they, over each token's state
  bool normalize = true;
  bool mean = false;       ///< a score is divided by the number of the query's tokens
  ModuleLimit limit = {};  ///< tokens of a document

  /// Of a directory of late interaction its own way to read texts, of BGE-M3 the layer beside the
  /// model over all tokens but the first, and the mean. Of other models, the last
  /// layer's states of the texts as they are, scaled to length 1. Throws Error naming the file.
  static MaxSimPlan make(const Model& model, const SentenceModules& modules,
                         const Tokenizer& tokenizer);
  /// The same of an opened model, whose tokenizer must be one for its modules.
  static MaxSimPlan open(const OpenedModel& model);
};

/// The late interaction of ColBERT (Khattab and Zaharia 2020): the sum, over the tokens of the
/// query, of the largest dot product with a token of the text.
///
///   query [N, D], text [M, D]    score = sum over i of max over j of q_i . d_j
///
/// The tokens of all windows of a long text are together those of the text.
///
/// One per thread.
class BERT_API MaxSim {
 public:
  struct Query {
    std::string text;
    Encoding encoding{};           ///< tokens of the text, not filled up
    size_t tokens = 0;             ///< N, with those that fill it up
    std::vector<float> vectors{};  ///< [N, D]
  };

  /// Borrows model, plan and batcher. `encode`: how texts are read.
  MaxSim(const Model& model, const MaxSimPlan& plan, const EncodeOptions& encode, Batcher& batcher);

  Query query(std::string_view text);
  /// Sets scores [texts] of documents; query_of(text) is the query of each.
  void predict(const Sequences& documents, size_t texts,
               const std::function<const Query&(size_t text)>& query_of,
               std::vector<double>& scores);

 private:
  Matrix vectors_of(Matrix states);
  void match(const Query& query, const Encoding& encoding, ConstMatrix tokens);
  double sum_of(const Query& query) const;

  const Model& model_;
  const MaxSimPlan& plan_;
  EncodeOptions query_options_;
  Batcher& batcher_;
  Tokenizer::Scratch scratch_;
  std::vector<float> best_;  ///< [N] of the text whose windows come in
  Buffer dense_first_, dense_second_;
};

}  // namespace bert
