#include "embed/bert_score.h"

#include <algorithm>

#include "common/run.h"
#include "io/rereadable_files.h"
#include "rows/bert_score_rows.h"

namespace bert::tools {
namespace {

/// Runs the first pass over the files, for the weights of tokens, then the second, for the rows.
int run_twice(RowOptions& rows, const EmbedOptions& options,
              const std::function<std::unique_ptr<Worker>()>& make_counter,
              const std::function<std::unique_ptr<Worker>()>& make_worker) {
  StreamOptions& stream = rows.stream();
  const RereadableFiles files(stream.files);
  stream.write = [](std::string_view) {};  // headers and bad records have their rows later
  const int status = rows.run(make_counter);
  files.rewind();
  stream.write = {};
  if (options.report.hides_rows()) stream.write = [](std::string_view) {};
  stream.progress = {};
  stream.on_skipped = [](const Error&) {};  // was told
  bert::stream(stream, [&] { return rows.within_json_lines(make_worker()); });
  return status;
}

BertScoreOptions score_options(const VectorPlan& plan, const EmbedOptions& options,
                               const std::string& fields) {
  BertScoreOptions score;
  score.references =
      std::max<size_t>(1, static_cast<size_t>(std::count(fields.begin(), fields.end(), ',')));
  if (!options.baseline.empty()) {
    if (plan.layers.combine != LayerExpression::Combine::one)
      throw Error(Error::Kind::usage, "--baseline", "wants one layer: --layers N");
    score.baseline = read_baseline(options.baseline, plan.layers.layers.front());
  }
  return score;
}

}  // namespace

int write_bert_score(Embedder& embedder, const VectorPlan& plan, const EmbedOptions& options,
                     RowOptions& rows) {
  if (options.idf && within_memo())
    throw Error(Error::Kind::usage, "--idf", "its rows depend on all records: not within memo");
  TaskOptions task = task_options(embedder.model(), embedder.reading(""));
  rows.fill(task);
  const BertScoreOptions score = score_options(plan, options, rows.fields());
  StreamOptions& stream = rows.stream();
  stream.more_texts = true;
  stream.chunk_records = 16;  // all states of a chunk's tokens are in memory
  stream.output_names = names_of<BertScoreRow>();
  const VectorPredictor& predictor = embedder.predictor(plan);
  const OpenedModel& opened = embedder.model();
  const bool behind_blank = !opened.fixed() && reads_behind_blank(opened.model().directory());
  TokenIdf idf;
  ScoredTextCache cache(size_t{128} << 20);
  ValueMetrics metrics;
  SimilaritySink sink;
  MakeReport report;
  if (!options.gold.empty()) {
    sink = gold_sink(metrics, score.references - 1);
    report = report_of(metrics);
    stream.want_truth("gold", options.gold);
  }
  const auto make_worker = [&] {
    return std::make_unique<BertScoreWorker>(predictor, behind_blank, score,
                                             options.idf ? &idf : nullptr, cache, task, sink);
  };
  const auto make_counter = [&] {
    return std::make_unique<TokenIdfWorker>(predictor, behind_blank, score.references, task, idf);
  };
  return options.report.run(rows, std::function<int()>([&] {
                              if (!options.idf) return rows.run(make_worker);
                              return run_twice(rows, options, make_counter, make_worker);
                            }),
                            report);
}

}  // namespace bert::tools
