// attention-pool - attention of any queries over any keys and values. See man/attention-pool.1.
#include "attention_pool/pool_task.h"
#include "common/npy_output.h"
#include "common/row_options.h"
#include "common/run.h"
#include "rows/vector_format.h"

using namespace bert;

namespace {

struct Options {
  PoolOptions pool;
  bool weights = false, trace = false;
  VectorFormat format = VectorFormat::tsv;
  size_t rows = 0;
};

void add_inputs(tools::Command& app, PoolOptions& o) {
  const auto file = [&](const char* names, const char* meaning, std::string& path) {
    return app.add({names, meaning, tools::text("FILE")}, path).same_rows();
  };
  file("-K,--keys", "the keys, one row of numbers each: TSV or npy", o.keys)->required();
  file("-V,--values", "the values, one for each key (default: the keys)", o.values);
  app.add<std::optional<nn::Score>>({"--score", "how well query and key fit (default: scaled-dot)"},
                                    o.score,
                                    {{"dot", nn::Score::dot},
                                     {"scaled-dot", nn::Score::scaled_dot},
                                     {"additive", nn::Score::additive},
                                     {"concat", nn::Score::concat},
                                     {"perceptron", nn::Score::perceptron},
                                     {"gauss", nn::Score::gauss}});
  app.add({"--width", "width of gauss (default: 1)", tools::real()}, o.width);
  file("--params", "parameters: a safetensors file; with --learn, the file to write", o.params);
  app.add({"--heads", "heads, which share the columns (default: 1)", tools::positive("H")},
          o.heads);
  app.add({"--causal", "query i sees only keys 1 to i"}, o.causal);
  app.add({"--leave-one-out", "query i does not see key i"}, o.leave_one_out);
  app.add<bool>({"--positions", "add sinusoids to queries, keys and values that are keys"},
                o.positions, {{"none", false}, {"sin", true}});
  file("--learn", "fit the parameters to these outputs, one row for each query", o.learn);
  app.add({"--fit", "parameters to fit (default: the score's)", tools::text("W_q,W_k,..")}, o.fit);
  app.add({"--hidden", "size of queries and keys after W_q and W_k (default: the keys')",
           tools::whole(1, 1 << 20)},
          o.hidden);
  file("--start", "parameters to start from", o.start);
  app.add({"--seed", "seed of the parameters at the start (default: 1)", tools::whole()}, o.seed);
  app.add({"--steps", "most steps of L-BFGS (default: 1000)", tools::whole()}, o.max_steps);
}

void add_rows(tools::Command& app, Options& o) {
  auto weights = app.add({"--weights", "write the weights instead of the outputs"}, o.weights);
  auto trace = app.add({"--trace", "write each stage of the computation"}, o.trace);
  auto given =
      app.add({"--given", "the weights, instead of queries", tools::text("A,B,..")}, o.pool.given);
  weights->excludes(trace)->excludes(given);
  trace->excludes(given);
  auto format = app.add<VectorFormat>(
      {"--format", "output format"}, o.format,
      {{"tsv", VectorFormat::tsv}, {"npy", VectorFormat::npy}, {"f32", VectorFormat::f32}});
  format->excludes(weights)->excludes(trace);
  app.add({"--rows", "number of rows, for npy written to a pipe", tools::positive()}, o.rows);
}

/// Refuses options that change nothing beside the others.
void refuse_unread(const tools::Command& app, const Options& o) {
  const bool learns = !o.pool.learn.empty();
  if (!learns)
    tools::refuse_given(app, {"--fit", "--hidden", "--start", "--seed", "--steps"},
                        "wants --learn");
  if (learns || !o.pool.given.empty())
    tools::refuse_given(app, {"--keep"}, "these rows have no input line");
  if (o.format != VectorFormat::npy) tools::refuse_given(app, {"--rows"}, "wants --format npy");
  if (!o.pool.given.empty() && !learns)
    tools::refuse_given(app,
                        {"FILE", "--score", "--width", "--heads", "--causal", "--leave-one-out"},
                        "not with --given, which is all weights");
}

int write(const PoolTask& task, const Options& o, tools::RowOptions& rows) {
  const size_t width = task.pool().sizes().output;
  PoolRowOptions row;
  row.rows = o.trace ? PoolRows::stages : o.weights ? PoolRows::weights : PoolRows::outputs;
  row.binary = o.format != VectorFormat::tsv;
  tools::RowShape shape;
  shape.line = task.streams();
  if (row.binary) shape.bad_row = bad_vector(o.format, width);
  if (o.trace || (o.weights && task.pool().form().heads > 1)) {
    shape.record = tools::RowShape::Per::several;
  }
  TaskOptions shared;
  rows.fill(shared, shape);
  row.number = shared.number;
  row.keep_line = shared.keep_line;
  row.json = shared.json;
  row.terminator = rows.terminator();
  std::optional<tools::NpyOutput> npy;
  if (o.format == VectorFormat::npy) {
    npy.emplace(o.rows > 0 ? o.rows : task.rows(), width, std::string(npy_type(o.format)));
  }
  StreamOptions& stream = rows.stream();
  stream.files = task.files();
  if (!row.binary) stream.output_names = task.columns(row.rows);
  stream.chunk_records = 64;  // with many numbers each
  stream.chunk_bytes = size_t{1} << 20;
  const int status = task.streams()
                         ? rows.run([&] { return std::make_unique<PoolWorker>(task.pool(), row); })
                         : rows.run_all([&](const auto& out) { return task.write(row, out); });
  if (npy) npy->finish(rows.counts().bytes);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Attention of queries over keys and values that are rows of numbers."};
  app.footer("printf '0\\n1\\n2\\n' >x && echo 1 | attention-pool --score gauss -K x --weights");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer, 0);
  Options options;
  add_inputs(app, options.pool);
  add_rows(app, options);

  return tools::run(app, argc, argv, [&] {
    refuse_unread(app, options);
    PoolOptions& pool = options.pool;
    pool.queries = rows.stream().files;
    pool.lines = {rows.stream().header, rows.stream().jobs};
    pool.on_notice = tools::notice;
    // Rows of these depend on the place of their query, or on all of them.
    const bool placed = pool.causal || pool.leave_one_out || pool.positions;
    if (placed || !pool.learn.empty()) tools::refuse_memo();
    for (const std::string& file : {pool.keys, pool.values, pool.params, pool.learn, pool.start})
      rows.decide_by(file);
    return write(PoolTask(pool), options, rows);
  });
}
