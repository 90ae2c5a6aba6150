// attention-pool - attention of any queries over any keys and values. See man/attention-pool.1.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "attention/learn.h"
#include "attention/number_file.h"
#include "attention/pool_worker.h"
#include "base/parse.h"
#include "common/npy_output.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/run.h"

using namespace bert;

namespace {

enum class Format { tsv, npy, f32 };
enum class Positions { none, sin };

struct Options {
  std::string keys, values, params, given, learn, fit;
  bool weights = false, trace = false;
  PoolForm form;
  Positions positions = Positions::none;
  std::optional<double> width;
  Format format = Format::tsv;
  size_t rows = 0;
  LearnOptions learning;
  std::string start;
  bool score_given = false, heads_given = false;
};

void add_form(tools::Command& app, Options& o, CLI::Option*& score, CLI::Option*& heads) {
  std::vector<std::pair<std::string, Score>> scores;
  for (const Score s : {Score::dot, Score::scaled_dot, Score::additive, Score::concat,
                        Score::perceptron, Score::gauss}) {
    scores.emplace_back(score_name(s), s);
  }
  score = app.add<Score>({"--score", "how well query and key fit (default: scaled-dot)"},
                         o.form.score, scores);
  app.add({"--width", "width of gauss (default: 1)", tools::real()}, o.width);
  app.add({"--params", "parameters: a safetensors file; with --learn, the file to write",
           tools::text("FILE")},
          o.params)
      .same_rows();
  heads = app.add({"--heads", "heads, which share the columns (default: 1)", tools::positive("H")},
                  o.form.heads);
  app.add({"--causal", "query i sees only keys 1 to i"}, o.form.causal);
  app.add({"--leave-one-out", "query i does not see key i"}, o.form.leave_one_out);
  app.add<Positions>({"--positions", "add sinusoids to queries, keys and values that are keys"},
                     o.positions, {{"none", Positions::none}, {"sin", Positions::sin}});
}

void add_learning(tools::Command& app, Options& o) {
  app.add({"--learn", "fit the parameters to these outputs, one row for each query",
           tools::text("TARGETS")},
          o.learn)
      .same_rows();
  app.add({"--fit", "names of the parameters to fit (default: those of the score)",
           tools::text("W_q,W_k,..")},
          o.fit)
      .of("fit");
  app.add({"--hidden", "size of queries and keys after W_q and W_k (default: the keys')",
           tools::whole(1, 1 << 20)},
          o.learning.hidden);
  app.add({"--start", "parameters to start from", tools::text("FILE")}, o.start).same_rows();
  app.add({"--seed", "seed of the parameters at the start (default: 1)", tools::whole()},
          o.learning.seed);
  app.add({"--steps", "most steps of L-BFGS (default: 1000)", tools::whole()},
          o.learning.max_steps);
}

void add_rows(tools::Command& app, Options& o) {
  auto weights = app.add({"--weights", "write the weights instead of the outputs"}, o.weights);
  auto trace = app.add({"--trace", "write each stage of the computation"}, o.trace);
  auto given =
      app.add({"--given", "the weights, instead of queries", tools::text("A,B,..")}, o.given);
  weights->excludes(trace)->excludes(given);
  trace->excludes(given);
  app.add<Format>({"--format", "output format"}, o.format,
                  {{"tsv", Format::tsv}, {"npy", Format::npy}, {"f32", Format::f32}});
  app.add({"--rows", "number of rows, for npy written to a pipe", tools::positive()}, o.rows);
}

[[noreturn]] void refuse(const char* option, const std::string& what) {
  throw Error(Error::Kind::usage, option, what);
}

void check(const Options& o) {
  if (o.width && o.form.score != Score::gauss) refuse("--width", "wants --score gauss");
  if (o.learn.empty()) {
    const std::pair<bool, const char*> of_learning[] = {{!o.fit.empty(), "--fit"},
                                                        {o.learning.hidden > 0, "--hidden"},
                                                        {!o.start.empty(), "--start"}};
    for (const auto& [found, option] : of_learning) {
      if (found) refuse(option, "wants --learn");
    }
  } else if (!o.given.empty()) {
    refuse("--given", "not with --learn: what is given is not learned");
  }
  if (o.format != Format::tsv && (o.weights || o.trace)) {
    refuse("--format", "not with --weights or --trace");
  }
  if (o.rows > 0 && o.format != Format::npy) refuse("--rows", "wants --format npy");
}

/// The parameters of a file, which may also name the score and the heads.
PoolParameters open_parameters(const std::string& path, Options& o) {
  PoolParameters parameters = PoolParameters::open(path);
  for (const Score s : {Score::dot, Score::scaled_dot, Score::additive, Score::concat,
                        Score::perceptron, Score::gauss}) {
    if (parameters.score() != score_name(s)) continue;
    if (!o.score_given) o.form.score = s;
    if (o.form.score == s) continue;
    throw Error(Error::Kind::data, path,
                fmt::format("was learned for --score {}, found {}", parameters.score(),
                            score_name(o.form.score)));
  }
  if (parameters.heads() > 0 && !o.heads_given) o.form.heads = parameters.heads();
  if (parameters.heads() > 0 && parameters.heads() != o.form.heads) {
    throw Error(
        Error::Kind::data, path,
        fmt::format("was learned for --heads {}, found {}", parameters.heads(), o.form.heads));
  }
  return parameters;
}

void set_width(PoolParameters& parameters, const Options& o) {
  if (!o.width) return;
  if (parameters.has("width")) refuse("--width", "the parameters have a width");
  parameters.add("width", 1, 1).values[0] = static_cast<float>(*o.width);
}

/// Whether no queries come: standard input is a terminal or the null device.
bool nothing_to_read() {
  struct stat status;
  return fstat(STDIN_FILENO, &status) != 0 || S_ISCHR(status.st_mode);
}

std::vector<std::string> column_names(const AttentionPool& pool, const Options& o) {
  if (o.format != Format::tsv || o.trace) return {};
  std::vector<std::string> names;
  if (o.weights && pool.form().heads > 1) names.push_back("head");
  const size_t count = o.weights ? pool.keys() : pool.sizes().output;
  for (size_t i = 1; i <= count; ++i) names.push_back((o.weights ? "w" : "v") + std::to_string(i));
  return names;
}

std::vector<float> read_given(const Options& o, size_t keys) {
  std::vector<float> weights;
  for (const std::string_view part : split(o.given, ',')) {
    try {
      read_numbers(part, weights);
    } catch (const Error&) {
      refuse("--given",
             fmt::format("found '{}', wants numbers, as in 0.1,0.3", printable(o.given)));
    }
  }
  if (weights.size() != keys) {
    refuse("--given", fmt::format("found {} weight{}, wants {}, the rows of {}", weights.size(),
                                  weights.size() == 1 ? "" : "s", keys, o.keys));
  }
  return weights;
}

class Run {
 public:
  Run(tools::RowOptions& rows, Options& o) : rows_(rows), o_(o) {
    lines_.terminator = rows.null() ? '\0' : '\n';
    lines_.header = rows.stream().header;
    lines_.threads = rows.stream().jobs;
  }

  int run() {
    o_.form.positions = o_.positions == Positions::sin;
    PoolParameters parameters;
    const bool learns = !o_.learn.empty();
    const std::string from = learns ? o_.start : o_.params;
    if (!from.empty()) parameters = open_parameters(from, o_);
    check(o_);
    set_width(parameters, o_);
    keys_ = NumberFile::open(o_.keys, lines_);
    if (!o_.values.empty()) values_ = NumberFile::open(o_.values, lines_);
    if (o_.given.empty()) find_queries();
    names_ = {queries_.empty() ? "-" : queries_[0]->path(), o_.keys, values_ ? o_.values : o_.keys,
              from.empty() ? "the parameters" : from};
    if (learns) parameters = learn(std::move(parameters));
    const AttentionPool pool(o_.form, std::move(parameters), keys_.matrix(), values().matrix(),
                             names_, lines_.threads);
    return write(pool);
  }

 private:
  const NumberFile& values() const { return values_ ? *values_ : keys_; }

  /// Queries that must be in memory are opened; others stay with the stream.
  void find_queries() {
    auto& files = rows_.stream().files;
    const bool self = files.empty() && nothing_to_read();
    const bool learns = !o_.learn.empty();
    if (self && !keys_is_lines()) {
      queries_ = {&keys_};
    } else if (self) {
      files = {o_.keys};  // as lines, which may be kept
    }
    if (!queries_.empty()) return;
    bool whole = learns;
    for (const std::string& file : files) whole |= begins_as_npy(file);
    if (files.empty() && !whole) whole = begins_as_npy("-");
    if (!whole) return;
    for (const std::string& file : files.empty() ? std::vector<std::string>{"-"} : files) {
      own_.push_back(NumberFile::open(file, lines_));
    }
    for (const NumberFile& file : own_) queries_.push_back(&file);
    if (learns && queries_.size() > 1) refuse("--learn", "wants the queries in one file");
  }
  /// Whether the keys can be read again as lines.
  bool keys_is_lines() const {
    struct stat status;
    return o_.keys != "-" && stat(o_.keys.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           !begins_as_npy(o_.keys);
  }

  PoolParameters learn(PoolParameters start) {
    if (queries_.empty()) refuse("--learn", "wants queries");
    const NumberFile targets = NumberFile::open(o_.learn, lines_);
    LearnOptions& options = o_.learning;
    options.form = o_.form;
    options.start = std::move(start);
    if (!o_.fit.empty()) {
      for (const std::string_view name : split(o_.fit, ',')) options.fit.emplace_back(name);
    }
    LearnResult result = learn_attention(
        {queries_[0]->matrix(), keys_.matrix(), values().matrix(), targets.matrix()}, options,
        names_, o_.learn);
    tools::notice(fmt::format("{} parameter{}; MSE {:.6g} before, {:.6g} after {} step{}",
                              result.count, result.count == 1 ? "" : "s", result.before,
                              result.after, result.steps, result.steps == 1 ? "" : "s"));
    if (!o_.params.empty()) result.parameters.write(o_.params, o_.form);
    return std::move(result.parameters);
  }

  PoolRowOptions row_options(const AttentionPool& pool) {
    tools::RowShape shape;
    if (o_.trace || (o_.weights && pool.form().heads > 1)) {
      shape.record = tools::RowShape::Per::several;
    }
    if (o_.format != Format::tsv) shape.binary_width = pool.sizes().output;
    shape.line = o_.given.empty() && queries_.empty();
    TaskOptions task;
    rows_.fill(task, shape);
    PoolRowOptions options;
    options.rows = o_.trace ? PoolRows::stages : o_.weights ? PoolRows::weights : PoolRows::outputs;
    options.number = task.number;
    options.keep_line = task.keep_line;
    options.json = task.json;
    options.binary = o_.format != Format::tsv;
    options.terminator = lines_.terminator;
    return options;
  }

  int write(const AttentionPool& pool) {
    const PoolRowOptions options = row_options(pool);
    for (const std::string& file : {o_.keys, o_.values, o_.params}) {
      if (!file.empty()) rows_.decide_by(file);
    }
    rows_.stream().output_names = column_names(pool, o_);
    rows_.stream().chunk_records = 64;
    rows_.stream().chunk_bytes = size_t{1} << 20;
    std::optional<tools::NpyOutput> npy;
    if (o_.format == Format::npy) npy.emplace(known_rows(), pool.sizes().output);
    const bool streams = queries_.empty() && o_.given.empty();
    const int status =
        streams ? rows_.run([&] { return std::make_unique<PoolWorker>(pool, options); })
                : rows_.run_all([&](const auto& out) { return write_known(pool, options, out); });
    if (npy) npy->finish(rows_.counts().bytes / (pool.sizes().output * sizeof(float)));
    return status;
  }

  /// Rows of an npy file, if they are known before the first is written.
  size_t known_rows() const {
    if (o_.rows > 0) return o_.rows;
    size_t rows = o_.given.empty() ? 0 : 1;
    for (const NumberFile* file : queries_) rows += file->rows();
    return rows;
  }

  Counts write_known(const AttentionPool& pool, const PoolRowOptions& options,
                     const std::function<void(std::string_view)>& out) {
    Counts counts;
    if (!o_.given.empty()) {
      Rows rows(options.terminator);
      PoolWorker(pool, options).mix(read_given(o_, pool.keys()), rows);
      out(rows.bytes());
      counts.records = 1;
      return counts;
    }
    size_t first = 0;
    for (const NumberFile* file : queries_) {
      if (file->cols() != pool.sizes().queries) {
        throw Error(
            Error::Kind::data, file->path(),
            fmt::format("found {} column{}, wants {}, as {}", file->cols(),
                        file->cols() == 1 ? "" : "s", pool.sizes().queries, pool.queries_fit()));
      }
      const Counts some = run_queries(pool, options, file->matrix(), first, lines_.threads, out);
      counts.records = first += file->rows();
      counts.non_finite += some.non_finite;
    }
    return counts;
  }

  tools::RowOptions& rows_;
  Options& o_;
  NumberLines lines_;
  NumberFile keys_;
  std::optional<NumberFile> values_;
  std::vector<NumberFile> own_;
  std::vector<const NumberFile*> queries_;
  PoolNames names_;
};

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Attention of queries over keys and values that are rows of numbers."};
  app.footer("printf '0\\n1\\n2\\n' >x && echo 1 | attention-pool --score gauss -K x --weights");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer, 0);
  Options options;
  app.add({"-K,--keys", "the keys, one row of numbers each: TSV or npy", tools::text("FILE")},
          options.keys)
      .same_rows()
      ->required();
  app.add(
         {"-V,--values", "the values, a row for each key (default: the keys)", tools::text("FILE")},
         options.values)
      .same_rows();
  CLI::Option *score = nullptr, *heads = nullptr;
  add_form(app, options, score, heads);
  add_rows(app, options);
  add_learning(app, options);

  return tools::run(app, argc, argv, [&] {
    options.score_given = score->count() > 0;
    options.heads_given = heads->count() > 0;
    return Run(rows, options).run();
  });
}
