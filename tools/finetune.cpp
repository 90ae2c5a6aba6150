// finetune - train a model for a task on labelled examples. See man/finetune.1.
#include "trainers/finetune.h"

#include <fmt/format.h>

#include <cmath>

#include "checkpoint/model_dir.h"
#include "common/options.h"
#include "common/run.h"
#include "common/training_options.h"

using namespace bert;

namespace {

struct Options {
  std::string model, fields, class_weights, labels;
  bool pair = false, several = false, regression = false;
  FinetuneOptions finetune;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add(CLI::App& app, Options& o) {
  FinetuneOptions& f = o.finetune;
  tools::add_model(app, o.model, "model to start from (else $BERT_MODEL, else the default)");
  tools::add_choice<FinetuneTask>(
      app, "--task", f.task,
      {{"classify", FinetuneTask::classify}, {"ner", FinetuneTask::ner}, {"qa", FinetuneTask::qa}},
      "the task to train for");
  app.add_option("--head", f.head, "add this head to a copy of the model")->type_name("NAME");
  app.add_option("--train", f.train.files, "files with examples to learn from")
      ->required()
      ->type_name("FILE");
  app.add_option("--dev", f.dev, "files with examples that choose the best epoch")
      ->type_name("FILE");
  app.add_option("-f,--field", o.fields, "fields of the text or texts (default: 1, or 1,2)")
      ->type_name("N[,M]");
  app.add_option("--label", f.train.label_field, "field of the label (default: after the texts)")
      ->type_name("N");
  app.add_flag("--pair", o.pair, "an example is a pair of texts");
  app.add_flag("--header", f.train.header, "the first line of each file names the columns");
  app.add_option("--labels", o.labels, "the labels in the order of their ids")->type_name("A,B,..");
  app.add_flag("--multi-label", o.several, "several labels per text, separated by commas");
  app.add_flag("--regression", o.regression, "the label is a number");
  app.add_option("--epochs", f.epochs,
                 "passes over the examples (default: 3, or enough for 60 steps)")
      ->type_name("X");
  app.add_option("--patience", f.patience, "end after N epochs without a better score")
      ->type_name("N");
  app.add_option("--class-weights", o.class_weights, "'balanced', or a weight for each label")
      ->type_name("W,W,..");
  app.add_option("--freeze-layers", f.freeze_layers, "do not train embeddings and lowest N layers")
      ->type_name("N");
  app.add_flag("--freeze-embeddings", f.freeze_embeddings, "do not train the embeddings");
  app.add_option("--layer-decay", f.layer_decay,
                 "factor of the learning rate for each layer further down (default: 1)")
      ->check(CLI::Range(0., 1.))
      ->type_name("X");
  app.add_option("--max-seq-length", f.max_length,
                 "tokens per sequence (default: the model's, qa: at most 384)")
      ->type_name("N");
  app.add_option("--stride", f.train.stride, "overlap of windows (default: 128)")->type_name("N");
}

void settle(Options& o) {
  FinetuneOptions& f = o.finetune;
  f.model = resolve_model(o.model);
  f.train.texts = o.pair ? 2 : 1;
  f.train.fields = split(o.fields);
  f.labels = split(o.labels);
  f.train.kind = o.regression ? LabelKind::number : o.several ? LabelKind::several : LabelKind::one;
  f.balanced = o.class_weights == "balanced";
  bool some = f.balanced;
  if (!f.balanced) {
    for (const std::string& weight : split(o.class_weights)) {
      char* end = nullptr;
      f.class_weights.push_back(std::strtod(weight.c_str(), &end));
      const auto value = static_cast<float>(f.class_weights.back());
      if (*end || weight.empty() || !(value >= 0 && std::isfinite(value))) {
        throw Error(Error::Kind::usage, "--class-weights",
                    fmt::format("found '{}', wants numbers from 0 up", printable(weight)));
      }
      some |= value > 0;
    }
  }
  if (!o.class_weights.empty() && !some) {
    throw Error(Error::Kind::usage, "--class-weights",
                fmt::format("found '{}', wants one above 0", printable(o.class_weights)));
  }
  if (!o.class_weights.empty() && (o.several || o.regression || f.task == FinetuneTask::qa)) {
    throw Error(Error::Kind::usage, "--class-weights",
                "wants one label a text or word: not --multi-label, --regression or --task qa");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Train a model for a task on labelled examples."};
  app.footer("finetune --train train.tsv --dev dev.tsv --header --output my-model");
  Options options;
  add(app, options);
  tools::TrainingOptions training(app, true, true);

  return tools::run(app, argc, argv, [&] {
    settle(options);
    return training.train(options.finetune, finetune);
  });
}
