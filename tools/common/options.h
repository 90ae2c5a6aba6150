#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bert/model.h"
#include "pipeline/stream.h"
#include "tasks/task.h"
#include "tokenizer/tokenizer.h"

namespace bert::tools {

/// Options of tools that read a model: one spelling for all.
///   -m --model, --max-seq-length, --overflow, --stride, --strict, --literal, --dtype,
///   --max-batch-tokens
class ModelOptions {
 public:
  ModelOptions(CLI::App& app, Overflow default_overflow);

  /// The model directory that -m, $BERT_MODEL or the default names.
  const std::string& directory() const;
  Tokenizer open_tokenizer() const;
  Model open_model() const;
  /// The options of a task; max_length is the least of what user, tokenizer and position table
  /// allow. `module_limit`: the sentence module's max_seq_length, if the tool heeds it.
  void fill(TaskOptions& options, const Tokenizer& tokenizer, const Model& model,
            std::optional<size_t> module_limit = {}) const;

 private:
  std::string model_;
  mutable std::string directory_;
  size_t max_seq_length_ = 0;
  size_t max_batch_tokens_ = 2048;
  size_t stride_ = 128;
  Overflow overflow_;
  Precision precision_ = Precision::f32;
  bool strict_ = false;
  bool literal_ = false;
};

/// Options of tools that turn records into rows:
///   FILE..., -f, -0, --header, -n, -o / --keep, --json, -j, --progress, --meta, -q, -v
class RowOptions {
 public:
  /// An annotator writes results, then the input line (-o drops it); a transformer only its result
  /// (--keep appends the line).
  enum class Kind { annotator, transformer };
  RowOptions(CLI::App& app, Kind kind, size_t texts = 1);

  void fill(TaskOptions& options) const;
  /// Runs the stream and reports what was cut or not UTF-8 in one line on stderr. Returns the exit
  /// status. `meta` is what --meta prints besides tool and version ("model=DIR dtype=f32").
  int run(const std::function<std::unique_ptr<Worker>()>& make_worker,
          const std::string& meta = "");
  /// The stream's options: for what a tool adds (texts, extra fields, output names, chunk size).
  StreamOptions& stream() { return stream_; }
  bool json() const { return json_; }
  const Counts& counts() const { return counts_; }

 private:
  StreamOptions stream_;
  std::string fields_;
  bool nul_ = false;
  bool number_ = false;
  bool drop_line_ = false;
  bool keep_line_ = false;
  bool json_ = false;
  bool progress_ = false;
  bool meta_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  Kind kind_;
  Counts counts_;
};

/// A flag or option whose value is one of a few names.
template <typename Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& names, Enum& value,
                        const std::vector<std::pair<std::string, Enum>>& choices,
                        const std::string& description) {
  std::string list;
  for (const auto& choice : choices) list += (list.empty() ? "" : ", ") + choice.first;
  return app
      .add_option_function<std::string>(
          names,
          [&value, choices, list](const std::string& text) {
            for (const auto& [name, choice] : choices) {
              if (name == text) {
                value = choice;
                return;
              }
            }
            throw CLI::ValidationError("found '" + text + "', wants one of " + list);
          },
          description + ": " + list)
      ->type_name("NAME");
}

}  // namespace bert::tools
