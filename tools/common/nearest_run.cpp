#include "common/nearest_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/parse.h"
#include "common/nearest_queries.h"
#include "common/progress.h"
#include "common/reread.h"
#include "common/run.h"
#include "common/text_model.h"
#include "directory/hashes.h"
#include "io/mapped_file.h"
#include "rows/text_groups.h"
#include "rows/text_search.h"
#include "search/index.h"
#include "search/index_build.h"

namespace bert::tools {
namespace {

constexpr size_t kFlush = size_t{1} << 16;  ///< bytes of rows that are written at once

class Nearest {
 public:
  Nearest(const NearestOptions& options, RowOptions& rows, const ModelOptions& models)
      : options_(options), rows_(rows), threads_(rows.stream().jobs), out_(rows.terminator()) {
    open(models);
  }

  int run() {
    switch (options_.mode) {
      case NearestOptions::Mode::pairs:
        return pairs();
      case NearestOptions::Mode::groups:
      case NearestOptions::Mode::unique:
        return groups();
      default:
        return search();
    }
  }

 private:
  using Mode = NearestOptions::Mode;
  using Role = TextModel::Role;

  bool has_lines() const { return !rows_.stream().files.empty(); }
  bool searches() const { return options_.mode == Mode::text || options_.mode == Mode::queries; }

  /// Opens what has the vectors. A model is opened only if there are texts to compute.
  void open(const ModelOptions& models) {
    const bool query_texts = searches() && options_.query_vectors.empty();
    if (query_texts || options_.vectors.empty()) model_.emplace(models);
    const std::optional<RawNumbers> raw =
        options_.raw.width > 0 ? std::optional(options_.raw) : std::nullopt;
    const auto open_file = [&](const std::string& path, std::optional<MatrixFile>& file) {
      if (path.empty()) return;
      file = MatrixFile::open_vectors(path, raw);
      model_ ? rows_.decide_by(path) : rows_.decide_by_file_alone(path);
      if (rows_.skips_bad() && options_.index.empty()) skip_bad_rows(*file);
    };
    open_file(options_.vectors, file_);
    open_file(options_.query_vectors, query_file_);
    if (!options_.queries.empty()) rows_.decide_by(options_.queries);
    if (!options_.index.empty()) open_index(models);
  }
  void skip_bad_rows(MatrixFile& file) const;
  void open_index(const ModelOptions& models);

  TaskOptions fill(const RowShape& shape) {
    TaskOptions task = model_ ? model_->task() : TaskOptions();
    rows_.fill(task, shape);
    return task;
  }

  /// Runs the streams's records through the model.
  int run_texts(Role role, const VectorSink& sink) {
    return rows_.run([&] { return model_->worker(role, options_.prompt, sink); });
  }
  /// For vectors of a file that stand for no lines: what else precedes the rows.
  int run_none() {
    return rows_.run_all([](const auto&) { return Counts(); });
  }
  void flush(size_t least = 0) {
    if (out_.bytes().size() <= least) return;
    write_shown(STDOUT_FILENO, out_.bytes());
    out_.clear();
  }
  void check_lines(int status) const {
    const uint64_t lines = rows_.counts().records;
    if (status != 0 || lines == file_->rows()) return;
    throw Error(Error::Kind::data, file_->path(),
                fmt::format("found {} vectors, wants {}, one for each record of the files",
                            file_->rows(), lines));
  }

  Queries read_queries(bool keep);
  std::vector<std::string> columns_of(const Queries& queries) const;
  int search();
  int search_vectors(const Queries& queries, const VectorSearch::Options& how,
                     SearchResult& result);
  void write(const Queries& queries, const SearchResult& result);
  int pairs();
  int groups();
  VectorGroups group_file() const;
  int write_groups(const TaskOptions& task);
  int group_lines(const TaskOptions& task);

  const NearestOptions& options_;
  RowOptions& rows_;
  const int threads_;
  std::optional<TextModel> model_;
  std::optional<MatrixFile> file_, query_file_;
  std::optional<VectorIndex> index_;
  Rows out_;
  bool keep_ = false;  ///< rows of a search have whole lines
};

/// As texts without a finite vector, such rows are no neighbours, no queries and in no group.
void Nearest::skip_bad_rows(MatrixFile& file) const {
  file.replace_bad_rows(searches() ? std::numeric_limits<float>::quiet_NaN() : 0);
  const size_t bad = file.bad_rows().size();
  if (bad == 0) return;
  notice(
      fmt::format("{}: {} of the {} vectors have a number that is not finite, the first is row "
                  "{}; they are left out",
                  file.path(), bad, file.rows(), file.bad_rows().front() + 1));
}

/// Builds the index if its file is missing.
void Nearest::open_index(const ModelOptions& models) {
  uint64_t model = 0;
  if (model_) {
    std::string hashes;
    for (const FileHash& f : hash_model(models.directory())) hashes += fmt::format(" {}", f.hash);
    model = xxh64(hashes);
  }
  const bool missing = !file_exists(options_.index);
  if (missing) build_index(options_.index, *file_, model, threads_);
  index_.emplace(VectorIndex::open(options_.index, *file_, model));
  rows_.decide_by(options_.index);
  if (!missing) return;
  const VectorIndex::Recall recall = index_->recall(threads_);
  notice(fmt::format("{}: built; it finds {} of the {} nearest of {} vectors", options_.index,
                     recall.found, recall.wanted, recall.sample));
}

Queries Nearest::read_queries(bool keep) {
  Queries queries =
      query_file_ ? vector_queries(*query_file_) : text_queries(options_, rows_, *model_, keep);
  const size_t width = file_ ? file_->cols() : model_->width();
  if (queries.width == width) return queries;
  throw Error(Error::Kind::data, file_ ? file_->path() : query_file_->path(),
              fmt::format("found vectors of {} numbers, wants {}, as the {} have",
                          file_ ? width : queries.width, file_ ? queries.width : width,
                          file_ ? "queries" : "texts"));
}

/// The columns of the rows, but the neighbour's line.
std::vector<std::string> Nearest::columns_of(const Queries& queries) const {
  std::vector<std::string> columns{"record", "rank", "score", "neighbour"};
  if (options_.mode == Mode::text) columns = {"file", "record", "score"};
  columns.insert(columns.end(), queries.columns.begin(), queries.columns.end());
  if (!keep_) columns.push_back("text");
  return columns;
}

int Nearest::search() {
  RowShape shape{RowShape::Per::none};
  shape.own_line = true;
  keep_ = fill(shape).keep_line;
  const Queries queries = read_queries(keep_);
  rows_.stream().output_names = columns_of(queries);
  VectorSearch::Options how;
  how.similarity = options_.similarity ? *options_.similarity
                   : model_            ? model_->similarity()
                                       : Similarity::cosine;
  if (index_ && how.similarity != Similarity::cosine) {
    throw Error(Error::Kind::usage, "--index", "is of cosines: wants --similarity cosine");
  }
  how.k = options_.top_k;
  how.threshold = options_.threshold.value_or(how.threshold);

  SearchResult result;
  int status = 0;
  if (file_) {
    how.threads = threads_;
    status = search_vectors(queries, how, result);
  } else {
    // With few queries a search is much quicker than the model, whose threads then take turns.
    constexpr size_t kFew = 256;
    how.threads = queries.numbers.size() > kFew ? threads_ : 1;
    TextSearch search(queries.matrix(), how, keep_);
    status = run_texts(Role::document,
                       [&](auto records, ConstMatrix vectors) { search.add(records, vectors); });
    result = search.result();
  }
  write(queries, result);
  return status != 0 || !result.empty() ? status : 1;
}

int Nearest::search_vectors(const Queries& queries, const VectorSearch::Options& how,
                            SearchResult& result) {
  if (index_) {
    for (size_t q = 0; q < queries.numbers.size(); ++q) {
      auto& found = result.nearest.emplace_back(
          index_->nearest({queries.matrix().row(q), queries.width}, how.k));
      std::erase_if(found, [&](const Neighbour& n) { return !(n.score >= how.threshold); });
    }
  } else {
    VectorSearch search(queries.matrix(), how);
    search.add(source_of(*file_), 0);
    for (size_t q = 0; q < queries.numbers.size(); ++q) result.nearest.push_back(search.nearest(q));
  }
  result.expect_texts(file_->path());
  if (!has_lines()) return run_none();
  const int status =
      rows_.run([&] { return std::make_unique<PickWorker>(result, file_->rows(), keep_); });
  check_lines(status);
  return status;
}

void Nearest::write(const Queries& queries, const SearchResult& result) {
  for (size_t q = 0; q < queries.numbers.size(); ++q) {
    if (options_.mode == Mode::text) {
      result.write_texts(out_, rows_.json());
    } else {
      const std::string* line = keep_ ? &queries.lines.at(queries.numbers[q]) : nullptr;
      result.write_neighbours(q, queries.numbers[q], out_, rows_.json(), line);
    }
    flush(kFlush);
  }
  flush();
}

int Nearest::pairs() {
  fill({RowShape::Per::none});
  rows_.stream().output_names = {"record", "neighbour", "score"};
  std::optional<TextVectors> texts;
  int status = 0;
  if (file_) {
    status = run_none();
  } else {
    texts.emplace(model_->width());
    status = run_texts(Role::any,
                       [&](auto records, ConstMatrix vectors) { texts->add(records, vectors); });
  }
  bool any = false;
  self_join(texts ? texts->source() : source_of(*file_), *options_.threshold, threads_,
            [&](const VectorPair& pair) {
              write_pair(pair, rows_.json(), out_);
              flush(kFlush);
              return any = true;
            });
  flush();
  return status != 0 || any ? status : 1;
}

int Nearest::groups() {
  const bool unique = options_.mode == Mode::unique;
  RowShape shape;
  if (unique) shape.record = RowShape::Per::optional;
  if (!unique) rows_.stream().output_names = {"group", "score"};
  const TaskOptions task = fill(shape);
  if (!file_) return group_lines(task);
  if (!has_lines()) return write_groups(task);
  const VectorGroups found = group_file();
  const int status = rows_.run([&] { return std::make_unique<GroupWorker>(found, unique, task); });
  check_lines(status);
  return status;
}

VectorGroups Nearest::group_file() const {
  VectorGroups groups = group(source_of(*file_), *options_.threshold, threads_);
  for (const size_t row : file_->bad_rows()) {
    groups.score[row] = std::numeric_limits<double>::quiet_NaN();
  }
  return groups;
}

/// Groups of a file's vectors, which stand for no lines.
int Nearest::write_groups(const TaskOptions& task) {
  const int status = run_none();
  const VectorGroups found = group_file();
  for (size_t row = 0; row < found.first.size(); ++row) {
    write_group(found, row, task, out_);
    flush(kFlush);
  }
  flush();
  return status;
}

/// Reads the files twice: the last record may connect the groups of the first, so no row can be
/// written before all are read.
int Nearest::group_lines(const TaskOptions& task) {
  StreamOptions& stream = rows_.stream();
  const RereadableFiles files(stream.files);
  TextVectors texts(model_->width());
  stream.write = [](std::string_view) {};  // headers and bad records have their rows later
  const int status =
      run_texts(Role::any, [&](auto records, ConstMatrix vectors) { texts.add(records, vectors); });
  const VectorGroups found = group_texts(texts, *options_.threshold, threads_);
  files.rewind();
  stream.write = {};
  stream.progress = {};
  stream.on_skipped = [](const Error&) {};  // was told
  bert::stream(stream, [&] {
    return rows_.within_json_lines(
        std::make_unique<GroupWorker>(found, options_.mode == Mode::unique, task));
  });
  return status;
}

/// What --query-fields and --keep of a search want.
void check_lines_of_search(const NearestOptions& options, RowOptions& rows) {
  const bool names = rows.stream().header || rows.reads_json_lines();
  const std::string& field = options.query_fields;
  if (!field.empty() && !names && to_number<size_t>(field).value_or(0) == 0) {
    throw Error(Error::Kind::usage, "--query-fields",
                fmt::format("found '{}', wants a field number from 1 up (names need --header)",
                            printable(field)));
  }
  using Mode = NearestOptions::Mode;
  if (!rows.keeps_line() || (options.mode != Mode::text && options.mode != Mode::queries)) return;
  if (!options.query_vectors.empty()) {
    throw Error(Error::Kind::usage, "--keep", "wants --query, whose lines are written");
  }
  if (!options.vectors.empty() && rows.stream().files.empty()) {
    throw Error(Error::Kind::usage, "--keep", "wants FILE, whose lines are written");
  }
}

}  // namespace

int run_nearest(const NearestOptions& options, RowOptions& rows, const ModelOptions& models) {
  refuse_memo();
  const bool no_lines = rows.stream().files.empty();
  if (options.mode == NearestOptions::Mode::unique && !options.vectors.empty() && no_lines) {
    throw Error(Error::Kind::usage, "--unique", "writes lines: wants FILE, whose lines they are");
  }
  if (!options.index.empty() && options.vectors.empty()) {
    throw Error(Error::Kind::usage, "--index", "wants --vectors, whose index it is");
  }
  if (options.mode == NearestOptions::Mode::pairs && !options.vectors.empty() && !no_lines) {
    throw Error(Error::Kind::usage, "--pairs", "reads no FILE with --vectors");
  }
  check_lines_of_search(options, rows);
  return Nearest(options, rows, models).run();
}

}  // namespace bert::tools
