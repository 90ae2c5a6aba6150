// embed - turn each line of text into a vector. See man/embed.1.
#include <optional>

#include "common/model_options.h"
#include "common/npy_output.h"
#include "common/row_options.h"
#include "common/run.h"
#include "embed/bert_score.h"
#include "embed/options.h"
#include "io/output_file.h"
#include "pipeline/intake.h"
#include "predict/sparse_model.h"
#include "predict/sparse_table.h"
#include "rows/sparse.h"
#include "rows/text_vectors.h"

using namespace bert;

namespace {

/// Writes the file of --learn-whitening. The vectors come in the order of their records, so the
/// file is the same for any number of threads.
int learn(Embedder& embedder, VectorPlan plan, const tools::EmbedOptions& o,
          tools::RowOptions& rows) {
  plan.dims = 0;
  plan.normalize_cut = false;
  OutputFile file(o.learn);
  TaskOptions task = task_options(embedder.model(), embedder.reading(*o.prompt));
  rows.fill(task, {tools::RowShape::Per::none});
  WhiteningSum sum(plan.width());
  OrderedVectors vectors;
  rows.stream().write_job = [&](const Job& job) {
    vectors.take(job.records, [&](std::span<const float> vector) { sum.add(vector); });
  };
  const int status = rows.run([&] {
    return std::make_unique<TextVectorWorker>(
        embedder.predictor(plan), task,
        [&](auto records, ConstMatrix found) { vectors.add(records, found); });
  });
  sum.solve(o.vector.dims > 0 ? o.vector.dims : plan.width()).save(file);
  return status;
}

int write(Embedder& embedder, const VectorPlan& plan, const tools::EmbedOptions& o,
          tools::RowOptions& rows) {
  const VectorFormat format = o.shape.format;
  TaskOptions task = task_options(embedder.model(), embedder.reading(*o.prompt));
  tools::RowShape shape;
  if (plan.per_token || o.shape.of == EmbedRows::Of::spans)
    shape.record = tools::RowShape::Per::several;
  if (format != VectorFormat::tsv) shape.bad_row = bad_vector(format, plan.width());
  rows.fill(task, shape);
  if (format == VectorFormat::bits && rows.stream().skip_bad)
    throw Error(Error::Kind::usage, "--skip-bad",
                "not with --format bits: no bits stand for a bad record");
  rows.stream().output_names = o.shape.columns(plan);
  std::optional<tools::NpyOutput> npy;
  if (const std::string type(npy_type(format)); !type.empty()) {
    npy.emplace(o.rows, npy_columns(format, plan.width()), type);
  }
  ValueMetrics metrics;
  SimilaritySink sink;
  tools::MakeReport report;
  if (!o.gold.empty()) {
    sink = tools::gold_sink(metrics, 0);
    report = tools::report_of(metrics);
    rows.stream().want_truth("gold", o.gold);
  }
  const int status = o.report.run(
      rows, [&] { return EmbedWorker::make(embedder.predictor(plan), o.shape, task, sink); },
      report);
  if (npy) npy->finish(rows.counts().bytes);
  return status;
}

/// --sparse of a table that has a weight for each token, without layers.
int write_table(const TaskRequest& request, const std::string& folder, SparsePlan plan,
                tools::RowOptions& rows) {
  const Tokenizer tokenizer = open_tokenizer(request);
  const SparseTable table = SparseTable::open(folder, tokenizer);
  TaskOptions task = task_options(request, SparseTable::reading(request, tokenizer));
  rows.fill(task);
  rows.stream().output_names = names_of<SparseRow>();
  return rows.run([&] {
    return std::make_unique<SparseWorker>(tokenizer, std::make_unique<SparseTablePredictor>(table),
                                          plan, task);
  });
}

/// --sparse: vectors of a masked LM head, or of a layer that weighs tokens (BGE-M3).
int write_sparse(const tools::ModelOptions& models, const tools::EmbedOptions& o,
                 tools::RowOptions& rows) {
  TaskRequest request = models.request();
  request.directory = request.directory.route(o.prompt_name);
  request.task.head = SparseModel::head_of(request.directory);
  const SentenceModules modules = SentenceModules::open(request.directory);
  SparsePlan plan;
  plan.top_k = o.top_k;
  plan.ids = o.ids;
  plan.prompt = o.prompt ? *o.prompt : modules.prompt(o.prompt_name);
  if (modules.sparse_folder) return write_table(request, *modules.sparse_folder, plan, rows);
  const OpenedModel opened(request);
  modules.check_case(opened.tokenizer().lowercase());
  modules.check_length(opened.tokenizer().added_tokens_single());
  const auto vectors = SparseModel::open(opened, modules);
  TaskOptions task = task_options(opened, opened.reading(ModuleLimit::of(modules)));
  rows.fill(task);
  rows.stream().output_names = names_of<SparseRow>();
  return rows.run([&] {
    return std::make_unique<SparseWorker>(opened.tokenizer(), vectors.make(task.max_batch_tokens),
                                          plan, task);
  });
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Turn each line of text into a vector."};
  app.footer("printf 'a cat on a mat\\tthe cat sat\\n' | embed --compare");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, task_spec(TaskKind::feature_extraction));
  tools::EmbedOptions options;
  tools::add_embed_options(app, options);

  return tools::run(app, argc, argv, [&] {
    if (options.sparse) return write_sparse(models, options, rows);
    if (!options.spans.empty()) {
      models.prefer_overflow(Overflow::window);
      rows.annotate("2", false);
      rows.stream().want_field("spans", options.spans);
    }
    if (!options.whiten.empty()) rows.decide_by(options.whiten);
    TaskRequest request = models.request();
    request.directory = request.directory.route(options.prompt_name);
    SentenceModules modules = SentenceModules::open(request.directory);
    if (modules.sparse_folder) {
      throw Error(Error::Kind::unsupported, *modules.sparse_folder,
                  "its vectors are sparse (SparseStaticEmbedding): `sparse` writes them");
    }
    const OpenedModel opened(request, ModelsTaken::any);
    Embedder embedder(opened, std::move(modules));
    const VectorPlan plan = tools::make_plan(app, embedder, options);
    rows.stream().texts = options.compare ? 2 : 1;
    if (options.score == tools::EmbedOptions::Score::bert_score)
      return tools::write_bert_score(embedder, plan, options, rows);
    return options.learn.empty() ? write(embedder, plan, options, rows)
                                 : learn(embedder, plan, options, rows);
  });
}
