// nsp-score - how likely one sentence follows another. See man/nsp-score.1.
#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"
#include "rows/nsp_score.h"

using namespace bert;

namespace {

struct Options {
  NspScoreOptions nsp;
  std::string gold;
  tools::ReportOption report;
};

void add(tools::Command& app, Options& o) {
  app.add({"--adjacent", "score each line as the sentence after the line before it"},
          o.nsp.adjacent);
  app.add({"--logits", "write the logits of IsNext and NotNext"}, o.nsp.logits);
  auto gold =
      app.add({"--gold",
               "field with IsNext or NotNext: report accuracy, precision, recall, F1 on stderr",
               tools::column()},
              o.gold)
          ->excludes("--adjacent");
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"How likely is it that the second text follows the first?"};
  app.footer("printf 'I am hungry.\\tLet us eat.\\n' | nsp-score");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 2);
  tools::ModelOptions models(app, task_spec(TaskKind::next_sentence_prediction));
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const OpenedModel opened(models.request());
    const NextSentencePredictor predictor(opened.model());
    TaskOptions task = task_options(opened);
    rows.fill(task);

    const NspScoreOptions& nsp = options.nsp;
    if (nsp.adjacent) rows.stream().texts = 1;
    rows.stream().adjacent = nsp.adjacent;
    rows.stream().output_names = names_of(NextSentenceRow{nsp.logits});
    LabelMetrics metrics(predictor.labels());
    NextSentenceSink sink;
    if (!options.gold.empty()) {
      sink = [&](const Record& record, double is_next) { add_gold(metrics, record, is_next); };
      rows.stream().want_truth("gold", options.gold);
    }
    const auto make_worker = [&] {
      return std::make_unique<NspScoreWorker>(opened.tokenizer(), predictor, nsp, task, sink);
    };
    tools::MakeReport report;
    if (sink) report = tools::report_of(metrics, true);
    return options.report.run(rows, make_worker, report);
  });
}
