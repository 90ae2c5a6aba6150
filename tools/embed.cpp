// embed - turn each line of text into a vector. See man/embed.1.
#include <cstring>

#include "common/embed_options.h"
#include "common/npy_output.h"
#include "common/options.h"
#include "common/run.h"
#include "common/sparse_run.h"
#include "io/output_file.h"

using namespace bert;

namespace {

/// Writes the file of --learn-whitening. The vectors come in the order of their records, so the
/// file is the same for any number of threads.
int learn(tools::Embedder& embedder, EmbedPlan plan, const tools::EmbedOptions& o,
          tools::RowOptions& rows) {
  plan.format = VectorFormat::f32;
  plan.dims = 0;
  plan.normalize_cut = false;
  const size_t width = plan.width();
  OutputFile file(o.learn);
  TaskOptions task = embedder.task();
  rows.fill(task, {tools::RowShape::Per::none});
  WhiteningSum sum(width);
  std::vector<float> vector(width);
  rows.stream().write = [&](std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(width * sizeof(float))) {
      std::memcpy(vector.data(), bytes.data(), width * sizeof(float));
      sum.add(vector);
    }
  };
  const int status = rows.run([&] { return embedder.make_worker(plan, task); });
  sum.solve(o.vector.dims > 0 ? o.vector.dims : width).save(file);
  return status;
}

int write(tools::Embedder& embedder, const EmbedPlan& plan, const tools::EmbedOptions& o,
          tools::RowOptions& rows) {
  TaskOptions task = embedder.task();
  tools::RowShape shape;
  if (plan.per_token || plan.spans) shape.record = tools::RowShape::Per::several;
  if (plan.format != VectorFormat::tsv) shape.bad_row = bad_vector(plan.format, plan.width());
  rows.fill(task, shape);
  if (plan.format == VectorFormat::bits && rows.stream().skip_bad)
    throw Error(Error::Kind::usage, "--skip-bad",
                "not with --format bits: no bits stand for a bad record");
  rows.stream().output_names = tools::column_names(plan);
  std::optional<tools::NpyOutput> npy;
  if (const std::string type(npy_type(plan.format)); !type.empty()) {
    npy.emplace(o.rows, npy_columns(plan.format, plan.width()), type);
  }
  const int status = rows.run([&] { return embedder.make_worker(plan, task); });
  if (npy) npy->finish(rows.counts().bytes);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Turn each line of text into a vector."};
  app.footer("printf 'a cat on a mat\\tthe cat sat\\n' | embed --compare");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, Overflow::cut);
  tools::EmbedOptions options;
  tools::add_embed_options(app, options);

  return tools::run(app, argc, argv, [&] {
    if (options.sparse) return tools::run_sparse(models, options, rows);
    if (!options.spans.empty()) {
      models.prefer_overflow(Overflow::window);
      rows.annotate("2", false);
      rows.stream().want_field("spans", options.spans);
    }
    if (!options.whiten.empty()) rows.decide_by(options.whiten);
    tools::Embedder embedder(models);
    const EmbedPlan plan = tools::make_plan(embedder, options);
    rows.stream().texts = options.compare ? 2 : 1;
    return options.learn.empty() ? write(embedder, plan, options, rows)
                                 : learn(embedder, plan, options, rows);
  });
}
