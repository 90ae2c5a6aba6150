#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "predict/sparse_vectors.h"
#include "predict/vectors.h"
#include "rows/task_worker.h"

namespace bert {

struct SparsePlan {
  std::string prompt;  ///< text before every text
  size_t top_k = 0;    ///< the largest weights only; 0: all
  bool ids = false;    ///< an item names the id of its token
};

/// A row: token:weight, with blanks between; in JSON an object.
struct SparseRow {
  std::vector<std::pair<std::string, float>> items = {};
  BERT_API void cells(Cells& c) const;
};

/// One sparse vector of the vocabulary per record.
class BERT_API SparseWorker : public TaskWorker {
 public:
  SparseWorker(const Tokenizer& tokenizer, std::unique_ptr<SparseVectors> vectors, SparsePlan plan,
               const TaskOptions& options)
      : TaskWorker(tokenizer, with_prompt(options, plan.prompt)),
        plan_(std::move(plan)),
        vectors_(std::move(vectors)) {}
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { vectors_->use_team(team); }

 private:
  struct Item {
    int32_t id = 0;
    float weight = 0;
  };
  void collect_items(std::span<const float> weights);
  std::string name(int32_t id) const;
  void take(const Record& record, std::span<const float> weights, Rows& rows);

  const SparsePlan plan_;
  const std::unique_ptr<SparseVectors> vectors_;
  std::vector<Item> items_;
};

}  // namespace bert
