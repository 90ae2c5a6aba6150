#include "embed/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"

namespace bert::tools {
namespace {

[[noreturn]] void refuse(const char* option, const std::string& what) {
  throw Error(Error::Kind::usage, option, what);
}

using Of = EmbedRows::Of;

void check(const VectorPlan& plan, const EmbedOptions& o, const Embedder& embedder) {
  const VectorFormat format = o.shape.format;
  const bool compare = o.compare, spans = !o.spans.empty();
  const bool whole = plan.per_token || plan.pooler || plan.attentive ||
                     std::count(plan.poolings.begin(), plan.poolings.end(), Pooling::cls) > 0;
  const bool npy = !npy_type(format).empty();
  const bool tokens = plan.per_token && o.score == EmbedOptions::Score::cosine;
  if (compare && (tokens || spans || format != VectorFormat::tsv))
    refuse("--compare",
           "gives one number per pair: not with --words, --pool none, --spans or --format");
  if (plan.no_special && (whole || embedder.model().fixed()))
    refuse("--no-special", "wants a pooling of tokens of a model with layers, such as --pool mean");
  if (o.rows > 0 && !npy) refuse("--rows", "wants --format npy, i8 or bits");
  if (o.shape.scale && format != VectorFormat::i8) refuse("--scale", "wants --format i8");
  if (format == VectorFormat::bits && plan.width() % 8 > 0)
    refuse("--format", fmt::format("bits: found {} numbers, wants a multiple of 8", plan.width()));
  if (o.normalize &&
      (format == VectorFormat::bits || (format == VectorFormat::i8 && !o.shape.scale)))
    refuse("--normalize", "changes nothing with --format bits, or i8 without --scale");
  if (spans && plan.no_special) refuse("--no-special", "no span holds a special token");
  if (spans && whole) refuse("--spans", "wants a pooling of tokens, such as --pool mean");
  if (!o.learn.empty() && (plan.per_token || compare || spans))
    refuse("--learn-whitening", "not with --words, --pool none, --spans or --compare");
  if (!plan.whitening) return;
  if (plan.whitening->input_width() != plan.own_width())
    throw Error(Error::Kind::data, o.whiten,
                fmt::format("is for vectors of {} numbers, found {}", plan.whitening->input_width(),
                            plan.own_width()));
  if (o.vector.dims > plan.whitening->width())
    refuse("--dims", fmt::format("found {}, wants at most {}, the columns of --whiten",
                                 o.vector.dims, plan.whitening->width()));
}

void add_sparse_options(Command& app, EmbedOptions& o) {
  const Declared sparse =
      app.add({"--sparse", "write the weights of vocabulary entries (SPLADE)"}, o.sparse);
  for (const char* other :
       {"--pool", "--layers", "--dims", "--no-special", "--words", "--normalize", "--compare",
        "--format", "--scale", "--rows", "--spans", "--whiten", "--learn-whitening"}) {
    sparse->excludes(app.get_option(other));
  }
  app.add({"-k,--top-k", "sparse: the K largest weights", positive("K")}, o.top_k)
      .shown_as("-k")
      ->needs(sparse);
  app.add({"--ids", "sparse: write ids in place of tokens"}, o.ids)->needs(sparse);
}

void add_compare_options(Command& app, EmbedOptions& o) {
  const Declared compare =
      app.add({"--compare", "write how alike the texts in two fields are"}, o.compare);
  compare->excludes(app.get_option("--normalize"));
  app.add<EmbedOptions::Score>(
         {"--score", "compare: the cosine of the vectors, or BERTScore"}, o.score,
         {{"cosine", EmbedOptions::Score::cosine}, {"bertscore", EmbedOptions::Score::bert_score}})
      ->needs(compare);
  app.add({"--idf", "bertscore: weigh tokens by how rare they are in the references"}, o.idf)
      ->needs(compare);
  app.add({"--baseline", "bertscore: rescale by this file's line of the layer", text("FILE")},
          o.baseline)
      ->needs(compare);
  auto gold =
      app.add({"--gold", "field with the true value: report the correlations", column()}, o.gold);
  gold->needs(compare);
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
}

/// Completes the choice of vectors for BERTScore: those of all tokens.
void choose_tokens(const Command& app, EmbedOptions& o) {
  if (o.score != EmbedOptions::Score::bert_score)
    return refuse_given(app, {"--idf", "--baseline"}, "wants --score bertscore");
  refuse_given(app,
               {"--pool", "--words", "--dims", "--no-special", "--spans", "--whiten",
                "--learn-whitening", "--format", "--prompt", "--prompt-name"},
               "not with --score bertscore");
  o.vector.pool = "none";
  if (o.vector.layers.empty()) o.vector.layers = "-1";
  o.prompt = "";
}

/// Which vector of a text.
void add_vector_options(Command& app, VectorChoice& v) {
  app.add(
      {"--pool", "cls, mean, max, ..., pooler; none: a row per token (default: the model's own)",
       text("MODE")},
      v.pool);
  app.add({"--layers", "12, -2, sum:9-12, mean:9=1,12=3, concat:9-12, word or onehot (default: -1)",
           text("EXPR")},
          v.layers);
  app.add({"--dims", "keep the first N numbers", positive()}, v.dims);
}

}  // namespace

void add_embed_options(Command& app, EmbedOptions& o) {
  add_vector_options(app, o.vector);
  app.add({"--no-special", "pool without [CLS] and [SEP]"}, o.no_special);
  app.add({"--words", "write one row per word, the mean of its pieces"}, o.vector.words)
      ->excludes(app.get_option("--pool"));
  const Declared normalize = app.add({"--normalize", "scale each vector to length 1"}, o.normalize);
  add_compare_options(app, o);
  app.add({"--prompt", "text put before every record", text("TEXT")}, o.prompt).may_be_empty();
  app.add({"--prompt-name", "one of the model's own prompts", text("NAME")}, o.prompt_name)
      ->excludes(app.get_option("--prompt"));
  app.add<VectorFormat>({"--format", "output format"}, o.shape.format,
                        {{"tsv", VectorFormat::tsv},
                         {"npy", VectorFormat::npy},
                         {"f32", VectorFormat::f32},
                         {"i8", VectorFormat::i8},
                         {"bits", VectorFormat::bits}});
  app.add(
      {"--scale", "i8: a number times this (default: 127 / the vector's largest)", real(1e-9, 1e9)},
      o.shape.scale);
  app.add({"--rows", "number of rows, for npy, i8 and bits written to a pipe", positive()}, o.rows);
  app.add({"--spans", "a row per byte span in a field, as in 0-12 12-30", column()}, o.spans);
  const Declared whiten =
      app.add({"--whiten", "make the numbers independent by this file", text("FILE")}, o.whiten)
          .same_rows();
  app.add({"--learn-whitening", "write such a file, and no rows", text("FILE")}, o.learn)
      ->excludes(whiten)
      ->excludes(normalize)
      ->excludes(app.get_option("--json"))
      ->excludes(app.get_option("--number"))
      ->excludes(app.get_option("--format"));
  add_sparse_options(app, o);
}

SimilaritySink gold_sink(ValueMetrics& metrics, size_t field) {
  return [&metrics, field](const Record& record, double similarity) {
    const auto value = to_number<double>(record.extra[field]);
    if (!value) {
      record.fail(Error::Kind::data, fmt::format("found the gold value '{}', wants a number",
                                                 printable(record.extra[field])));
    }
    metrics.add(record.number, *value, similarity);
  };
}

VectorPlan make_plan(const Command& app, Embedder& embedder, EmbedOptions& o) {
  choose_tokens(app, o);
  VectorPlan plan = embedder.plan(o.vector);
  plan.no_special = o.no_special;
  plan.normalize_cut = o.normalize;
  if (!o.whiten.empty()) {
    plan.whitening = std::make_shared<const Whitening>(Whitening::open(o.whiten));
  }
  if (!o.prompt) {
    o.prompt = o.prompt_name.empty() ? embedder.prompt() : embedder.modules().prompt(o.prompt_name);
  }
  check(plan, o, embedder);
  o.shape.of = !o.spans.empty() ? Of::spans
               : o.vector.words ? Of::words
               : plan.per_token ? Of::tokens
               : o.compare      ? Of::pair
                                : Of::text;
  return plan;
}

}  // namespace bert::tools
