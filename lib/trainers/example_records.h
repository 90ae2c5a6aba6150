#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "pipeline/columns.h"
#include "trainers/examples.h"

namespace bert {

/// Reads the files and keeps what they hold.
void keep_records(const ExampleOptions& options, KeptRecords& kept);

/// Calls use(record) for each record of the files, with fields chosen by `columns`. If the records
/// are `labelled`, blank records at the end of a file are skipped, as tools with --gold do. Returns
/// how many were skipped.
size_t for_each_record(const ExampleOptions& options, const KeptRecords* kept, Columns* columns,
                       bool labelled, const std::function<void(const Record&)>& use);

/// The number in a text, if it is finite.
std::optional<double> number_of(std::string_view text);

/// Labels to their numbers.
class LabelIndex {
 public:
  explicit LabelIndex(std::span<const std::string> labels) {
    for (const std::string& label : labels) {
      index_.emplace(label, static_cast<int32_t>(index_.size()));
    }
  }
  /// Throws Error(data) that names the record, if there is no such label.
  int32_t find(std::string_view label, const Record& record) const;

 private:
  std::map<std::string, int32_t> index_;
};

/// Adds a label that occurs. Throws Error(data) that names the record, if it cannot be a label.
void add_label(const Record& record, std::string_view label, std::set<std::string>& labels);

/// Throws Error(data) if there are no examples.
void finish(const ExampleSet& set, const ExampleOptions& options);

}  // namespace bert
