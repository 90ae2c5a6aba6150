// embed - turn each line of text into a vector. See man/embed.1.
#include "common/embedder.h"
#include "common/npy_output.h"
#include "common/options.h"
#include "common/run.h"

using namespace bert;

namespace {

struct Options {
  tools::VectorOptions vector;
  std::string prompt, prompt_name;
  bool normalize = false, words = false, compare = false;
  size_t rows = 0;
  VectorFormat format = VectorFormat::tsv;
};

void add(tools::Command& app, Options& o) {
  tools::add_vector_options(app, o.vector);
  app.add({"--words", "write one row per word, the mean of its pieces"}, o.words);
  app.add({"--normalize", "scale each vector to length 1"}, o.normalize);
  app.add({"--compare", "write the cosine of the texts in two fields"}, o.compare);
  app.add({"--prompt", "text put before every record", tools::text("TEXT")}, o.prompt);
  app.add({"--prompt-name", "one of the model's own prompts", tools::text("NAME")}, o.prompt_name)
      ->excludes(app.get_option("--prompt"));
  app.add<VectorFormat>(
      {"--format", "output format"}, o.format,
      {{"tsv", VectorFormat::tsv}, {"npy", VectorFormat::npy}, {"f32", VectorFormat::f32}});
  app.add({"--rows", "number of rows, for npy written to a pipe", tools::positive()}, o.rows);
}

[[noreturn]] void refuse(const char* option, const std::string& what) {
  throw Error(Error::Kind::usage, option, what);
}

EmbedPlan make_plan(const tools::Embedder& embedder, const Options& o) {
  EmbedPlan plan = embedder.plan(o.vector, o.words ? "none" : "");
  plan.words = o.words;
  plan.compare = o.compare;
  plan.format = o.format;
  plan.normalize_cut = o.normalize;
  if (plan.compare && (plan.per_token || o.format != VectorFormat::tsv))
    refuse("--compare", "gives one number per pair: not with --words, --pool none or --format");
  if (o.rows > 0 && o.format != VectorFormat::npy) refuse("--rows", "wants --format npy");
  plan.prompt = o.prompt.empty() ? embedder.modules().prompt(o.prompt_name) : o.prompt;
  return plan;
}

/// Column names for --header; binary formats have none.
std::vector<std::string> column_names(const EmbedPlan& plan) {
  if (plan.format != VectorFormat::tsv) return {};
  if (plan.compare) return {"cosine"};
  std::vector<std::string> names;
  if (plan.per_token) names = {"index", "token"};
  for (size_t i = 1; i <= plan.width(); ++i) names.push_back("v" + std::to_string(i));
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Turn each line of text into a vector."};
  app.footer("printf 'a cat on a mat\\tthe cat sat\\n' | embed --compare");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    tools::Embedder embedder(models);
    const EmbedPlan plan = make_plan(embedder, options);
    TaskOptions task = embedder.task();
    tools::RowShape shape;
    if (plan.per_token) shape.record = tools::RowShape::Per::several;
    if (plan.format != VectorFormat::tsv) shape.binary_width = plan.width();
    rows.fill(task, shape);

    rows.stream().texts = options.compare ? 2 : 1;
    rows.stream().output_names = column_names(plan);
    std::optional<tools::NpyOutput> npy;
    if (plan.format == VectorFormat::npy) npy.emplace(options.rows, plan.width());
    const int status = rows.run([&] { return embedder.make_worker(plan, task); });
    if (npy) npy->finish(rows.counts().bytes / (plan.width() * sizeof(float)));
    return status;
  });
}
