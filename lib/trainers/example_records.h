#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "trainers/example_fields.h"
#include "trainers/examples.h"

namespace bert {

/// Reads the files and keeps what they hold.
void keep_records(const ExampleOptions& options, KeptRecords& kept);

/// Calls use(record) for each record of the files, with its texts and label chosen by `fields`. If
/// the records are `labelled`, blank records at the end of a file are skipped, as tools with --gold
/// do. Returns how many were skipped.
size_t for_each_record(const ExampleOptions& options, const KeptRecords* kept,
                       ExampleFields* fields, bool labelled,
                       const std::function<void(const Record&)>& use);

/// The number in a text, if it is finite.
std::optional<double> number_of(std::string_view text);

/// What may be wrong with the label of a file's first record, unless a header is known; else "".
std::string_view header_hint(const Record& record, bool header);

/// Labels to their numbers.
class LabelIndex {
 public:
  explicit LabelIndex(std::span<const std::string> labels) {
    for (const std::string& label : labels) {
      index_.emplace(label, static_cast<int32_t>(index_.size()));
    }
  }
  /// Throws Error(data) that names the record and ends with `hint`, if there is no such label.
  int32_t find(std::string_view label, const Record& record, std::string_view hint = "") const;

 private:
  std::map<std::string, int32_t> index_;
};

/// Calls fail(" 'LABEL', wants ..") for a label that no config.json could hold, or that would
/// disturb rows and terminals.
void check_label(std::string_view label, const std::function<void(const std::string&)>& fail);

/// Adds a label that occurs. Throws Error(data) that names the record, if it cannot be a label.
void add_label(const Record& record, std::string_view label, std::set<std::string>& labels);

/// Throws Error(data) if there are no examples.
void finish(const ExampleSet& set, const ExampleOptions& options);

}  // namespace bert
