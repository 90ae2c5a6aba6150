// attend - what each token attends to. See man/attend.1.
#include "rows/attend.h"

#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/head_list.h"
#include "predict/opened_model.h"

using namespace bert;

namespace {

using Show = AttendOptions::Show;

struct Options {
  AttendOptions attend;
  std::string layers = "-1", heads = "1--1";
  CLI::Option* from = nullptr;
};

void add(tools::Command& app, Options& o) {
  app.add({"--layers", "1, 1,3, 9-12, -1, ... (default: -1, the last)", tools::text("LIST")},
          o.layers);
  app.add({"--heads", "1, 1,3, 9-12, -1, ... (default: all)", tools::text("LIST")}, o.heads);
  o.from =
      app.add({"--from", "only the attention of this token", tools::text("TOKEN")}, o.attend.from);
  auto most = app.add({"-k", "for each token, only the K largest weights", tools::positive("K")},
                      o.attend.most);
  auto scores = app.add({"--scores", "write also the scores that softmax makes the weights from"},
                        o.attend.scores);
  auto words =
      app.add({"--words", "words instead of tokens: pieces merged, special tokens dropped"},
              o.attend.words);
  auto outputs = app.add({"--outputs", "write the output vector of each head for each token"},
                         [&o] { o.attend.show = Show::outputs; });
  auto stats = app.add({"--stats", "write one row per head: entropy, distance, shares"},
                       [&o] { o.attend.show = Show::stats; });
  for (const char* json : {"--json", "--jsonl"}) {
    app.get_option(json)->excludes(o.from)->excludes(most);
  }
  scores->excludes(words)->excludes(outputs)->excludes(stats);
  outputs->excludes(stats)->excludes(most);
  stats->excludes(words)->excludes(most);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Write the attention weights of a text: what each token attends to."};
  app.footer("echo 'the cat sat on the mat' | attend --from cat --heads 1 -k 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, task_spec(TaskKind::feature_extraction));
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const OpenedModel opened(models.request());
    const Config& config = opened.model().config();
    AttendOptions& attend = options.attend;
    attend.layers = parse_numbers(options.layers, "layers", "layer", 1, config.num_hidden_layers);
    attend.heads = parse_numbers(options.heads, "heads", "head", 1, config.num_attention_heads);
    if (options.from->count() > 0 && !attend.words &&
        opened.tokenizer().token_to_id(attend.from) < 0) {
      throw Error(Error::Kind::usage, "--from",
                  "'" + printable(attend.from) + "' is no token of the model's vocabulary");
    }
    TaskOptions task = task_options(opened);
    rows.fill(task, {tools::RowShape::Per::several});
    rows.stream().chunk_records = 1;  // a record may give a million rows
    rows.stream().output_names = attend.columns(config.head_size());
    return rows.run([&] {
      return std::make_unique<AttendWorker>(opened.tokenizer(), opened.model(), attend, task);
    });
  });
}
