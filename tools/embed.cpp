// embed - turn each line of text into a vector. See man/embed.1.
#include "tasks/embed.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/options.h"
#include "common/run.h"
#include "io/npy.h"

using namespace bert;

namespace {

struct Options {
  std::string pool, layers, prompt, prompt_name;
  bool normalize = false, words = false, compare = false;
  size_t dims = 0, rows = 0;
  VectorFormat format = VectorFormat::tsv;
};

void add(CLI::App& app, Options& o) {
  app.add_option("--pool", o.pool,
                 "cls, mean, max, sum, ..., pooler, or none for one row per token (default: the "
                 "model's own)")
      ->type_name("MODE");
  app.add_option("--layers", o.layers,
                 "0, 12, -2, sum:9-12, mean:9-12, concat:9-12, word or onehot (default: -1)")
      ->type_name("EXPR");
  app.add_flag("--words", o.words, "one row per word, the mean of its pieces");
  app.add_flag("--normalize", o.normalize, "scale each vector to length 1");
  app.add_option("--dims", o.dims, "keep the first N numbers")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--compare", o.compare, "cosine of the texts in two fields");
  app.add_option("--prompt", o.prompt, "text put before every record")->type_name("TEXT");
  app.add_option("--prompt-name", o.prompt_name, "one of the model's own prompts")
      ->type_name("NAME");
  tools::add_choice<VectorFormat>(
      app, "--format", o.format,
      {{"tsv", VectorFormat::tsv}, {"npy", VectorFormat::npy}, {"f32", VectorFormat::f32}},
      "output");
  app.add_option("--rows", o.rows, "number of rows of an npy file written to a pipe")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

EmbedPlan make_plan(const Model& model, const SentenceModules& modules, const Options& o) {
  EmbedPlan plan = EmbedPlan::make(model, modules, o.words ? "none" : o.pool, o.layers);
  plan.words = o.words;
  plan.compare = o.compare;
  plan.dims = o.dims;
  plan.normalize |= o.normalize;
  plan.format = o.format;
  const std::string& name = o.prompt_name.empty() ? modules.default_prompt_name : o.prompt_name;
  plan.prompt = o.prompt;
  if (o.prompt.empty() && !name.empty()) {
    const auto prompt = modules.prompts.find(name);
    if (prompt == modules.prompts.end()) {
      throw Error(Error::Kind::usage, "--prompt-name",
                  "the model has no prompt '" + printable(name) + "'");
    }
    plan.prompt = prompt->second;
  }
  return plan;
}

/// An npy file begins with its size: known beforehand, or patched when the output is a file.
class NpyHeader {
 public:
  NpyHeader(const Options& o, size_t columns) : columns_(columns), rows_(o.rows) {
    begin_ = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (begin_ < 0 && rows_ == 0) {
      throw Error(Error::Kind::usage, "--format npy", "writing to a pipe wants --rows N");
    }
    tools::print(npy_header(rows_, columns_));
  }
  void finish(uint64_t rows) const {
    if (rows == rows_) return;
    const std::string header = npy_header(rows, columns_);
    if (rows_ != 0 || pwrite(STDOUT_FILENO, header.data(), header.size(), begin_) != 128) {
      throw Error(Error::Kind::data, "--rows",
                  fmt::format("found {} vectors, wants {}", rows, rows_));
    }
  }

 private:
  size_t columns_, rows_;
  off_t begin_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Turn each line of text into a vector."};
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const SentenceModules modules = SentenceModules::open(models.directory());
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model();
    const EmbedPlan plan = make_plan(model, modules, options);
    const DenseModules dense(plan.dense);
    TaskOptions task;
    models.fill(task, tokenizer, model, modules.max_seq_length);
    rows.fill(task);

    rows.stream().texts = options.compare ? 2 : 1;
    for (size_t i = 1; i <= plan.width(model) && !plan.compare; ++i) {
      rows.stream().output_names.push_back("v" + std::to_string(i));
    }
    if (plan.compare) rows.stream().output_names = {"cosine"};
    std::optional<NpyHeader> npy;
    if (plan.format == VectorFormat::npy) npy.emplace(options, plan.width(model));
    const int status = rows.run(
        [&] { return std::make_unique<EmbedWorker>(tokenizer, model, dense, plan, task); });
    if (npy) npy->finish(rows.counts().answers);
    return status;
  });
}
