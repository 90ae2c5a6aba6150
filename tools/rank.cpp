// rank - score texts by how well they answer a query. See man/rank.1.
#include "rows/rank.h"

#include "common/model_options.h"
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
}

/// Scores each record or, with -q, ranks them.
int run(const Options& o, tools::RowOptions& rows,
        const std::function<std::unique_ptr<Worker>(const TextSink& sink)>& make_worker) {
  rows.stream().output_names = names_of<ScoreRow>();
  if (o.query->count() == 0) return rows.run([&] { return make_worker({}); });
  rows.stream().texts = 1;
  rows.stream().output_names = names_of<FoundText>();
  TextRanking ranking(o.top_k);
  const TextSink sink = [&](FoundText text) { ranking.add(std::move(text)); };
  return tools::search(rows, ranking, [&] { return make_worker(sink); });
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

    return run(options, rows, [&](const TextSink& sink) -> std::unique_ptr<Worker> {
      if (maxsim) return std::make_unique<MaxSimWorker>(model, *plan, options.rank, task, sink);
      return std::make_unique<CrossEncoderWorker>(opened.tokenizer(), *encoder, options.rank, task,
                                                  sink);
    });
  });
}
