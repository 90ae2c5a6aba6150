// mlm-mask - hide tokens of each line of text. See man/mlm-mask.1.

#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"
#include "rows/mlm_mask.h"

using namespace bert;

namespace {

struct Options {
  MaskingOptions masking;
  MlmMaskOptions mask;
  bool each = false;
  std::string spans, key;
};

void add(tools::Command& app, Options& o) {
  app.add({"--mlm-probability,--masked-lm-prob",
           "share of the tokens that are chosen (default: 0.15)", tools::real("P")},
          o.masking.mlm_probability);
  app.add({"--mask-replace-prob", "share of the chosen tokens that become masks (default: 0.8)",
           tools::real("P")},
          o.masking.mask_replace_prob);
  app.add({"--random-replace-prob",
           "share of the chosen tokens that become random tokens (default: 0.1)", tools::real("P")},
          o.masking.random_replace_prob);
  app.add({"--whole-word", "choose all pieces of a word together"}, o.masking.whole_word);
  app.add({"--seed", "seed of the random choices (default: 12345)", tools::whole()}, o.masking.seed)
      ->default_str(std::to_string(o.masking.seed));
  app.add({"--key", "field that, with the seed, decides the random choices (default: the text)",
           tools::column()},
          o.key);
  app.add({"--each", "hide every word in turn, one row each: record text"}, o.each);
  app.add(
         {"--match", "hide what a POSIX extended regular expression matches", tools::text("REGEX")},
         o.mask.pattern)
      .of("pattern");
  app.add({"--spans", "hide the byte spans in a field, as in 3-8 12-15", tools::column()}, o.spans);
  auto tokens =
      app.add({"--tokens", "read and write tokens, as tokenize writes them"}, o.mask.tokens);
  app.add({"--words", "a word is what stands between blanks, for --each and --whole-word"},
          o.mask.words)
      ->excludes(tokens);
  auto labels = app.add({"--labels", "write the hidden tokens as a second column, index:token ..."},
                        o.mask.labels);
  app.add({"--show", "write a row for each chosen token instead of the text"}, o.mask.show)
      ->excludes(labels);
}

/// Sets the way in which tokens are chosen.
void finish(tools::Command& app, Options& o) {
  const bool match = app.count("--match") > 0;
  if (int{o.each} + int{match} + int{!o.spans.empty()} > 1) {
    throw Error(Error::Kind::usage, "", "wants only one of --each, --match, --spans");
  }
  if (o.each) o.mask.choice = MaskChoice::each;
  if (match) o.mask.choice = MaskChoice::match;
  if (!o.spans.empty()) o.mask.choice = MaskChoice::spans;
  o.mask.keyed = !o.key.empty();
  if (!o.each && !o.masking.whole_word)
    tools::refuse_given(app, {"--words"}, "wants --each or --whole-word");
  if (app.count("--max-seq-length") > 0)
    tools::refuse_given(app, {"--stride"}, "a text has no windows here");
  if (o.mask.choice != MaskChoice::random) {
    tools::refuse_given(app,
                        {"--key", "--seed", "--mlm-probability", "--mask-replace-prob",
                         "--random-replace-prob", "--whole-word"},
                        "draws nothing with --each, --match or --spans");
  }
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Hide tokens of each line of text, for a masked language model to guess."};
  app.footer("mlm-mask --seed 1 text.txt | mlm-fill");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, task_spec(TaskKind::fill_mask),
                             tools::ModelOptions::Use::tokenizer);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(app, options);
    const Tokenizer tokenizer = open_tokenizer(models.request());
    const Masking masking(tokenizer, options.masking);
    TaskOptions task = task_options(models.request(), tokenizer, true, false);
    const bool several = options.mask.show || options.each;
    rows.fill(task, {several ? tools::RowShape::Per::several : tools::RowShape::Per::one});
    rows.stream().want_field("spans", options.spans);
    rows.stream().want_field("key", options.key);
    if (!rows.stream().extra_fields.empty() && !rows.fields_given()) {
      rows.stream().fields = {"1"};
    }
    rows.stream().output_names = options.mask.columns();
    return rows.run(
        [&] { return std::make_unique<MlmMaskWorker>(tokenizer, masking, options.mask, task); });
  });
}
