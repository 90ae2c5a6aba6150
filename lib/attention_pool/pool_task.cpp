#include "attention_pool/pool_task.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "io/output_file.h"

namespace bert {
namespace {

constexpr nn::Score kScores[] = {nn::Score::dot,    nn::Score::scaled_dot, nn::Score::additive,
                                 nn::Score::concat, nn::Score::perceptron, nn::Score::gauss};

const char* plural(size_t count) { return count == 1 ? "" : "s"; }

/// Whether no queries come: standard input is a terminal or the null device.
bool nothing_to_read() {
  struct stat status;
  return fstat(STDIN_FILENO, &status) != 0 || S_ISCHR(status.st_mode);
}

/// Whether the file holds lines and can be read again.
bool is_file_of_lines(const std::string& path) {
  struct stat status;
  return path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         !begins_as_npy(path);
}

/// Whether both paths are there and lead to one file.
bool same_file(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

using Input = std::pair<const char*, std::string>;  ///< what it is, and its path

/// All files of numbers that are named.
std::vector<Input> inputs_of(const PoolOptions& options) {
  std::vector<Input> inputs = {
      {"keys", options.keys}, {"values", options.values}, {"targets", options.learn}};
  for (const std::string& file : options.queries) inputs.emplace_back("queries", file);
  return inputs;
}

/// Standard input can be read once only.
void refuse_second_reading(const std::vector<Input>& inputs) {
  const char* reader = nullptr;
  for (const auto& [what, path] : inputs) {
    if (path != "-") continue;
    if (reader && std::string_view(reader) != what) {
      throw Error(
          Error::Kind::usage, "-",
          fmt::format("standard input holds the {}, so it cannot hold the {}", reader, what));
    }
    reader = what;
  }
}

}  // namespace

PoolTask::PoolTask(PoolOptions options) : options_(std::move(options)) {
  const bool learns = !options_.learn.empty();
  const std::string from = learns ? options_.start : options_.params;
  PoolParameters parameters;
  if (!from.empty()) parameters = open_parameters(from);
  form_.score = options_.score.value_or(form_.score);
  form_.heads = options_.heads.value_or(form_.heads);
  form_.causal = options_.causal;
  form_.leave_one_out = options_.leave_one_out;
  form_.positions = options_.positions;
  check();
  if (options_.width && parameters.has("width")) {
    throw Error::of_field("width", "the parameters have a width");
  }
  if (options_.width) {
    parameters.add("width", 1, 1).values[0] = static_cast<float>(*options_.width);
  }
  keys_ = MatrixFile::open_numbers(options_.keys, options_.lines);
  if (!options_.values.empty()) values_ = MatrixFile::open_numbers(options_.values, options_.lines);
  if (options_.given.empty()) {
    find_queries();
  } else {
    given_ = read_given();
  }
  names_ = {queries_.empty() ? "-" : queries_[0]->path(), options_.keys, values().path(),
            from.empty() ? "the parameters" : from};
  if (learns) parameters = learn(std::move(parameters));
  pool_.emplace(form_, std::move(parameters), keys_.matrix(), values().matrix(), names_,
                options_.lines.threads);
}

/// The file may also say the score and the heads that it was learned for.
PoolParameters PoolTask::open_parameters(const std::string& path) {
  PoolParameters parameters = PoolParameters::open(path);
  for (const nn::Score score : kScores) {
    if (parameters.score() != score_name(score)) continue;
    if (options_.score.value_or(score) == score) {
      form_.score = score;
      continue;
    }
    throw Error(Error::Kind::data, path,
                fmt::format("was learned for the score '{}', found '{}'", parameters.score(),
                            score_name(*options_.score)));
  }
  if (const size_t heads = parameters.heads(); heads > 0) {
    form_.heads = heads;
    if (options_.heads.value_or(heads) != heads) {
      throw Error(Error::Kind::data, path,
                  fmt::format("was learned for {} head{}, found {}", heads, plural(heads),
                              *options_.heads));
    }
  }
  return parameters;
}

void PoolTask::check() const {
  refuse_second_reading(inputs_of(options_));
  if (options_.width && form_.score != nn::Score::gauss) {
    throw Error::of_field("width", "wants the score 'gauss'");
  }
  if (!options_.learn.empty() && !options_.given.empty()) {
    throw Error::of_field("given", "not with `learn`: weights that are given are not learned");
  }
}

/// Opens queries that must be in memory: keys, npy, or what is learned from. Lines stay with the
/// stream.
void PoolTask::find_queries() {
  std::vector<std::string>& files = options_.queries;
  const bool taken =  // standard input
      options_.keys == "-" || options_.values == "-" || options_.learn == "-";
  if (files.empty() && (taken || nothing_to_read())) {
    if (!is_file_of_lines(options_.keys)) {
      queries_ = {&keys_};
      return;
    }
    files = {options_.keys};
  }
  bool whole = !options_.learn.empty();
  for (const std::string& file : files) whole |= begins_as_npy(file);
  if (files.empty()) whole |= begins_as_npy("-");
  if (!whole) return;
  if (files.empty()) files = {"-"};
  for (const std::string& file : files)
    own_.push_back(MatrixFile::open_numbers(file, options_.lines));
  for (const MatrixFile& file : own_) queries_.push_back(&file);
}

PoolParameters PoolTask::learn(PoolParameters start) {
  if (queries_.size() > 1) throw Error::of_field("learn", "wants the queries in one file");
  const MatrixFile targets = MatrixFile::open_numbers(options_.learn, options_.lines);
  for (const auto& [what, path] : inputs_of(options_)) {
    if (same_file(path, options_.params)) {
      throw Error::of_field(
          "params", fmt::format("{} holds the {}, which it would replace", options_.params, what));
    }
  }
  std::optional<OutputFile> file;  // opened before the work, which may take long
  if (!options_.params.empty()) file.emplace(options_.params);
  LearnOptions learning;
  learning.form = form_;
  learning.hidden = options_.hidden;
  learning.seed = options_.seed;
  learning.max_steps = options_.max_steps;
  learning.start = std::move(start);
  for (const std::string_view name : split(options_.fit, ',', EmptyParts::skip)) {
    learning.fit.emplace_back(name);
  }
  LearnResult result =
      learn_attention({queries_[0]->matrix(), keys_.matrix(), values().matrix(), targets.matrix()},
                      learning, names_, options_.learn);
  options_.on_notice(fmt::format("{} parameter{}; MSE {:.6g} before, {:.6g} after {} step{}",
                                 result.count, plural(result.count), result.before, result.after,
                                 result.steps, plural(result.steps)));
  if (file) result.parameters.write(*file, form_);
  return std::move(result.parameters);
}

std::vector<float> PoolTask::read_given() const {
  std::vector<float> weights;
  for (const std::string_view part : split(options_.given, ',')) {
    try {
      read_numbers(part, weights);
    } catch (const Error&) {
      throw Error::of_field("given", fmt::format("found '{}', wants numbers, as in 0.1,0.3",
                                                 printable(options_.given)));
    }
  }
  if (weights.size() == keys_.rows()) return weights;
  throw Error::of_field("given",
                        fmt::format("found {} weight{}, wants {}, the rows of {}", weights.size(),
                                    plural(weights.size()), keys_.rows(), options_.keys));
}

size_t PoolTask::rows() const {
  size_t rows = given_.empty() ? 0 : 1;
  for (const MatrixFile* file : queries_) rows += file->rows();
  return rows;
}

/// The numbers of the longest row of a stage: most often the weighted values of a head.
size_t PoolTask::most_numbers_of_stage() const {
  if (!options_.lines.header) return 0;  // nobody reads their names
  const PoolSizes& sizes = pool_->sizes();
  return std::max(pool_->keys() * (sizes.mixed / form_.heads), sizes.output);
}

std::vector<std::string> PoolTask::columns(PoolRows rows) const {
  const size_t count = rows == PoolRows::weights  ? pool_->keys()
                       : rows == PoolRows::stages ? most_numbers_of_stage()
                                                  : pool_->sizes().output;
  const std::vector<float> numbers(count);
  return names_of(PoolRow{.kind = rows, .heads = form_.heads > 1, .numbers = numbers});
}

Counts PoolTask::write(const PoolRowOptions& rows,
                       const std::function<void(std::string_view)>& out) const {
  Counts counts;
  if (!given_.empty()) {
    Rows row(rows.terminator);
    PoolWorker(*pool_, rows).mix(given_, row);
    out(row.bytes());
    counts.records = 1;
  }
  size_t first = 0;
  for (const MatrixFile* file : queries_) {
    const size_t wanted = pool_->sizes().queries;
    if (file->cols() != wanted) {
      throw Error(Error::Kind::data, file->path(),
                  fmt::format("{}, wants {}, as {}", found_columns(file->cols()), wanted,
                              pool_->queries_fit()));
    }
    counts += run_queries(*pool_, rows, file->matrix(), first, options_.lines.threads, out);
    first += file->rows();
  }
  return counts;
}

}  // namespace bert
