#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "common/as_text.h"
#include "common/command.h"
#include "directory/sentence_modules.h"
#include "encoder/model.h"
#include "memo/served_rows.h"
#include "pipeline/stream.h"
#include "predict/static_text.h"
#include "rows/task_worker.h"
#include "seq2seq/decoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/translation_tokenizers.h"

namespace bert::tools {

/// Adds -m, --model. An empty name is an error and not the default: it may come from an unset
/// variable.
void add_model(Command& app, std::string& name,
               const std::string& description =
                   "model directory or name (else $BERT_MODEL, else the default)");

/// The tokens of a text that the sentence modules allow, if they do, and where that stands; ""
/// needs no explanation.
struct ModuleLimit {
  std::optional<size_t> tokens;
  std::string source = {};

  static ModuleLimit of(const SentenceModules& modules) {
    return {modules.settings.max_length, modules.settings.max_length_source()};
  }
};

/// The common options of all tools that read a model: -m --model, --head, --max-seq-length,
/// --overflow, --stride, --strict, --literal, --dtype, --max-batch-tokens, --no-mmap, and of those
/// that run its layers --ablate; of those that only tokenize texts of any length, -m --model,
/// --strict, --literal
class ModelOptions {
 public:
  enum class Use { whole_texts, tokenizer, layers };
  /// `task`: what is asked of the model, whose row has the defaults.
  explicit ModelOptions(Command& app, const TaskSpec& task = {}, Use use = Use::layers);

  /// The model directory that -m, $BERT_MODEL or the default names.
  const ModelDirectory& directory() const;
  /// `any`: also that of static vectors, which are refused else.
  Tokenizer open_tokenizer(bool any = false) const;
  /// Opens the model with the head that --head names, else with its head of this kind
  /// (HeadChoice::kind), and turns off the heads of attention that --ablate lists.
  Model open_model(std::optional<HeadKind> kind = {}, bool many_rows = false) const;
  /// Opens a model that translates, and turns off the heads of its decoder's attention to the
  /// source that --ablate lists; and its tokenizers.
  std::unique_ptr<Seq2Seq> open_seq2seq() const;
  TranslationTokenizers open_translation_tokenizers() const;
  /// The table of a directory of static vectors. Throws Error(usage) for options that are of models
  /// with layers.
  StaticText open_static(const StaticFiles& files, const Tokenizer& tokenizer) const;
  /// Applies --no-mmap to weights. Call it for all weights that a tool opens.
  void settle(const Weights& weights) const {
    if (no_mmap_) weights.hold();
  }
  /// The default of --overflow from here on.
  void prefer_overflow(Overflow overflow) {
    if (overflow_option_->count() == 0) overflow_ = overflow;
  }
  /// Sets the options of a task. max_length is the smaller limit of the position table and of
  /// user, `module_limit` or tokenizer: the first of these that has one. `task`: how texts are
  /// read. Throws Error if max_length leaves no room for a text.
  void fill(TaskOptions& options, const Tokenizer& tokenizer, const Model& model,
            const TaskSpec& task, const ModuleLimit& module_limit = {}) const;

  /// The same for a model that translates.
  void fill(TaskOptions& options, const TranslationTokenizers& tokenizers,
            const Seq2Seq& model) const;

  /// The same for static vectors, where only the user and the model's files limit max_length. The
  /// options borrow `text`.
  void fill(TaskOptions& options, const StaticText& text) const;

  /// Sets the options of a task that only tokenizes; only the user limits max_length. `special`:
  /// whether special tokens are added.
  void fill_tokens(TaskOptions& options, const Tokenizer& tokenizer, bool special, bool pair) const;

 private:
  void add_options(Command& app, const TaskSpec& task, Use use);
  bool read_head_tail(const std::string& text);
  void check_tail(const TaskOptions& options, size_t added) const;
  void fill_text_options(TaskOptions& options, bool tokenizer_truncates_left) const;
  void watch(const Weights& weights) const;

  std::string model_;
  std::string head_;
  std::string ablate_;
  const CLI::Option *ablate_option_ = nullptr, *overflow_option_ = nullptr;
  mutable ModelDirectory directory_;
  size_t max_seq_length_ = 0;
  size_t max_batch_tokens_ = 512;
  std::optional<size_t> stride_;
  Overflow overflow_;
  size_t tail_ = 0;  ///< of --overflow head-tail; 0: not given
  std::optional<bool> truncates_left_;
  std::optional<Precision> precision_;
  bool strict_ = false;
  bool literal_ = false;
  bool no_mmap_ = false;
};

/// What the rows of a run are, whatever the row options say.
struct RowShape {
  /// one: a row for each record. several: any number of rows for a record, each of which begins
  /// with the record's number; a bad record has none. optional: a row or none; a bad record has
  /// none. none: no rows of records.
  enum class Per { one, several, optional, none };
  Per record = Per::one;
  bool number = true, line = true;  ///< whether they may have the record's number, the input line
  bool own_line = false;            ///< rows of no record have an input line if --keep is given
  std::string bad_row = {};  ///< not empty: the rows are binary, and this one is a bad record's
};

/// The common options of all tools that turn records into rows: FILE..., -f, -0, --header, -n, -o,
/// --keep, --json, --jsonl, --as-text, --skip-bad, -j, --progress, --meta, -q, -v
class RowOptions {
 public:
  /// An annotator writes results, then the input line (-o drops it). A transformer writes only its
  /// result (--keep appends the line). Both accept -o and --keep.
  enum class Kind { annotator, transformer };
  /// `texts` 0: a record is no text and has no fields to choose from, so there is no -f.
  RowOptions(Command& app, Kind kind, size_t texts = 1, const char* quiet = "-q,--quiet");

  /// Sets the options of a task that these options decide. Call it after ModelOptions::fill. Throws
  /// Error(usage) for options that rows of this shape cannot follow: --keep, --meta.
  void fill(TaskOptions& options, const RowShape& shape = {});
  /// Without -f the text is field `field`, and with `keeps_line` rows end with the input line
  /// unless -o is given, whatever the tool does else. Call it before fill.
  void annotate(const std::string& field, bool keeps_line);
  /// Runs the stream, then reports texts that were cut or not UTF-8 on stderr. Returns the exit
  /// status.
  int run(const std::function<std::unique_ptr<Worker>()>& make_worker);
  /// The same for records that come from no stream: `write_rows` gives all rows to the function
  /// that it gets, in order.
  using Write = std::function<void(std::string_view rows)>;
  int run_all(const std::function<Counts(const Write& write)>& write_rows);
  /// `worker`, with its rows put into the objects of --jsonl if that is given, as run() does it.
  std::unique_ptr<Worker> within_json_lines(std::unique_ptr<Worker> worker) const;
  /// A file that decides the rows, as a model does: --meta has its hash, if it is a regular file.
  void decide_by(const std::string& file);
  /// The same for a file that stands in the model's place.
  void decide_by_file_alone(const std::string& file) {
    decide_by(file);
    no_model_ = true;
  }
  char terminator() const { return nul_ ? '\0' : '\n'; }
  /// The stream's options, to which a tool adds texts, extra fields, output names or chunk size.
  StreamOptions& stream() { return stream_; }
  bool json() const { return json_; }
  bool reads_json_lines() const { return json_lines_; }
  bool keeps_line() const { return keep_line_; }  ///< --keep, as it was given
  /// What the input should be, by the options that were given.
  Wanted wanted() const {
    return wanted_ == Wanted::text_or_objects && json_lines_ ? Wanted::objects : wanted_;
  }
  bool skips_bad() const { return stream_.skip_bad; }
  const std::string& fields() const { return fields_; }  ///< -f, as it was given
  bool fields_given() const { return fields_option_ && fields_option_->count() > 0; }
  const Counts& counts() const { return counts_; }

 private:
  void add_row_options(Command& app, size_t texts);
  void add_running_options(Command& app, const char* quiet);
  bool number_given() const { return app_.get_option("--number")->count() > 0; }
  void split_fields();
  void name_columns();
  /// `left_out`: options that are not named.
  std::string meta(const std::set<std::string>& left_out = {}) const;
  void serve();
  void refuse_within_memo() const;
  void write_place(const Record& record, const Error& error, Rows& rows) const;
  void report_left_out(int& status) const;

  const Command& app_;
  StreamOptions stream_;
  CLI::Option* fields_option_ = nullptr;
  std::string fields_;
  std::vector<std::string> deciding_;
  size_t max_length_ = 0;  ///< tokens, for the report of texts that were cut
  std::optional<Precision> precision_;
  bool nul_ = false;
  bool number_ = false;
  bool drop_line_ = false;
  bool keep_line_ = false;
  bool json_ = false;
  bool json_lines_ = false;
  Wanted wanted_ = Wanted::text_or_objects;
  RowShape shape_;
  bool progress_ = false;
  bool meta_ = false;
  bool no_model_ = false;
  std::unique_ptr<ServedRows> served_;  ///< within memo
  bool verbose_ = false;
  Kind kind_;
  std::string default_field_;
  Counts counts_;
};

/// Refuses an input file that is also the output: it would grow while it is read and never end.
void refuse_output(const std::vector<std::string>& files);

}  // namespace bert::tools
