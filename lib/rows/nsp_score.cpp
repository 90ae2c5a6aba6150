#include "rows/nsp_score.h"

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

void add_gold(LabelMetrics& metrics, const Record& record, double is_next) {
  const std::string_view gold = record.extra[0];
  const bool yes = gold == "IsNext" || gold == "0", no = gold == "NotNext" || gold == "1";
  if (!yes && !no) {
    record.fail(Error::Kind::data,
                fmt::format("found the gold label '{}', wants IsNext or NotNext, or 0 or 1",
                            printable(gold)));
  }
  const size_t truth = no, guess = is_next < 0.5;
  metrics.add({&truth, 1}, {&guess, std::isnan(is_next) ? 0u : 1u});
}

void NextSentenceRow::cells(Cells& c) const {
  const double is_next = score.probability();
  if (auto json = c.members()) {
    if (!score.has_pair) {
      json->null("probability").null("logits");
      return;
    }
    json->object("probability").number("IsNext", is_next).number("NotNext", 1 - is_next);
    json->end_object().object("logits").exact("IsNext", score.is_next);
    json->exact("NotNext", score.not_next).end_object();
  } else if (logits) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    c.exact("logit_is_next", score.has_pair ? score.is_next : nan);
    c.exact("logit_not_next", score.has_pair ? score.not_next : nan);
  } else {
    c.number("is_next", is_next);
  }
}

NspScoreWorker::NspScoreWorker(const Tokenizer& tokenizer, const NextSentencePredictor& predictor,
                               const NspScoreOptions& nsp, const TaskOptions& options,
                               NextSentenceSink sink)
    : TaskWorker(tokenizer, options), predictor_(predictor), nsp_(nsp), sink_(std::move(sink)) {
  refuse_windows();
}

bool NspScoreWorker::has_pair(const Record& record) const {
  return !nsp_.adjacent || (!is_blank(record.text) && !is_blank(record.text_pair));
}

void NspScoreWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) {
    if (has_pair(records[i])) read(records[i], true, i);
  }
  predictor_.predict(sequences_, records.size(), batcher_, scores_);
  for (size_t i = 0; i < records.size(); ++i) {
    const NextSentence& score = scores_[i];
    if (score.has_pair && !std::isfinite(score.is_next + score.not_next)) {
      note_non_finite(records[i]);
    }
    write(records[i], NextSentenceRow{nsp_.logits, score}, rows, Repeats::pair);
    if (sink_) once(records[i], [&] { sink_(records[i], scores_[i].probability()); });
  }
}

}  // namespace bert
