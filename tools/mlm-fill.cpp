// mlm-fill - fill the masks in each line of text. See man/mlm-fill.1.
#include <deque>

#include "common/options.h"
#include "common/run.h"
#include "mlm/mlm_fill.h"

using namespace bert;

namespace {

struct Options {
  MlmFillOptions fill;
  std::vector<std::string> verbalizers;
  std::string gold, labels;
};

void add(CLI::App& app, Options& o) {
  app.add_option("-k,--top-k", o.fill.top_k, "the K best candidates for each mask, one per row")
      ->check(CLI::PositiveNumber)
      ->type_name("K");
  app.add_flag("--tokens", o.fill.tokens, "read and write tokens, as tokenize writes them");
  app.add_flag("--joint", o.fill.joint, "fill the masks of a record together");
  app.add_option("--beam", o.fill.beam, "solutions kept with --joint (default: 5)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  tools::add_choice<FillOrder>(app, "--order", o.fill.order,
                               {{"confidence", FillOrder::confidence}, {"left", FillOrder::left}},
                               "which mask is filled next");
  app.add_option("--max-pieces", o.fill.max_pieces, "fill a mask with a word of 1 to N pieces")
      ->check(CLI::Range(1, 16))
      ->type_name("N");
  app.add_option("--targets", o.fill.targets, "the only candidates, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("WORDS");
  app.add_option("--gold", o.gold, "field with the true text: measure instead of filling")
      ->type_name("N");
  app.add_option("--labels", o.labels, "as --gold, with the labels that mlm-mask --labels wrote")
      ->type_name("N");
  app.add_option("--prompt", o.fill.prompt, "a text with {} where the record belongs")
      ->type_name("TEXT");
  app.add_option("--calibrate", o.fill.calibration,
                 "divide each probability by the one that this content-free prompt gives")
      ->type_name("TEXT");
  app.add_option("--verbalizer", o.verbalizers,
                 "a label and the words that mean it; writes label and probability (repeatable)")
      ->type_name("LABEL=WORDS")
      ->allow_extra_args(false);  // the next argument is a FILE
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void finish(Options& o) {
  for (const std::string& text : o.verbalizers) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      throw Error(Error::Kind::usage, "--verbalizer",
                  "found '" + printable(text) + "', wants LABEL=WORD,WORD");
    }
    o.fill.verbalizers.push_back({text.substr(0, equals), split(text.substr(equals + 1), ',')});
  }
  if (!o.gold.empty()) o.fill.truth = FillTruth::text;
  if (!o.labels.empty()) o.fill.truth = FillTruth::labels;
  if (!o.gold.empty() && !o.labels.empty()) {
    throw Error(Error::Kind::usage, "", "wants one of --gold and --labels");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fill the masks in each line of text."};
  app.footer("echo 'Mozart was a famous [MASK].' | mlm-fill -k 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(options);
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model("fill-mask");
    const MaskedLM head = MaskedLM::open(model);
    TaskOptions task;
    models.fill(task, tokenizer, model);
    const bool measured = options.fill.truth != FillTruth::none;
    if (measured || (options.fill.top_k > 0 && options.verbalizers.empty())) rows.several_rows();
    rows.fill(task);
    const FillPlan plan = FillPlan::make(options.fill, tokenizer, task.encode.max_length);
    if (measured) {
      rows.stream().want_truth("--gold", options.gold);
      rows.stream().want_truth("--labels", options.labels);
      // The text must not include the true text.
      if (app.count("--fields") == 0) rows.stream().fields = {"1"};
    }
    rows.stream().output_names = plan.columns();

    std::deque<FillSummary> summaries;  // one for each worker
    const int status = rows.run([&] {
      summaries.emplace_back();
      return std::make_unique<MlmFillWorker>(tokenizer, model, head, plan, &summaries.back(), task);
    });
    FillSummary sum;
    for (const FillSummary& part : summaries) sum += part;
    const std::string told = sum.text(measured, rows.counts());
    if (!told.empty()) tools::notice(told);
    return status;
  });
}
