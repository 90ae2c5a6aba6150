#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/json.h"
#include "io/record.h"
#include "pipeline/stream.h"
#include "pipeline/worker.h"

namespace bert {

/// Which members of a JSON line are the texts and extra fields (`json_lines` of StreamOptions).
class BERT_API JsonFields {
 public:
  /// Throws Error(usage) for a wrong count of keys. Without keys: "text", and "text_pair".
  explicit JsonFields(const StreamOptions& options);

  /// Sets text, text_pair and extra of `record` from its line, a JSON object. A key with dots is
  /// first one key, then a path. Texts are strings; extra fields may also be other values, which
  /// are then JSON. What is no part of the line is stored in `decoded`. Throws Error(data) that
  /// names the record.
  void choose(Record& record, std::deque<std::string>& decoded) const;

 private:
  std::vector<std::string> keys_;  ///< texts, then extras
  size_t texts_;
};

/// Puts the members of each JSON row that a worker writes into the object of its record: rows name
/// it by `record`. That member, and copies of the record's texts, are left out.
class BERT_API JsonLinesWorker : public Worker {
 public:
  /// `number`: the member `record` stays. `in_file`: it counts within the file.
  JsonLinesWorker(std::unique_ptr<Worker> worker, bool number, bool in_file = false)
      : worker_(std::move(worker)), number_(number), in_file_(in_file) {}
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { worker_->use_team(team); }

 private:
  void write(const Record& record, std::string_view row, Rows& rows) const;

  std::unique_ptr<Worker> worker_;
  bool number_, in_file_;
};

/// The object of a record that is left out, with its number if wanted and the error; if its line is
/// no object, these alone.
BERT_API void write_json_error(const Record& record, std::string_view error, bool number,
                               Rows& rows);

}  // namespace bert
