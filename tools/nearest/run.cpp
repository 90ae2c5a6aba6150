#include "nearest/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/parse.h"
#include "common/progress.h"
#include "common/run.h"
#include "common/search.h"
#include "io/rereadable_files.h"
#include "rows/text_groups.h"

namespace bert::tools {
namespace {

using Mode = NearestOptions::Mode;

constexpr size_t kFlush = size_t{1} << 16;  ///< bytes of rows that are written at once

[[noreturn]] void refuse(const char* option, const char* what) {
  throw Error(Error::Kind::usage, option, what);
}

/// What --query-fields and --keep of a search want.
void check_lines_of_search(const NearestOptions& n, RowOptions& rows) {
  if (rows.recursive() && n.mode != Mode::text) refuse("--recursive", "wants -q");
  if (rows.context() && rows.stream().files.empty() && !n.vectors.empty())
    refuse("--context", "wants FILE, whose lines are written");
  const bool names = rows.stream().header || rows.reads_json_lines();
  const std::string& field = n.query_fields;
  if (!field.empty() && !names && to_number<size_t>(field).value_or(0) == 0) {
    throw Error(Error::Kind::usage, "--query-fields",
                fmt::format("found '{}', wants a field number from 1 up (names need --header)",
                            printable(field)));
  }
  if (!rows.keeps_line() || !n.searches()) return;
  if (!n.query_vectors.empty()) refuse("--keep", "wants --query, whose lines are written");
  if (!n.vectors.empty() && rows.stream().files.empty())
    refuse("--keep", "wants FILE, whose lines are written");
}

/// What a mode wants of the files.
void check_files(const NearestOptions& n, RowOptions& rows) {
  const bool no_lines = rows.stream().files.empty();
  if (n.mode == Mode::unique && !n.vectors.empty() && no_lines)
    refuse("--unique", "writes lines: wants FILE, whose lines they are");
  if (!n.index.empty() && n.vectors.empty())
    refuse("--index", "wants --vectors, whose index it is");
  if (n.exact && n.index.empty()) refuse("--exact", "wants --index");
  if (n.mode == Mode::pairs && !n.vectors.empty() && !no_lines)
    refuse("--pairs", "reads no FILE with --vectors");
  check_lines_of_search(n, rows);
}

/// One run: what has the vectors, the stream of the records, the rows of all of them together.
class Run {
 public:
  Run(const NearestOptions& options, RowOptions& rows, const ModelOptions& models,
      const RankReport& report)
      : options_(options), rows_(rows), report_(report), out_(rows.new_rows()) {
    if (options.reads_texts()) model_.emplace(models.request());
    vectors_.emplace(options, model_ ? &*model_ : nullptr, notice);
    for (const std::string& file : vectors_->files())
      model_ ? rows.decide_by(file) : rows.decide_by_file_alone(file);
  }

  int run() {
    if (!options_.gold.empty()) return search_judged();
    if (options_.searches()) return search();
    return options_.mode == Mode::pairs ? pairs() : groups();
  }

 private:
  using Role = TextModel::Role;
  using Per = RowShape::Per;

  TaskOptions fill(const RowShape& shape) {
    TaskOptions task = model_ ? model_->task() : TaskOptions();
    rows_.fill(task, shape);
    return task;
  }
  /// Runs the records through the model.
  int run_texts(Role role, const VectorSink& sink) {
    return rows_.run([&] { return model_->worker(role, options_.prompt, sink); });
  }
  /// Runs the records that the file's vectors stand for.
  template <typename MakeWorker>
  int run_lines(MakeWorker make_worker) {
    const int status = rows_.run(make_worker);
    if (status == 0) vectors_->check_records(rows_.counts().records);
    return status;
  }
  /// What precedes the rows of vectors that stand for no lines.
  int run_none() {
    return rows_.run_all([](const auto&) { return Counts(); });
  }
  bool has_lines() const { return !rows_.stream().files.empty(); }
  void flush(size_t least = 0) {
    if (out_.bytes().size() <= least) return;
    rows_.show(out_.bytes());
    out_.clear();
  }

  QueryTexts query_texts(bool keep) const;
  Queries read_queries(const TaskOptions& task);
  int search();
  int search_judged();
  void judge(const Queries& queries, const SearchResult& result);
  void write(const Queries& queries, const SearchResult& result, bool keep, bool told);
  int pairs();
  int groups();
  int group_rows(const TaskOptions& task);
  int group_texts(const TaskOptions& task);

  const NearestOptions& options_;
  RowOptions& rows_;
  const RankReport& report_;
  std::optional<Qrels> qrels_;
  std::optional<RankMetrics> metrics_;
  std::optional<TextModel> model_;
  std::optional<NearestVectors> vectors_;
  Rows out_;
};

/// `keep`: with the lines of the queries.
QueryTexts Run::query_texts(bool keep) const {
  QueryTexts texts{options_.text, "-q", {}, options_.query_prompt};
  StreamOptions& stream = texts.stream;
  stream.files = {options_.queries};
  stream.terminator = rows_.terminator();
  // Without fields, a query is a line.
  stream.wanted = rows_.wanted() == Wanted::anything ? Wanted::anything : Wanted::text;
  stream.header = rows_.stream().header;
  stream.keeps_line = keep;
  stream.jobs = rows_.stream().jobs;
  if (options_.query_fields.empty()) return texts;
  stream.fields = {options_.query_fields};
  stream.json_lines = rows_.reads_json_lines();
  stream.wanted = rows_.wanted();
  stream.csv = rows_.csv();
  return texts;
}

/// Reads them, and names the columns of the rows, but for the neighbour's line.
Queries Run::read_queries(const TaskOptions& task) {
  Counts counts;
  Queries queries = vectors_->queries(query_texts(task.keep_line), counts);
  report(counts, task.encode.max_length);
  vectors_->check(queries);
  std::vector<std::string>& columns = rows_.stream().output_names;
  columns = options_.mode == Mode::text ? names_of<FoundText>() : names_of<NeighbourRow>();
  const std::string text = std::move(columns.back());
  columns.pop_back();
  columns.insert(columns.end(), queries.columns.begin(), queries.columns.end());
  if (!task.keep_line) columns.push_back(text);
  return queries;
}

int Run::search() {
  RowShape shape{Per::none};
  shape.own_line = true;
  const TaskOptions task = fill(shape);
  std::optional<RereadableFiles> files;
  if (rows_.context()) files.emplace(rows_.stream().files);
  const bool keep = task.keep_line;
  const Queries queries = read_queries(task);
  SearchResult result;
  int status = 0;
  if (const MatrixFile* file = vectors_->file()) {
    result = vectors_->search(queries);
    const auto pick = [&] { return std::make_unique<PickWorker>(result, file->rows(), keep); };
    status = has_lines() ? run_lines(pick) : run_none();
  } else {
    TextSearch search(queries.matrix(), vectors_->search_options(queries), keep);
    status = run_texts(Role::document,
                       [&](auto records, ConstMatrix vectors) { search.add(records, vectors); });
    result = search.result();
  }
  judge(queries, result);
  if (files) files->rewind();
  write(queries, result, keep, status != 0);
  return status != 0 || !result.empty() ? status : 1;
}

int Run::search_judged() {
  qrels_ = Qrels::read(options_.gold);
  metrics_.emplace(report_.cutoffs());
  return report_.run(rows_, std::function<int()>([&] { return search(); }), report_of(*metrics_));
}

/// The records that were found; queries and records are named by their numbers.
void Run::judge(const Queries& queries, const SearchResult& result) {
  if (!metrics_) return;
  for (size_t q = 0; q < queries.numbers.size(); ++q) {
    const std::string query = std::to_string(queries.numbers[q]);
    for (const Neighbour& found : result.nearest[q])
      metrics_->add(query, std::to_string(found.index + 1), static_cast<double>(found.score),
                    *qrels_);
  }
}

/// `told`: reading the records met a fault.
void Run::write(const Queries& queries, const SearchResult& result, bool keep, bool told) {
  if (report_.hides_rows()) return;
  for (size_t q = 0; q < queries.numbers.size(); ++q) {
    if (options_.mode == Mode::text) {
      TextRanking ranking(std::max<size_t>(result.nearest[0].size(), 1));
      result.rank(ranking);
      write_ranking(rows_, ranking, told, out_);
    } else {
      const std::string* line = keep ? &queries.lines.at(queries.numbers[q]) : nullptr;
      result.write_neighbours(q, queries.numbers[q], out_, rows_.json(), line);
    }
    flush(kFlush);
  }
  flush();
}

int Run::pairs() {
  fill({Per::none});
  rows_.stream().output_names = names_of<PairedRow>();
  const MatrixFile* file = vectors_->file();
  TextVectors texts(file ? file->cols() : model_->width());
  const auto keep = [&](auto records, ConstMatrix vectors) { texts.add(records, vectors); };
  const int status = file ? run_none() : run_texts(Role::any, keep);
  bool any = false;
  self_join(file ? source_of(*file) : texts.source(), *options_.threshold, options_.threads,
            [&](const VectorPair& pair) {
              write_pair(pair, rows_.json(), out_);
              flush(kFlush);
              return any = true;
            });
  flush();
  return status != 0 || any ? status : 1;
}

int Run::groups() {
  const bool unique = options_.mode == Mode::unique;
  RowShape shape;
  if (unique) {
    shape.record = Per::optional;
    shape.is_line = true;
  }
  if (!unique) rows_.stream().output_names = names_of<GroupRow>();
  const TaskOptions task = fill(shape);
  if (!vectors_->file()) return group_texts(task);
  if (!has_lines()) return group_rows(task);
  const VectorGroups found = vectors_->groups();
  return run_lines([&] { return std::make_unique<GroupWorker>(found, unique, task); });
}

/// Groups of vectors that stand for no lines.
int Run::group_rows(const TaskOptions& task) {
  const int status = run_none();
  const VectorGroups found = vectors_->groups();
  for (size_t row = 0; row < found.first.size(); ++row) {
    write_group(found, row, task, out_);
    flush(kFlush);
  }
  flush();
  return status;
}

/// Reads the files twice: the last record may connect the groups of the first, so no row can be
/// written before all are read.
int Run::group_texts(const TaskOptions& task) {
  StreamOptions& stream = rows_.stream();
  const RereadableFiles files(stream.files);
  TextVectors texts(model_->width());
  stream.write = [](std::string_view) {};  // headers and bad records have their rows later
  const int status =
      run_texts(Role::any, [&](auto records, ConstMatrix vectors) { texts.add(records, vectors); });
  const VectorGroups found = bert::group_texts(texts, *options_.threshold, options_.threads);
  files.rewind();
  stream.write = {};
  stream.progress = {};
  stream.on_skipped = [&](const Error& error) {
    if (status == 0) throw Error(error);  // else it was told
  };
  bert::stream(stream, [&] {
    return rows_.within_json_lines(
        std::make_unique<GroupWorker>(found, options_.mode == Mode::unique, task));
  });
  return status;
}

}  // namespace

int run_nearest(NearestOptions options, RowOptions& rows, const ModelOptions& models,
                const RankReport& report) {
  refuse_memo();
  options.skip_bad = rows.skips_bad();
  options.threads = rows.stream().jobs;
  check_files(options, rows);
  return Run(options, rows, models, report).run();
}

}  // namespace bert::tools
