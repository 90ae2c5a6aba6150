// attend - what each token attends to. See man/attend.1.
#include "tasks/attend.h"

#include "common/options.h"
#include "common/run.h"
#include "tasks/layers.h"

using namespace bert;

int main(int argc, char** argv) {
  tools::Command app{"Write the attention weights of a text: what each token attends to."};
  app.footer("echo 'the cat sat on the mat' | attend --from cat --heads 1 -k 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  AttendOptions attend;
  std::string layers = "-1", heads = "1--1";
  app.add({"--layers", "1, 1,3, 9-12, -1, ... (default: -1, the last)", tools::text("LIST")},
          layers);
  app.add({"--heads", "1, 1,3, 9-12, -1, ... (default: all)", tools::text("LIST")}, heads);
  auto from =
      app.add({"--from", "only the attention of this token", tools::text("TOKEN")}, attend.from);
  auto most = app.add({"-k", "for each token, only the K largest weights", tools::positive("K")},
                      attend.most);
  app.get_option("--json")->excludes(from)->excludes(most);

  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model();
    attend.layers = parse_numbers(layers, "layers", "layer", 1, model.config().num_hidden_layers);
    attend.heads = parse_numbers(heads, "heads", "head", 1, model.config().num_attention_heads);
    if (from->count() > 0 && tokenizer.token_to_id(attend.from) < 0) {
      throw Error(Error::Kind::usage, "--from",
                  "'" + printable(attend.from) + "' is no token of the model's vocabulary");
    }
    TaskOptions task;
    models.fill(task, tokenizer, model);
    rows.fill(task, {tools::RowShape::Per::several});
    rows.stream().chunk_records = 1;  // a record may give a million rows
    rows.stream().output_names = {"layer",  "head",       "from",    "to",
                                  "weight", "from_token", "to_token"};
    return rows.run([&] { return std::make_unique<AttendWorker>(tokenizer, model, attend, task); });
  });
}
