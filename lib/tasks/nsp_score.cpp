#include "tasks/nsp_score.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace bert {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace

NspScoreWorker::NspScoreWorker(const Tokenizer& tokenizer, const Model& model,
                               const Classifier& next_sentence, const NspScoreOptions& nsp,
                               const TaskOptions& options)
    : TaskWorker(tokenizer, &model, options), next_sentence_(next_sentence), nsp_(nsp) {
  refuse_windows();
}

/// softmax([is_next, not_next])[0]
double NspScoreWorker::Score::probability() const {
  if (!has_pair) return std::numeric_limits<double>::quiet_NaN();
  return 1.0 / (1.0 + std::exp(static_cast<double>(not_next) - static_cast<double>(is_next)));
}

bool NspScoreWorker::has_pair(const Record& record) const {
  return !nsp_.adjacent || (!is_blank(record.text) && !is_blank(record.text_pair));
}

void NspScoreWorker::run(std::span<const Record> records, Rows& rows) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) {
    if (has_pair(records[i])) encode(records[i], true, i);
  }
  scores_.assign(records.size(), {});
  for_each_batch([&](size_t first, const PackedBatch& batch, Matrix hidden) {
    const Matrix logits = next_sentence_.logits(batch, hidden, workspace_);  // [S, 2]
    for (size_t s = 0; s < logits.rows; ++s) {
      scores_[owners_[first + s]] = {true, logits.row(s)[0], logits.row(s)[1]};
    }
  });
  for (size_t i = 0; i < records.size(); ++i) {
    write(records[i], scores_[i], rows);
    if (nsp_.metrics) once(records[i], [&] { evaluate(records[i], scores_[i]); });
  }
}

void NspScoreWorker::evaluate(const Record& record, const Score& score) const {
  const std::string_view gold = record.extra[0];
  const bool is_next = gold == "IsNext" || gold == "0", not_next = gold == "NotNext" || gold == "1";
  if (!is_next && !not_next) {
    record.fail(Error::Kind::data,
                fmt::format("found the gold label '{}', wants IsNext or NotNext, or 0 or 1",
                            printable(gold)));
  }
  const double probability = score.probability();
  const size_t truth = not_next, guess = probability < 0.5;
  nsp_.metrics->add({&truth, 1}, {&guess, std::isnan(probability) ? 0u : 1u});
}

void NspScoreWorker::write(const Record& record, const Score& score, Rows& rows) {
  if (score.has_pair && !std::isfinite(score.is_next + score.not_next)) note_non_finite(record);
  if (options_.json) {
    write_json(record, score, rows);
    return;
  }
  begin_row(rows, record);
  if (nsp_.logits) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    rows.field(score.has_pair ? score.is_next : nan).field(score.has_pair ? score.not_next : nan);
  } else {
    rows.number(score.probability());
  }
  end_row(rows, record);
}

void NspScoreWorker::write_json(const Record& record, const Score& score, Rows& rows) const {
  JsonRow json = begin_json(rows, record, true);
  if (!score.has_pair) {
    json.null("probability").null("logits");
  } else {
    const double is_next = score.probability();
    json.object("probability").number("IsNext", is_next).number("NotNext", 1 - is_next);
    json.end_object();
    json.object("logits").exact("IsNext", score.is_next);
    json.exact("NotNext", score.not_next).end_object();
  }
  end_json(rows);
}

}  // namespace bert
