// mlm-mask - hide tokens of each line of text. See man/mlm-mask.1.

#include "common/options.h"
#include "common/run.h"
#include "mlm/mlm_mask.h"

using namespace bert;

namespace {

struct Options {
  MaskingOptions masking;
  MlmMaskOptions mask;
  bool each = false;
  std::string spans, key;
};

void add(CLI::App& app, Options& o) {
  app.add_option("--mlm-probability,--masked-lm-prob", o.masking.mlm_probability,
                 "share of the tokens that are chosen (default: 0.15)")
      ->type_name("P");
  app.add_option("--mask-replace-prob", o.masking.mask_replace_prob,
                 "share of the chosen tokens that become masks (default: 0.8)")
      ->type_name("P");
  app.add_option("--random-replace-prob", o.masking.random_replace_prob,
                 "share of the chosen tokens that become random tokens (default: 0.1)")
      ->type_name("P");
  app.add_flag("--whole-word", o.masking.whole_word, "choose all pieces of a word together");
  app.add_option("--seed", o.masking.seed, "seed of the random choices (default: 12345)")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--key", o.key,
                 "field that, with the seed, decides the random choices (default: the text)")
      ->type_name("N");
  app.add_flag("--each", o.each, "hide every word in turn, one row each: record text");
  app.add_option("--match", o.mask.pattern, "hide what a POSIX extended regular expression matches")
      ->type_name("REGEX");
  app.add_option("--spans", o.spans, "hide the byte spans in a field, as in 3-8 12-15")
      ->type_name("N");
  app.add_flag("--tokens", o.mask.tokens, "read and write tokens, as tokenize writes them");
  app.add_flag("--labels", o.mask.labels,
               "write the hidden tokens as a second column, index:token ...");
  app.add_flag("--show", o.mask.show, "write a row for each chosen token instead of the text");
}

/// Sets the way in which tokens are chosen.
void finish(CLI::App& app, Options& o) {
  const bool match = app.count("--match") > 0;
  if (int{o.each} + int{match} + int{!o.spans.empty()} > 1) {
    throw Error(Error::Kind::usage, "", "wants one of --each, --match, --spans");
  }
  if (o.each) o.mask.choice = MaskChoice::each;
  if (match) o.mask.choice = MaskChoice::match;
  if (!o.spans.empty()) o.mask.choice = MaskChoice::spans;
  o.mask.keyed = !o.key.empty();
  if (o.mask.keyed && o.mask.choice != MaskChoice::random) {
    throw Error(Error::Kind::usage, "--key", "draws nothing with --each, --match or --spans");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Hide tokens of each line of text, for a masked language model to guess."};
  app.footer("mlm-mask --seed 1 text.txt | mlm-fill");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(app, options);
    const Tokenizer tokenizer = models.open_tokenizer();
    const Masking masking(tokenizer, options.masking);
    TaskOptions task;
    models.fill_tokens(task, tokenizer, true, false);
    if (options.mask.show || options.each) rows.several_rows();
    rows.fill(task);
    rows.stream().want_field("--spans", options.spans);
    rows.stream().want_field("--key", options.key);
    if (!rows.stream().extra_fields.empty() && app.count("--fields") == 0) {
      rows.stream().fields = {"1"};
    }
    rows.stream().output_names = {"text"};
    if (options.mask.labels) rows.stream().output_names.push_back("labels");
    if (options.mask.show) {
      rows.stream().output_names = {"index", "original", "corrupted", "kind"};
    }
    return rows.run(
        [&] { return std::make_unique<MlmMaskWorker>(tokenizer, masking, options.mask, task); });
  });
}
