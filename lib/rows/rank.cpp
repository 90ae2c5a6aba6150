#include "rows/rank.h"

#include <cmath>

#include "base/error.h"

namespace bert {

void RankWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  score(records);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!std::isfinite(scores_[i])) note_non_finite(records[i]);
    once(records[i], [&] { offer(records[i], scores_[i]); });
    if (!searches()) write(records[i], ScoreRow{scores_[i]}, rows, Repeats::pair);
  }
}

void RankWorker::offer(const Record& record, double score) {
  if (sinks_.scored) sinks_.scored(record, searches() ? rank_.query : record.text, score);
  const bool kept = !std::isnan(score) && (!rank_.threshold || score >= *rank_.threshold);
  if (searches() && kept)
    sinks_.found(
        {*record.file, record.number, record.number_in_file, score, std::string(record.text)});
}

CrossEncoderWorker::CrossEncoderWorker(const Tokenizer& tokenizer, const CrossEncoder& encoder,
                                       const RankOptions& rank, const TaskOptions& options,
                                       RankSinks sinks)
    : RankWorker(tokenizer, rank, options, std::move(sinks)), encoder_(encoder) {
  encoder.check();
}

void CrossEncoderWorker::score(std::span<const Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    read(record, searches() ? Text{rank_.query, record.text} : Text{record.text, record.text_pair},
         i);
  }
  encoder_.predict(sequences_, records.size(), batcher_, scores_);
}

MaxSimWorker::MaxSimWorker(const Model& model, const MaxSimPlan& plan, const RankOptions& rank,
                           const TaskOptions& options, RankSinks sinks)
    : RankWorker(plan.document.tokenizer, rank, with_prompt(options, plan.document.prompt),
                 std::move(sinks)),
      plan_(plan),
      maxsim_(model, plan, options.encode, batcher_) {}

/// The queries of all records; neighbours often share one.
void MaxSimWorker::make_queries(std::span<const Record> records) {
  if (!queries_.empty()) queries_.erase(queries_.begin(), queries_.end() - 1);
  query_of_.clear();
  for (const Record& record : records) {
    const std::string_view text = searches() ? std::string_view(rank_.query) : record.text;
    if (queries_.empty() || queries_.back().text != text) queries_.push_back(maxsim_.query(text));
    query_of_.push_back(queries_.size() - 1);
  }
}

/// Counts for this record what its query has: the query is cut, never read in windows.
void MaxSimWorker::note_query(const Record& record, const Encoding& encoding) {
  if (encoding.dropped > 0) {
    if (options_.strict || options_.overflow == Overflow::error) {
      record.fail(Error::Kind::data, "its query is too long");
    }
    note_cut(record);
  }
  Encoding whole = encoding;
  whole.dropped = 0;
  note(record, whole, {static_cast<uint32_t>(plan_.query.prompt.size()), UINT32_MAX});
}

void MaxSimWorker::score(std::span<const Record> records) {
  make_queries(records);
  for (size_t i = 0; i < records.size(); ++i) {
    note_query(records[i], queries_[query_of_[i]].encoding);  // records are counted in order
    read(records[i], Text{searches() ? records[i].text : records[i].text_pair}, i);
  }
  maxsim_.predict(
      sequences_, records.size(),
      [&](size_t i) -> const MaxSim::Query& { return queries_[query_of_[i]]; }, scores_);
}

}  // namespace bert
