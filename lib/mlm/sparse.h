#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "directory/sentence_modules.h"
#include "mlm/mlm.h"

namespace bert {

struct SparsePlan {
  SpladePooling pooling;
  std::string prompt;  ///< put before every text
  size_t top_k = 0;    ///< the largest weights only; 0: all
  bool ids = false;    ///< an item names the id of its token
};

/// One sparse vector of the vocabulary per record (SPLADE; Formal et al. 2021), from the logits of
/// a masked LM head at all tokens, special ones included. A text in several windows has of each
/// vocabulary entry the largest weight of the windows.
class BERT_API SparseWorker : public TaskWorker {
 public:
  SparseWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
               SparsePlan plan, const TaskOptions& options)
      : TaskWorker(tokenizer, &model, options),
        plan_(std::move(plan)),
        queries_(model, head, options.max_batch_tokens) {}
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { queries_.use_team(team); }

 private:
  struct Item {
    int32_t id = 0;
    float weight = 0;
  };
  void encode_all(std::span<const Record> records);
  void ask_all();
  float weight(float logit) const;
  void add_token(std::span<const float> logits);
  void end_window();
  void collect_items();
  std::string name(int32_t id) const;
  void write(const Record& record, Rows& rows);

  const SparsePlan plan_;
  MaskQueries queries_;
  std::string prompted_;
  std::vector<float> window_;  ///< [V] of the window that comes in: largest logits, or sums
  std::vector<float> text_;    ///< [V] the largest weights of the record's windows before it
  std::vector<Item> items_;
  std::vector<WantedRow> wanted_;
};

}  // namespace bert
