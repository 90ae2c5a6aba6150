// nearest - find the lines that mean nearly the same. See man/nearest.1.
#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "nearest/run.h"

using namespace bert;

namespace {

using Mode = NearestOptions::Mode;

struct Options {
  NearestOptions nearest;
  std::optional<double> groups, unique;
  bool pairs = false;
  tools::RankReport report;
  CLI::Option *text = nullptr, *queries = nullptr, *query_vectors = nullptr;
};

void add_modes(tools::Command& app, Options& o) {
  const tools::Value cosine = tools::real(0.0, 1.0, "T");
  o.text = app.add({"-q,--query-text", "write the records nearest to this text, best first",
                    tools::text("TEXT")},
                   o.nearest.text);
  o.queries =
      app.add({"--query", "write the records nearest to each record of FILE Q", tools::text("Q")},
              o.nearest.queries);
  o.query_vectors =
      app.add({"--query-vectors", "the same for vectors of a file", tools::text("FILE")},
              o.nearest.query_vectors);
  app.add({"--query-fields", "the field of Q that holds the query (default: the whole line)",
           tools::column()},
          o.nearest.query_fields);
  app.add({"--pairs", "write the pairs of records with a cosine of at least --threshold"}, o.pairs);
  app.add({"--groups", "write the group of each record: groups of cosines of at least T", cosine},
          o.groups);
  app.add({"--unique", "write the lines that are the first of their group", cosine}, o.unique);
}

void add_values(tools::Command& app, Options& o) {
  NearestOptions& n = o.nearest;
  app.add(
      {"-k,--top-k", "the K nearest of each query (default: 10)", tools::whole(1, 1 << 20, "K")},
      n.top_k);
  app.add({"--threshold", "only scores of at least T", tools::real("T")}, n.threshold);
  app.add({"--vectors", "the records' vectors, in place of their texts: npy, or see --format",
           tools::text("FILE")},
          n.vectors);
  app.add<DType>({"--format", "what a file of vectors holds that is no npy"}, n.raw.type,
                 {{"f32", DType::f32}, {"i8", DType::i8}, {"bits", DType::u8}});
  app.add({"--width", "the numbers of a vector in such a file", tools::whole(1, 1 << 24, "D")},
          n.raw.width);
  app.add({"--index", "search approximately with this index of --vectors; built if it is missing",
           tools::text("FILE")},
          n.index);
  app.add({"--exact", "an index whose rows are those of a search without it"}, n.exact);
  app.add<std::optional<Similarity>>(
      {"--similarity", "how queries and records are compared (default: the model's, else cosine)"},
      n.similarity, {{"cosine", Similarity::cosine}, {"dot", Similarity::dot}});
  app.add({"--query-prompt", "text put before each query (default: the model's)",
           tools::text("TEXT")},
          n.query_prompt)
      .may_be_empty();
  app.add({"--prompt", "text put before each record (default: the model's)", tools::text("TEXT")},
          n.prompt)
      .may_be_empty();
  auto gold =
      app.add({"--gold", "file of judgments, QUERY 0 RECORD RELEVANCE: report nDCG, MRR, MAP",
               tools::text("QRELS")},
              n.gold)
          .same_rows();
  o.report.add(app, gold);
}

[[noreturn]] void refuse(const char* option, const char* what) {
  throw Error(Error::Kind::usage, option, what);
}

/// Sets the mode, and refuses options that it does not read.
void choose_mode(tools::Command& app, Options& o) {
  const bool searches_files = o.queries->count() + o.query_vectors->count() > 0;
  const int modes = int{o.text->count() > 0} + int{searches_files} + int{o.pairs} +
                    int{o.groups.has_value()} + int{o.unique.has_value()};
  if (modes != 1 || o.queries->count() + o.query_vectors->count() > 1)
    refuse("", "wants just one of -q, --query, --query-vectors, --pairs, --groups, --unique");
  NearestOptions& n = o.nearest;
  n.mode = o.pairs          ? Mode::pairs
           : o.groups       ? Mode::groups
           : o.unique       ? Mode::unique
           : searches_files ? Mode::queries
                            : Mode::text;
  if (!n.query_fields.empty() && n.queries.empty()) refuse("--query-fields", "wants --query");
  const bool searches = n.mode == Mode::text || n.mode == Mode::queries;
  if (!searches)
    tools::refuse_given(
        app, {"--top-k", "--similarity", "--query-prompt", "--index", "--exact", "--gold"},
        "wants -q or --query");
  const bool queries_are_vectors = !n.query_vectors.empty();
  if (n.vectors.empty() && !queries_are_vectors)
    tools::refuse_given(app, {"--format", "--width"}, "wants --vectors or --query-vectors");
  if (queries_are_vectors) tools::refuse_given(app, {"--query-prompt"}, "not with --query-vectors");
  if (!n.vectors.empty()) tools::refuse_given(app, {"--prompt"}, "not with --vectors");
  if (!n.vectors.empty() && (!searches || queries_are_vectors)) {
    tools::refuse_given(app,
                        {"--strict", "--literal", "--head", "--ablate", "--max-seq-length",
                         "--overflow", "--truncation-side", "--stride", "--dtype", "--model"},
                        "no text goes through a model here");
  }
  if (!n.vectors.empty() && app.count("FILE") == 0)
    tools::refuse_given(app, {"--fields"}, "wants FILE, whose lines are written");
  if (o.pairs && !n.threshold) refuse("--pairs", "wants --threshold, for example 0.8");
  if ((o.groups || o.unique) && n.threshold) refuse("--threshold", "not with --groups or --unique");
  if (!searches) n.threshold = o.groups ? o.groups : o.unique ? o.unique : n.threshold;
  if (!searches && !(*n.threshold > 0))
    refuse(o.pairs ? "--threshold" : o.groups ? "--groups" : "--unique", "wants more than 0");
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Find the lines that mean nearly the same."};
  app.footer("nearest -q 'a cat on a mat' text.txt");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 1, "--quiet");
  tools::ModelOptions models(app, task_spec(TaskKind::feature_extraction));
  Options options;
  add_modes(app, options);
  add_values(app, options);
  rows.add_search(app, options.text);

  return tools::run(app, argc, argv, [&] {
    choose_mode(app, options);
    return tools::run_nearest(options.nearest, rows, models, options.report);
  });
}
