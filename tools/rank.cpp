// rank - score texts by how well they answer a query. See man/rank.1.
#include "rows/rank.h"

#include "common/model_options.h"
#include "common/rank_report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "common/search.h"
#include "predict/maxsim.h"

using namespace bert;

namespace {

struct Options {
  RankOptions rank;
  size_t top_k = 10;
  bool sigmoid = false, logits = false, maxsim = false;
  CLI::Option* query = nullptr;
  std::string gold;
  tools::RankReport report;
};

void add(tools::Command& app, Options& o) {
  o.query = app.add(
      {"-q,--query", "score every record for this query and rank them", tools::text("TEXT")},
      o.rank.query);
  app.add(
         {"-k,--top-k", "with -q: the K best records (default: 10)", tools::whole(1, 1 << 20, "K")},
         o.top_k)
      ->needs(o.query);
  app.add({"--threshold", "with -q: only records with at least this score", tools::real()},
          o.rank.threshold)
      ->needs(o.query);
  auto sigmoid = app.add({"--sigmoid", "put the scores through a sigmoid"}, o.sigmoid);
  auto logits = app.add({"--logits", "write the model's raw scores"}, o.logits)->excludes(sigmoid);
  app.add({"--maxsim", "compare the vectors of tokens, as ColBERT does; works with any encoder"},
          o.maxsim)
      ->excludes(sigmoid)
      ->excludes(logits);
  auto gold =
      app.add({"--gold", "field with the relevance, or file of judgments: report nDCG, MRR, MAP ..",
               tools::text("N|QRELS")},
              o.gold);
  o.report.add(app, gold);
}

/// Whether --gold names a file: it is no number and, where fields have names, has a slash.
bool gold_is_file(const Options& o, tools::RowOptions& rows) {
  if (o.gold.find_first_not_of("0123456789") == o.gold.npos) return false;
  const bool names = rows.stream().header || rows.stream().csv || rows.reads_json_lines();
  return !names || o.gold.find('/') != o.gold.npos;
}

/// Judges each record by the relevance in its field, under its query; or later by a file.
ScoreSink want_gold(Options& o, tools::RowOptions& rows, RankMetrics& metrics) {
  if (o.gold.empty()) return {};
  if (gold_is_file(o, rows)) {
    return [&metrics](const Record& record, std::string_view query, double score) {
      metrics.add(std::string(query), record.number, score, 0);
    };
  }
  rows.stream().want_truth("gold", o.gold);
  if (o.query->count() > 0 && !rows.fields_given())
    rows.stream().fields = {o.gold == "1" ? "2" : "1"};
  return [&metrics](const Record& record, std::string_view query, double score) {
    metrics.add(std::string(query), record.number, score,
                tools::relevance_of(record, record.extra[0]));
  };
}

/// Scores each record or, with -q, ranks them.
int run(Options& o, tools::RowOptions& rows,
        const std::function<std::unique_ptr<Worker>(const RankSinks& sinks)>& make_worker) {
  rows.stream().output_names = names_of<ScoreRow>();
  RankMetrics metrics(o.report.cutoffs());
  RankSinks sinks;
  sinks.scored = want_gold(o, rows, metrics);
  tools::MakeReport report;
  if (sinks.scored) report = tools::report_of(metrics);
  if (sinks.scored && gold_is_file(o, rows)) {
    report = [&metrics, by_field = report, qrels = Qrels::read(o.gold)](const Resampling& how) {
      metrics.judge(qrels);
      return by_field(how);
    };
  }
  if (o.query->count() == 0)
    return o.report.run(
        rows, [&] { return make_worker(sinks); }, report);
  rows.stream().texts = 1;
  rows.stream().output_names = names_of<FoundText>();
  TextRanking ranking(o.top_k);
  sinks.found = [&](FoundText text) { ranking.add(std::move(text)); };
  const auto search = [&] {
    return tools::search(
        rows, ranking, [&] { return make_worker(sinks); }, o.report.hides_rows());
  };
  return o.report.run(rows, std::function<int()>(search), report);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Score texts by how well they answer a query."};
  app.footer("rank --maxsim -q 'who sat?' text.txt");
  // -q is the query, as the pattern is of grep -e.
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 2, "--quiet");
  tools::ModelOptions models(app, task_spec(TaskKind::text_ranking));
  Options options;
  add(app, options);
  rows.add_search(app, options.query);

  return tools::run(app, argc, argv, [&] {
    const bool searching = options.query->count() > 0, maxsim = options.maxsim;
    TaskRequest request = models.request();
    if (maxsim) request.task = task_spec(TaskKind::feature_extraction);
    const OpenedModel opened(request);
    const Model& model = opened.model();
    std::optional<CrossEncoder> encoder;
    std::optional<MaxSimPlan> plan;
    if (maxsim) {
      plan.emplace(MaxSimPlan::open(opened));
    } else {
      encoder.emplace(opened, options.sigmoid  ? ScoreKind::sigmoid
                              : options.logits ? ScoreKind::logit
                                               : ScoreKind::own);
    }
    TaskOptions task =
        maxsim ? task_options(opened,
                              opened.reading(request.task, plan->document.tokenizer, plan->limit))
               : task_options(opened, encoder->reading());
    rows.fill(task, {searching ? tools::RowShape::Per::none : tools::RowShape::Per::one});

    return run(options, rows, [&](const RankSinks& sinks) -> std::unique_ptr<Worker> {
      if (maxsim) return std::make_unique<MaxSimWorker>(model, *plan, options.rank, task, sinks);
      return std::make_unique<CrossEncoderWorker>(opened.tokenizer(), *encoder, options.rank, task,
                                                  sinks);
    });
  });
}
