#include "tasks/rank.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace bert {

void RankWorker::run(std::span<const Record> records, Rows& rows) {
  score(records);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!std::isfinite(scores_[i])) note_non_finite(records[i]);
    if (searches()) {
      offer(records[i], scores_[i]);
    } else {
      write(records[i], scores_[i], rows);
    }
  }
}

void RankWorker::offer(const Record& record, double score) {
  if (std::isnan(score) || (rank_.threshold && score < *rank_.threshold)) return;
  once(record, [&] {
    rank_.ranking->add(
        {*record.file, record.number, record.number_in_file, score, std::string(record.text)});
  });
}

void RankWorker::write(const Record& record, double score, Rows& rows) const {
  if (options_.json) {
    begin_json(rows, record, true).number("score", score);
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.number(score);
  end_row(rows, record);
}

bool saves_sigmoid(const Model& model) {
  return torch_activation(model.config().score_function) == Activation::sigmoid;
}

CrossEncoderWorker::CrossEncoderWorker(const Tokenizer& tokenizer, const Model& model,
                                       const Classifier& head, bool sigmoid,
                                       const RankOptions& rank, const TaskOptions& options)
    : RankWorker(tokenizer, model, rank, options), head_(head), sigmoid_(sigmoid) {
  if (head.labels().size() == 1) return;
  throw Error(Error::Kind::unsupported, head.config_path(),
              fmt::format("a classifier with {} labels, wants a cross-encoder, which has one "
                          "output; classify gives each label its score",
                          head.labels().size()));
}

void CrossEncoderWorker::score(std::span<const Record> records) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) {
    Record pair = records[i];
    if (searches()) {
      pair.text = rank_.query;
      pair.text_pair = records[i].text;
    }
    encode(pair, true, i);
  }
  scores_.assign(records.size(), -std::numeric_limits<double>::infinity());
  for_each_batch([&](size_t first, const PackedBatch& batch, Matrix hidden) {
    const Matrix logits = head_.logits(batch, hidden, workspace_);  // [S, 1]
    for (size_t s = 0; s < logits.rows; ++s) {
      const auto logit = static_cast<double>(*logits.row(s));
      double& score = scores_[owners_[first + s]];
      if (!(logit <= score)) score = logit;  // NaN too
    }
  });
  if (!sigmoid_) return;
  // In double, so that only a logit above 36 becomes 1.
  for (double& score : scores_) score = 1 / (1 + std::exp(-score));
}

}  // namespace bert
