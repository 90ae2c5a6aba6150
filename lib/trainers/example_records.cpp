#include "trainers/example_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/parse.h"
#include "io/record_reader.h"

namespace bert {
namespace {

constexpr size_t kChunkRecords = 1024, kChunkBytes = 1 << 20;

bool read(RecordReader& reader, Chunk& chunk) {
  return reader.next(chunk, kChunkRecords, kChunkBytes, [] { return Busy::none; });
}

Wanted wanted_of(const ExampleOptions& options) {
  if (options.wanted == Wanted::anything) return Wanted::anything;
  return options.json_lines ? Wanted::objects : options.csv ? Wanted::csv : options.wanted;
}

Framing framing_of(const ExampleOptions& options) {
  return options.csv ? Framing::csv : Framing::lines;
}

/// Calls use(chunk) for each chunk of the files, those that were kept or as they are read.
void for_each_chunk(const ExampleOptions& options, const KeptRecords* kept,
                    const std::function<void(const Chunk&)>& use) {
  if (kept && !kept->chunks.empty() && kept->files == options.files) {
    for (const Chunk& chunk : kept->chunks) use(chunk);
    return;
  }
  RecordReader reader(options.files, '\n', {}, framing_of(options), wanted_of(options));
  for (Chunk chunk; read(reader, chunk);) use(chunk);
}

}  // namespace

void keep_records(const ExampleOptions& options, KeptRecords& kept) {
  assert(!options.files.empty());
  kept = {options.files, {}};
  RecordReader reader(options.files, '\n', {}, framing_of(options), wanted_of(options));
  while (read(reader, kept.chunks.emplace_back())) {
    Chunk& chunk = kept.chunks.back();  // its name goes with the reader
    chunk.file = &*std::find(kept.files.begin(), kept.files.end(), *chunk.file);
  }
  kept.chunks.pop_back();
}

size_t for_each_record(const ExampleOptions& options, const KeptRecords* kept,
                       ExampleFields* fields, bool labelled,
                       const std::function<void(const Record&)>& use) {
  const bool header = fields && fields->header();
  std::vector<Record> blanks;  // behind the file's last record so far
  size_t passed_over = 0;
  const auto take = [&](Record record) {
    if (fields) fields->choose(record);
    try {
      use(record);
    } catch (const Error& error) {
      throw Error(record.placed(error));
    }
  };
  for_each_chunk(options, kept, [&](const Chunk& chunk) {
    for (size_t i = 0; i < chunk.lines.size(); ++i) {
      Record record;
      record.line = chunk.lines[i];
      record.number = chunk.first_number + i;
      record.number_in_file = chunk.first_in_file + i - (header ? 1 : 0);
      record.file = chunk.file;
      const bool first = chunk.first_of_file() && i == 0;
      if (first) passed_over += std::exchange(blanks, {}).size();
      if (header && first) {
        fields->read_header(record);
        continue;
      }
      if (labelled && record.body().empty()) {
        record.line = {};  // its chunk may go
        blanks.push_back(record);
        continue;
      }
      for (const Record& blank : std::exchange(blanks, {})) take(blank);
      take(record);
    }
  });
  return passed_over + blanks.size();
}

std::optional<double> number_of(std::string_view text) {
  const auto value = to_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string_view header_hint(const Record& record, bool header) {
  if (header || record.number_in_file != 1) return "";
  return "; if this line names the columns, `header` says so";
}

int32_t LabelIndex::find(std::string_view label, const Record& record,
                         std::string_view hint) const {
  const auto found = index_.find(std::string(label));
  if (found != index_.end()) return found->second;
  std::string known;
  for (const auto& [name, number] : index_) {
    if (known.size() < 60) known += (known.empty() ? "" : ", ") + printable(name);
  }
  record.fail(Error::Kind::data,
              fmt::format("has the label '{}', wants one of {}{}", printable(label), known, hint));
}

void check_label(std::string_view label, const std::function<void(const std::string&)>& fail) {
  if (printable(label, 0) == label) return;
  fail(fmt::format(" '{}', wants UTF-8 without control characters", printable(label)));
}

void add_label(const Record& record, std::string_view label, std::set<std::string>& labels) {
  if (!labels.emplace(label).second) return;
  check_label(label, [&](const std::string& what) {
    record.fail(Error::Kind::data, "has the label" + what);
  });
}

void finish(const ExampleSet& set, const ExampleOptions& options) {
  if (!set.examples.empty()) return;
  throw Error(Error::Kind::data, options.files.empty() ? "-" : options.files.front(),
              "has no examples to learn from");
}

}  // namespace bert
