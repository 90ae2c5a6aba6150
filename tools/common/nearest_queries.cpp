#include "common/nearest_queries.h"

#include <mutex>
#include <string_view>

#include "common/progress.h"
#include "io/rows.h"
#include "rows/text_vectors.h"

namespace bert::tools {
namespace {

/// The columns of a header's row, with "query_" before their names: a column of the neighbour's
/// line may have the same name.
std::vector<std::string> query_columns(std::string_view header) {
  while (header.ends_with('\n') || header.ends_with('\0') || header.ends_with('\r')) {
    header.remove_suffix(1);
  }
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= header.size();) {
    const size_t tab = std::min(header.find('\t', begin), header.size());
    names.push_back("query_" + std::string(header.substr(begin, tab - begin)));
    begin = tab + 1;
  }
  return names;
}

Counts read_file(const NearestOptions& options, RowOptions& rows, bool keep,
                 const std::function<std::unique_ptr<Worker>()>& make_worker, Queries& queries) {
  StreamOptions stream;
  stream.files = {options.queries};
  stream.terminator = rows.terminator();
  // Without fields, a query is a line.
  stream.wanted = rows.wanted() == Wanted::anything ? Wanted::anything : Wanted::text;
  stream.header = rows.stream().header;
  if (!options.query_fields.empty()) {
    stream.fields = {options.query_fields};
    stream.json_lines = rows.reads_json_lines();
    stream.wanted = rows.wanted();
  }
  stream.keeps_line = keep;
  std::string header;  // the only row, since the workers write none
  stream.write = [&](std::string_view row) { header += row; };
  stream.jobs = rows.stream().jobs;
  const Counts counts = bert::stream(stream, make_worker);
  if (keep && stream.header) queries.columns = query_columns(header);
  return counts;
}

}  // namespace

Queries text_queries(const NearestOptions& options, RowOptions& rows, TextModel& model, bool keep) {
  Queries queries;
  queries.width = model.width();
  TextVectors vectors(queries.width);
  std::mutex mutex;
  const auto make_worker = [&] {
    return model.worker(TextModel::Role::query, options.query_prompt,
                        [&](std::span<const Record> records, ConstMatrix found) {
                          vectors.add(records, found);
                          if (!keep) return;
                          const std::lock_guard lock(mutex);
                          for (const Record& r : records) queries.lines[r.number] = r.body();
                        });
  };
  Counts counts;
  if (options.mode == NearestOptions::Mode::text) {
    const std::string name = "-q";
    const Record query{.line = options.text,
                       .text = options.text,
                       .number = 1,
                       .number_in_file = 1,
                       .file = &name};
    Rows none(rows.terminator());
    const auto worker = make_worker();
    worker->run({&query, 1}, none);
    counts = worker->counts();
    counts.records = 1;
  } else {
    counts = read_file(options, rows, keep, make_worker, queries);
  }
  report(counts, model.task().encode.max_length);
  Buffer scratch;
  for (size_t i = 0; i < vectors.rows(); ++i) {
    if (vectors.state(i) != TextVectors::State::finite) continue;
    queries.add(vectors.source().read(i, 1, scratch), 0, i + 1);
  }
  return queries;
}

Queries vector_queries(const MatrixFile& file) {
  Queries queries;
  queries.width = file.cols();
  Buffer scratch;
  const ConstMatrix all = file.read(0, file.rows(), scratch);
  for (size_t i = 0; i < all.rows; ++i) {
    if (is_finite({all.row(i), all.cols})) queries.add(all, i, i + 1);
  }
  return queries;
}

}  // namespace bert::tools
