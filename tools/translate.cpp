// translate - write in one language what is read in another. See man/translate.1.
#include "rows/translate.h"

#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/head_list.h"
#include "predict/opened_translator.h"
#include "tokenizer/classes.h"

using namespace bert;

namespace {

using Show = TranslateOptions::Show;

struct Options {
  TranslateOptions translate;
  std::string force, languages, layers = "-1", heads = "1--1";
};

void add_languages(tools::Command& app, Options& o) {
  tools::Value language = tools::text("NAME");
  language.offers = known_languages();
  app.add({"--source-lang",
           "language of the texts, as the tokenizer names it (default: the model's)", language},
          o.translate.source_language);
  app.add({"--target-lang", "language of the translations (default: the model's)", language},
          o.translate.target_language);
  app.add(
      {"--lang-field", "field with a record's language, TARGET or SOURCE:TARGET", tools::column()},
      o.languages);
}

void add(tools::Command& app, Options& o) {
  auto best = app.add(
      {"-k,--top-k", "the K best targets of a record, after its number, with log-probabilities",
       tools::whole(1, 1000, "K")},
      o.translate.top_k);
  auto beam =
      app.add({"--beam", "hypotheses of the beam search; 1 is greedy (default: the model's)",
               tools::whole(1, 1000)},
              o.translate.beam);
  auto length = app.add(
      {"--max-new-tokens", "tokens of a target (default: the model's)", tools::whole(1, 1 << 20)},
      o.translate.max_new_tokens);
  auto penalty = app.add({"--length-penalty",
                          "hypotheses are compared by log-probability / length ^ X", tools::real()},
                         o.translate.length_penalty);
  auto align = app.add({"--align", "write what each target token looked at"},
                       [&o] { o.translate.show = Show::align; });
  auto trace = app.add({"--trace", "write each step of attention: scores, softmax, vector"},
                       [&o] { o.translate.show = Show::trace; });
  app.add({"--layers", "of --align, --trace: 1, 1,3, -1, ... (default: -1, the last)",
           tools::text("LIST")},
          o.layers);
  app.add({"--heads", "of --align, --trace: 1, 1,3, -1, ... (default: all)", tools::text("LIST")},
          o.heads);
  auto force =
      app.add({"--force", "field with a target: write its log-probability and number of tokens",
               tools::column()},
              o.force);
  app.add({"--no-cache", "compute all tokens of a target again at each step"},
          [&o] { o.translate.cache = false; })
      .same_rows();
  best->excludes(align)->excludes(trace)->excludes(force);
  align->excludes(trace);
  force->excludes(beam)->excludes(length)->excludes(penalty);
}

/// Which heads --align and --trace show.
void settle_heads(Options& o, const Seq2Seq& model) {
  if (!o.translate.looks()) return;
  if (model.attention_layers() == 0) {
    throw Error(Error::Kind::usage, o.translate.show == Show::align ? "--align" : "--trace",
                "this model has no attention: its decoder sees one vector of the source");
  }
  o.translate.layers = parse_numbers(o.layers, "layers", "layer", 1, model.attention_layers());
  o.translate.heads = parse_numbers(o.heads, "heads", "head", 1, model.attention_heads());
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{
      "Translate texts, or sum them up, by an encoder-decoder model: Marian, BART, mBART, PEGASUS, "
      "M2M100, NLLB, T5, bert2bert or one of train-seq2seq."};
  app.footer("translate -m ./marian text.txt");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, task_spec(TaskKind::translation));
  Options options;
  add(app, options);
  add_languages(app, options);

  return tools::run(app, argc, argv, [&] {
    if (!options.translate.looks())
      tools::refuse_given(app, {"--layers", "--heads"}, "wants --align or --trace");
    if (options.translate.beam == 1 && options.translate.top_k < 2)
      tools::refuse_given(app, {"--length-penalty"}, "wants a --beam of several hypotheses");
    const OpenedTranslator opened(models.request());
    settle_heads(options, opened.model());
    TranslateOptions& translate = options.translate;
    translate.forced = !options.force.empty();
    translate.languages_field = !options.languages.empty();
    if (app.get_option("--top-k")->count() > 0) translate.show = Show::best;
    TaskOptions task = task_options(opened);
    using Per = tools::RowShape::Per;
    const bool fields = translate.forced || translate.languages_field;
    if (fields) rows.annotate("1", translate.forced && translate.show == Show::text);
    rows.fill(task, {translate.show == Show::text ? Per::one : Per::several});
    rows.stream().want_field("force", options.force);
    rows.stream().want_field("lang_field", options.languages);
    rows.stream().chunk_records = translate.looks() ? 1 : 128;
    rows.stream().chunk_bytes = 32 << 10;
    rows.stream().output_names = translate.columns();
    return rows.run([&] {
      return std::make_unique<TranslateWorker>(opened.tokenizers(), opened.model(), translate,
                                               task);
    });
  });
}
