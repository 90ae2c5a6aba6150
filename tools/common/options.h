#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "encoder/model.h"
#include "pipeline/stream.h"
#include "tasks/task.h"
#include "tokenizer/tokenizer.h"

namespace bert::tools {

/// -m, --model. An empty name, as of a variable that is not set, is an error, not the default.
void add_model(CLI::App& app, std::string& name,
               const std::string& description =
                   "model directory or name (else $BERT_MODEL, else the default)");

/// Options of tools that read a model: one spelling for all.
///   -m --model, --head, --max-seq-length, --overflow, --stride, --strict, --literal, --dtype,
///   --max-batch-tokens, --no-mmap
class ModelOptions {
 public:
  ModelOptions(CLI::App& app, Overflow default_overflow);

  /// The model directory that -m, $BERT_MODEL or the default names.
  const std::string& directory() const;
  Tokenizer open_tokenizer() const;
  /// With the head that --head names, else the model's for this task (HeadChoice::task).
  Model open_model(const std::string& task = "", bool many_rows = false) const;
  /// What every weight that is opened goes through: --no-mmap.
  void settle(const Weights& weights) const {
    if (no_mmap_) weights.hold();
  }
  /// The options of a task; max_length is the least of what user, tokenizer and position table
  /// allow. `module_limit`: the sentence module's max_seq_length, if the tool heeds it.
  void fill(TaskOptions& options, const Tokenizer& tokenizer, const Model& model,
            std::optional<size_t> module_limit = {}) const;

  /// The options of a task that only tokenizes: no limit but the user's. `special`: whether special
  /// tokens are added.
  void fill_tokens(TaskOptions& options, const Tokenizer& tokenizer, bool special, bool pair) const;

 private:
  std::string model_;
  std::string head_;
  mutable std::string directory_;
  size_t max_seq_length_ = 0;
  size_t max_batch_tokens_ = 512;
  std::optional<size_t> stride_;
  Overflow overflow_;
  std::optional<Precision> precision_;
  bool strict_ = false;
  bool literal_ = false;
  bool no_mmap_ = false;
};

/// Options of tools that turn records into rows:
///   FILE..., -f, -0, --header, -n, -o, --keep, --json, --skip-bad, -j, --progress, --meta, -q, -v
class RowOptions {
 public:
  /// An annotator writes results, then the input line (-o drops it); a transformer only its result
  /// (--keep appends the line). Each takes the other's option too, which changes nothing.
  enum class Kind { annotator, transformer };
  RowOptions(CLI::App& app, Kind kind, size_t texts = 1);

  /// Sets what the row options say of a task; call it after ModelOptions::fill.
  void fill(TaskOptions& options);
  /// Runs the stream and reports what was cut or not UTF-8 in one line on stderr. Returns the exit
  /// status.
  int run(const std::function<std::unique_ptr<Worker>()>& make_worker);
  /// The stream's options: for what a tool adds (texts, extra fields, output names, chunk size).
  StreamOptions& stream() { return stream_; }
  bool json() const { return json_; }
  /// For records of several rows, or none: each begins with the record's number. A bad record has
  /// none.
  void several_rows() { several_rows_ = number_ = true; }
  /// For records of several lines. Throws Error(usage) for --keep.
  void drop_line();
  /// For rows that are not of records: neither number nor line.
  void drop_number_and_line() {
    number_ = false;
    drop_line();
  }
  /// For output that is no rows of records: no number, no line, and nothing for a bad record.
  void drop_rows() {
    drop_number_and_line();
    no_rows_ = true;
  }
  /// For rows of so many floats in binary, where a line has no place: that of a bad record is NaN.
  /// Throws Error(usage) for --meta.
  void binary_rows(size_t width);
  const Counts& counts() const { return counts_; }

 private:
  void split_fields();
  std::string meta() const;
  void write_place(const Record& record, const Error& error, Rows& rows) const;
  void report_left_out(int& status) const;

  const CLI::App& app_;
  StreamOptions stream_;
  CLI::Option* fields_option_;
  std::string fields_;
  size_t max_length_ = 0;  ///< tokens, for the report of what was cut
  std::optional<Precision> precision_;
  bool nul_ = false;
  bool number_ = false;
  bool drop_line_ = false;
  bool keep_line_ = false;
  bool json_ = false;
  bool several_rows_ = false;
  bool no_rows_ = false;
  size_t binary_width_ = 0;  ///< 0: rows are text
  bool progress_ = false;
  bool meta_ = false;
  bool verbose_ = false;
  Kind kind_;
  Counts counts_;
};

/// An option whose value is one of a few names; completions offer them.
template <typename Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& names, Enum& value,
                        const std::vector<std::pair<std::string, Enum>>& choices,
                        const std::string& description) {
  std::string list;
  for (const auto& choice : choices) list += (list.empty() ? "" : "|") + choice.first;
  const auto choose = [&value, choices, list, names](const std::string& text) {
    for (const auto& [name, choice] : choices) {
      if (name == text) {
        value = choice;
        return;
      }
    }
    throw CLI::ValidationError(names, "found '" + printable(text) + "', wants " + list);
  };
  return app.add_option_function<std::string>(names, choose, description)->type_name(list);
}

}  // namespace bert::tools
