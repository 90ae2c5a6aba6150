#include "rows/text_queries.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>

#include "io/rows.h"
#include "rows/text_vectors.h"

namespace bert {
namespace {

using MakeWorker = std::function<std::unique_ptr<Worker>()>;

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

Counts read_text(const QueryTexts& texts, const MakeWorker& make_worker) {
  const Record query{.line = texts.text,
                     .text = texts.text,
                     .number = 1,
                     .number_in_file = 1,
                     .file = &texts.name};
  Rows none(texts.stream.terminator);
  const auto worker = make_worker();
  worker->run({&query, 1}, none);
  Counts counts = worker->counts();
  counts.records = 1;
  return counts;
}

Counts read_stream(const QueryTexts& texts, const MakeWorker& make_worker, Queries& queries) {
  StreamOptions stream = texts.stream;
  std::string header;  // the only row, since the workers write none
  stream.write = [&](std::string_view row) { header += row; };
  const Counts counts = bert::stream(stream, make_worker);
  if (stream.keeps_line && stream.header) queries.columns = query_columns(header);
  return counts;
}

}  // namespace

Queries text_queries(const QueryTexts& texts, TextModel& model, Counts& counts) {
  Queries queries;
  queries.width = model.width();
  TextVectors vectors(queries.width);
  std::mutex mutex;
  const auto take = [&](std::span<const Record> records, ConstMatrix found) {
    vectors.add(records, found);
    if (!texts.stream.keeps_line) return;
    const std::lock_guard lock(mutex);
    for (const Record& r : records) queries.lines[r.number] = r.body();
  };
  const MakeWorker make_worker = [&] {
    return model.worker(TextModel::Role::query, texts.prompt, take);
  };
  counts =
      texts.text.empty() ? read_stream(texts, make_worker, queries) : read_text(texts, make_worker);
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

}  // namespace bert
