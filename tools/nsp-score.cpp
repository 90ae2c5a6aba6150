// nsp-score - how likely one sentence follows another. See man/nsp-score.1.
#include "common/report.h"
#include "common/run.h"
#include "rows/nsp_score.h"

using namespace bert;

int main(int argc, char** argv) {
  tools::Command app{"How likely is it that the second text follows the first?"};
  app.footer("printf 'I am hungry.\\tLet us eat.\\n' | nsp-score");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 2);
  tools::ModelOptions models(app, task_spec(TaskKind::next_sentence_prediction));
  NspScoreOptions nsp;
  std::string gold;
  tools::ReportOption report_option;
  app.add({"--adjacent", "score each line as the sentence after the line before it"}, nsp.adjacent);
  app.add({"--logits", "write the logits of IsNext and NotNext"}, nsp.logits);
  auto gold_option =
      app.add({"--gold",
               "field with IsNext or NotNext: report accuracy, precision, recall, F1 on stderr",
               tools::column()},
              gold)
          ->excludes("--adjacent");
  report_option.add(app, gold_option);

  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model(HeadKind::next_sentence);
    const NextSentencePredictor predictor(model);
    TaskOptions task;
    models.fill(task, tokenizer, model, task_spec(TaskKind::next_sentence_prediction));
    rows.fill(task);

    if (nsp.adjacent) rows.stream().texts = 1;
    rows.stream().adjacent = nsp.adjacent;
    rows.stream().output_names = names_of(NextSentenceRow{nsp.logits});
    LabelMetrics metrics(predictor.labels());
    NextSentenceSink sink;
    if (!gold.empty()) {
      sink = [&](const Record& record, double is_next) { add_gold(metrics, record, is_next); };
      rows.stream().want_truth("gold", gold);
    }
    const auto make_worker = [&] {
      return std::make_unique<NspScoreWorker>(tokenizer, predictor, nsp, task, sink);
    };
    std::function<tools::Report()> report;
    if (sink) report = tools::report_of(metrics, true);
    return report_option.run(rows, make_worker, report);
  });
}
