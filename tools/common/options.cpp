#include "common/options.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/parse.h"
#include "common/progress.h"
#include "common/run.h"
#include "directory/hashes.h"
#include "directory/static_files.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "ops/arithmetic.h"
#include "pipeline/json_lines.h"
#include "predict/head_list.h"

namespace bert::tools {
namespace {

/// The value quoted for a shell, on one line.
std::string quoted(const std::string& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/@%";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string::npos) return value;
  std::string out = "'";
  for (const char c : printable(value, 0)) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool is_regular(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Results that are no numbers are told with the weights that are none.
void explain_non_finite_of(const Weights& weights) {
  explain_non_finite([&weights] {
    for (const NonFinite& tensor : weights.non_finite()) {
      notice(weights.path() + ": " + tensor.text());
    }
  });
}

}  // namespace

void add_model(Command& app, std::string& name, const std::string& description) {
  const auto named = [](const std::string& text) {
    return text.empty() ? "found an empty name, wants a directory or a model's name" : "";
  };
  app.add({"-m,--model", description, model()}, name).same_rows()->check(named);
}

ModelOptions::ModelOptions(Command& app, const TaskSpec& task, Use use) : overflow_(task.overflow) {
  app.heading("Model");
  add_options(app, task, use);
  app.heading(Command::kOwnOptions);
}

void ModelOptions::add_options(Command& app, const TaskSpec& task, Use use) {
  add_model(app, model_);
  app.add({"--strict", use == Use::whole_texts
                           ? "fail on invalid UTF-8 and on texts of mostly unknown tokens"
                           : "fail on a cut text, invalid UTF-8 or a value that is not a number"},
          strict_);
  app.add({"--literal", "read special tokens in the text as plain text"}, literal_);
  if (use == Use::whole_texts) return;
  app.add(
      {"--head", "which of the model's named heads (default: the first that fits)", text("NAME")},
      head_);
  if (use == Use::layers) {
    ablate_option_ = app.add(
        {"--ablate", "heads of attention to turn off: 3.7,4.* (layer and head)", text("LIST")},
        ablate_);
  }
  app.add({"--max-seq-length", "tokens per sequence, special ones included (default: the model's)",
           positive()},
          max_seq_length_)
      .of("max_length");
  overflow_option_ = app.add<Overflow>(
      {"--overflow", "what to do with a text that is too long"}, overflow_,
      {{"cut", Overflow::cut}, {"window", Overflow::window}, {"error", Overflow::error}},
      "head-tail:N", [this](const std::string& text) { return read_head_tail(text); });
  app.add<std::optional<bool>>(
      {"--truncation-side", "where a text that is too long is cut (default: the tokenizer's)"},
      truncates_left_, {{"left", true}, {"right", false}});
  app.add(
      {"--stride",
       fmt::format("tokens that two windows share (default: {}, or half a window)", task.stride),
       whole()},
      stride_);
  app.add<std::optional<Precision>>(
         {"--dtype", "precision of the matrix products (default: the model's)"}, precision_,
         {{"auto", std::nullopt},
          {"f32", Precision::f32},
          {"bf16", Precision::bf16},
          {"int8", Precision::int8}})
      .same_rows();
  app.add({"--max-batch-tokens",
           fmt::format("tokens computed at once (default: {}; never changes a row)",
                       max_batch_tokens_),
           whole(1, 1 << 20)},
          max_batch_tokens_)
      .same_rows();
  app.add({"--no-mmap", "copy the weights to memory, so that their files may change"}, no_mmap_)
      .same_rows();
}

const ModelDirectory& ModelOptions::directory() const {
  if (directory_.empty()) directory_ = ModelDirectory::open(model_);
  return directory_;
}

Tokenizer ModelOptions::open_tokenizer(bool any) const {
  if (!any && directory().static_files()) throw_static_vectors(directory());
  Tokenizer tokenizer = open_any_tokenizer(directory());
  for (const std::string& warning : tokenizer.warnings()) notice(warning);
  return tokenizer;
}

Model ModelOptions::open_model(std::optional<HeadKind> kind, bool many_rows) const {
  Model model = Model::open(directory(), precision_, {head_, kind}, many_rows);
  if (ablate_option_->count() > 0) model.ablate(parse_heads(ablate_, "ablate", model.config()));
  watch(model.weights());
  return model;
}

std::unique_ptr<Seq2Seq> ModelOptions::open_seq2seq() const {
  if (!head_.empty()) throw Error(Error::Kind::usage, "--head", "models that translate have none");
  auto model = Seq2Seq::open(directory(), precision_);
  if (ablate_option_->count() > 0) {
    Config sizes;
    sizes.num_hidden_layers = model->attention_layers();
    sizes.num_attention_heads = model->attention_heads();
    model->ablate(parse_heads(ablate_, "ablate", sizes));
  }
  if (no_mmap_) model->hold();
  if (strict_) {
    for (const NonFinite& tensor : model->non_finite()) {
      throw Error(Error::Kind::data, model->path(), tensor.text());
    }
  }
  return model;
}

TranslationTokenizers ModelOptions::open_translation_tokenizers() const {
  TranslationTokenizers tokenizers = TranslationTokenizers::open(directory());
  for (const std::string& warning : tokenizers.source.warnings()) notice(warning);
  return tokenizers;
}

StaticText ModelOptions::open_static(const StaticFiles& files, const Tokenizer& tokenizer) const {
  if (!head_.empty()) throw Error(Error::Kind::usage, "--head", "this model has no heads");
  if (ablate_option_->count() > 0) {
    throw Error(Error::Kind::usage, "--ablate", "static vectors have no heads of attention");
  }
  if (precision_.value_or(Precision::f32) != Precision::f32) {
    throw Error(Error::Kind::usage, "--dtype", "static vectors go through no matrix products");
  }
  StaticText text = StaticText::open(files, tokenizer);
  watch(text.vectors.weights());
  return text;
}

/// Weights whose faults --strict refuses.
void ModelOptions::watch(const Weights& weights) const {
  settle(weights);
  if (!strict_) return;
  for (const NonFinite& tensor : weights.non_finite()) {
    throw Error(Error::Kind::data, weights.path(), tensor.text());
  }
}

void ModelOptions::fill(TaskOptions& options, const Tokenizer& tokenizer, const Model& model,
                        const TaskSpec& task, const ModuleLimit& module_limit) const {
  if (tokenizer.vocab_size() > model.config().vocab_size) {
    throw Error(
        Error::Kind::data, directory().path(),
        fmt::format("vocabulary (vocab.txt or tokenizer.json) of {} tokens, wants at most {}, "
                    "the rows of the embeddings",
                    tokenizer.vocab_size(), model.config().vocab_size));
  }
  explain_non_finite_of(model.weights());
  size_t limit = model.config().max_tokens();
  if (max_seq_length_ > limit) {
    throw Error(
        Error::Kind::usage, "--max-seq-length",
        fmt::format("found {}, wants at most {}, the model's positions", max_seq_length_, limit));
  }
  const auto own = module_limit.tokens ? module_limit.tokens : tokenizer.model_max_length();
  if (module_limit.tokens.value_or(limit) < limit && max_seq_length_ == 0) {
    explain_limit(module_limit.source);
  }
  limit = task.max_length(limit, own);
  options.encode.max_length = max_seq_length_ > 0 ? max_seq_length_ : limit;
  options.encode.truncation = task.truncation;
  fill_text_options(options, tokenizer.truncates_left());
  options.precision = model.precision();
  const size_t added =
      task.texts > 1 ? tokenizer.added_tokens_pair() : tokenizer.added_tokens_single();
  check_tail(options, added);
  if (options.encode.max_length > added) return;
  if (max_seq_length_ > 0) {
    throw Error(
        Error::Kind::usage, "--max-seq-length",
        fmt::format("found {}, wants more than the {} special tokens", max_seq_length_, added));
  }
  throw Error(
      Error::Kind::data, directory().path(),
      fmt::format("the model takes {} tokens, wants more than the {} special ones", limit, added));
}

void ModelOptions::fill(TaskOptions& options, const TranslationTokenizers& tokenizers,
                        const Seq2Seq& model) const {
  const std::pair<size_t, size_t> sizes[] = {
      {tokenizers.source.vocab_size(), model.source_vocab_size()},
      {tokenizers.target.vocab_size(), model.output().size()}};
  for (const auto& [tokens, rows] : sizes) {
    if (tokens > rows) {
      throw Error(Error::Kind::data, directory().path(),
                  fmt::format("a vocabulary of {} tokens, wants at most {}, the rows of the model",
                              tokens, rows));
    }
  }
  explain_non_finite([&model] {
    for (const NonFinite& tensor : model.non_finite()) {
      notice(model.path() + ": " + tensor.text());
    }
  });
  const size_t most = model.max_source_tokens();
  const size_t limit = std::min(most, tokenizers.source.model_max_length().value_or(most));
  if (max_seq_length_ > most) {
    throw Error(
        Error::Kind::usage, "--max-seq-length",
        fmt::format("found {}, wants at most {}, the model's positions", max_seq_length_, most));
  }
  options.encode.max_length = max_seq_length_ > 0 ? max_seq_length_ : limit;
  if (options.encode.max_length == std::numeric_limits<size_t>::max()) {
    options.encode.max_length = 0;
  }
  fill_text_options(options, tokenizers.source.truncates_left());
  options.precision = model.precision();
  const size_t added = tokenizers.source.added_tokens_single();
  check_tail(options, added);
  if (options.encode.max_length == 0 || options.encode.max_length > added) return;
  throw max_seq_length_ > 0
      ? Error(
            Error::Kind::usage, "--max-seq-length",
            fmt::format("found {}, wants more than the {} special tokens", max_seq_length_, added))
      : Error(Error::Kind::data, directory().path(),
              fmt::format("the model takes {} tokens, wants more than the {} special ones", limit,
                          added));
}

void ModelOptions::fill(TaskOptions& options, const StaticText& text) const {
  explain_non_finite_of(text.vectors.weights());
  options.fixed = &text;
  options.encode.add_special_tokens = false;
  // A text of any length goes through in one piece, which is the window that covers all of it.
  const size_t limit = overflow_ == Overflow::window ? 0 : text.max_length;
  options.encode.max_length = max_seq_length_ > 0 ? max_seq_length_ : limit;
  if (tail_ > 0 || truncates_left_) {
    throw Error(Error::Kind::usage, tail_ > 0 ? "--overflow" : "--truncation-side",
                "static vectors are of the begin of a text");
  }
  fill_text_options(options, false);
  options.precision = Precision::f32;
}

/// head-tail:N, the last N tokens and as many others as there is room for (Sun et al. 2019).
bool ModelOptions::read_head_tail(const std::string& text) {
  constexpr std::string_view kName = "head-tail:";
  if (!text.starts_with(kName)) return false;
  const auto tail = to_number<size_t>(std::string_view(text).substr(kName.size()));
  tail_ = tail.value_or(0);
  overflow_ = Overflow::cut;
  return tail_ > 0;
}

/// What does not depend on the model; max_length is set.
void ModelOptions::fill_text_options(TaskOptions& options, bool tokenizer_truncates_left) const {
  if (tail_ > 0 && truncates_left_) {
    throw Error(Error::Kind::usage, "--truncation-side", "not with --overflow head-tail");
  }
  if (truncates_left_ && overflow_ != Overflow::cut) {
    throw Error(Error::Kind::usage, "--truncation-side", "wants --overflow cut");
  }
  options.encode.tail = truncates_left_.value_or(tokenizer_truncates_left) ? SIZE_MAX : 0;
  if (tail_ > 0) options.encode.tail = tail_;
  options.encode.literal = literal_;
  options.overflow = overflow_;
  options.stride = stride_.value_or(TaskSpec().stride_within(options.encode.max_length));
  options.strict = strict_;
  options.max_batch_tokens = max_batch_tokens_;
}

void ModelOptions::fill_tokens(TaskOptions& options, const Tokenizer& tokenizer, bool special,
                               bool pair) const {
  const size_t added = pair ? tokenizer.added_tokens_pair() : tokenizer.added_tokens_single();
  options.encode.add_special_tokens = special;
  options.encode.max_length = max_seq_length_;
  fill_text_options(options, tokenizer.truncates_left());
  if (special && max_seq_length_ > 0 && max_seq_length_ <= added) {
    throw Error(
        Error::Kind::usage, "--max-seq-length",
        fmt::format("found {}, wants more than the {} special tokens", max_seq_length_, added));
  }
  check_tail(options, special ? added : 0);
}

/// Whether a text that is cut keeps some of its begin beside its `added` special tokens.
void ModelOptions::check_tail(const TaskOptions& options, size_t added) const {
  const size_t most = options.encode.max_length;
  if (tail_ == 0 || most <= added || tail_ + added < most) return;
  throw Error(Error::Kind::usage, "--overflow",
              fmt::format("found head-tail:{}, wants less than {}, the tokens of a text", tail_,
                          most - added));
}

RowOptions::RowOptions(Command& app, Kind kind, size_t texts, const char* quiet)
    : app_(app), kind_(kind) {
  stream_.texts = std::max<size_t>(texts, 1);
  if (texts == 0) wanted_ = Wanted::lines;
  stream_.jobs = allowed_cpus();
  app.heading("Input and rows");
  add_row_options(app, texts);
  app.heading("Running");
  add_running_options(app, quiet);
  app.heading(Command::kOwnOptions);
}

void RowOptions::add_row_options(Command& app, size_t texts) {
  app.add({"FILE", "files of records; '-' or none: standard input", text("")}, stream_.files);
  if (texts > 0) {
    fields_option_ =
        app.add({"-f,--fields",
                 texts == 2 ? "the two fields that hold the texts, as in 2,5 (default: 1,2)"
                            : "the field that holds the text (default: the whole line)",
                 column()},
                fields_)
            .shown_as("-f");
  }
  app.add({"-0,--null", "records end with NUL, in input and output"}, nul_);
  app.add({"--header", "the first line of each file names the fields"}, stream_.header);
  app.add({"-n,--number", "write the record number first"}, number_);
  const bool annotator = kind_ == Kind::annotator;
  auto only = app.add({"-o,--only", annotator ? "write the results only, without the input line"
                                              : "write the results only (the default)"},
                      drop_line_);
  app.add({"--keep", annotator ? "write the input line after the results (the default)"
                               : "write the input line after the result"},
          keep_line_)
      ->excludes(only);
  app.add({"--json", "write one JSON object per record"}, json_);
  if (texts > 0) {
    app.add({"--jsonl", "read JSON objects, -f names the key; write them with the results added"},
            json_lines_)
        .of("json_lines")
        ->excludes(app.get_option("--header"));
  }
  if (texts > 0) add_as_text(app, wanted_);
  app.add({"--skip-bad", "write an empty row for a bad record, count it and go on (status 65)"},
          stream_.skip_bad);
  app.add({"--meta", "begin with a '#' line: version, hashes of the model, options"}, meta_)
      .same_rows();
}

void RowOptions::add_running_options(Command& app, const char* quiet) {
  app.add({"-j,--jobs", "threads (default: the CPUs it may use)", whole(1, 1024)}, stream_.jobs)
      .same_rows();
  app.add({"--progress", "show progress on stderr, also if it is not a terminal"}, progress_)
      .same_rows();
  app.add({"--memo", "talk to memo over standard input and output"}, [] { set_within_memo(); })
      .same_rows()
      ->group("");
  app.add({quiet, "write only errors to stderr"}, [] { set_quiet(true); }).same_rows();
  app.add({"-v,--verbose", "report the speed, and each text that is cut, on stderr"}, verbose_)
      .same_rows();
}

void RowOptions::annotate(const std::string& field, bool keeps_line) {
  if (keeps_line) kind_ = Kind::annotator;
  default_field_ = field;
}

void RowOptions::fill(TaskOptions& options, const RowShape& shape) {
  shape_ = shape;
  json_ |= json_lines_;
  const bool rows = shape.record != RowShape::Per::none;
  if ((!rows && !shape.own_line) || !shape.line) {
    if (keep_line_) throw Error(Error::Kind::usage, "--keep", "these rows have no input line");
    drop_line_ = true;
  }
  if (!rows) drop_line_ = !keep_line_;
  if (!shape.number && number_) {
    throw Error(Error::Kind::usage, "--number", "these rows have no record's number");
  }
  const std::pair<bool, const char*> only_lines[] = {{meta_, "--meta"},
                                                     {number_, "--number"},
                                                     {keep_line_, "--keep"},
                                                     {json_, json_lines_ ? "--jsonl" : "--json"}};
  for (const auto& [given, option] : only_lines) {
    if (!shape.bad_row.empty() && given) {
      throw Error(Error::Kind::usage, option, "wants an output of lines");
    }
  }
  number_ |= shape.record == RowShape::Per::several;
  number_ &= rows && shape.number;
  max_length_ = options.encode.max_length;
  precision_ = options.precision;
  if ((kind_ == Kind::transformer || !rows) && json_ && keep_line_) {
    throw Error(Error::Kind::usage, "--keep", "not with --json, whose rows are objects");
  }
  options.encode.count_dropped = json_ || verbose_;
  if (verbose_) {
    options.on_cut = [](const Record& record, size_t dropped) {
      notice(fmt::format("{}: record {}: cut, {} tokens left out", *record.file,
                         record.number_in_file, dropped));
    };
  }
  options.number = number_;
  options.keep_line = kind_ == Kind::annotator ? !drop_line_ : keep_line_;
  options.json = json_;
}

/// "2,5" becomes {"2", "5"}.
void RowOptions::split_fields() {
  stream_.json_lines = json_lines_;
  if (json_lines_ && !fields_given()) {
    stream_.fields.clear();
    return;
  }
  if (!fields_given()) {
    if (!default_field_.empty()) stream_.fields = {default_field_};
    return;
  }
  for (size_t begin = 0; begin <= fields_.size();) {
    const size_t comma = std::min(fields_.find(',', begin), fields_.size());
    stream_.fields.push_back(fields_.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

/// "mlm-fill (bertutils) 0.2.0 config.json=0123456789abcdef ... kernels=avx2 dtype=int8
/// products=int8 --seed=12345": all that decides the rows, and nothing else.
std::string RowOptions::meta(const std::set<std::string>& left_out) const {
  std::string line = app_.get_name() + " (bertutils) " BERT_VERSION;
  const CLI::Option* model = no_model_ ? nullptr : app_.get_option_no_throw("--model");
  std::vector<FileHash> files;
  if (model) files = hash_model(ModelDirectory::open(model->empty() ? "" : model->results()[0]));
  for (const std::string& path : deciding_) {
    if (is_regular(path)) files.push_back(hash_file(path));
  }
  for (const FileHash& file : files) {
    line += fmt::format(" {}={:016x}", quoted(file.name), file.hash);
  }
  if (precision_) {
    line += fmt::format(" kernels={} dtype={} products={}", kernel_set(),
                        precision_name(*precision_), products_in(*precision_));
  }
  for (const CLI::Option* option : app_.get_options()) {
    const Declaration* declaration = app_.declaration(option);
    if (!declaration || !declaration->changes_rows || option->get_positional()) continue;
    const std::string name = option->get_single_name();
    if (left_out.contains(name)) continue;
    if (declaration->value.kind == Value::Kind::flag) {
      if (option->count() > 0) line += " --" + name;
    } else if (option->count() > 0) {
      for (const std::string& value : option->results()) line += " --" + name + "=" + quoted(value);
    } else if (!option->get_default_str().empty()) {
      line += " --" + name + "=" + quoted(option->get_default_str());
    }
  }
  return line;
}

void refuse_output(const std::vector<std::string>& files) {
  struct stat output {};
  if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode) || output.st_size == 0) return;
  for (const std::string& file : files.empty() ? std::vector<std::string>{"-"} : files) {
    struct stat input {};
    const int failed = file == "-" ? fstat(STDIN_FILENO, &input) : stat(file.c_str(), &input);
    if (failed == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino) {
      throw Error(Error::Kind::cannot_create, file, "is the output too");
    }
  }
}

/// Writes the row of a record that is left out: empty results, with the number and the line if rows
/// have them.
void RowOptions::write_place(const Record& record, const Error& error, Rows& rows) const {
  if (json_lines_) {
    write_json_error(record, app_.with_option_names(error.what()), number_given(), rows);
    return;
  }
  if (json_) {
    rows.raw() += fmt::format("{{\"record\":{},\"error\":", record.number);
    append_json_string(rows.raw(), app_.with_option_names(error.what()));
    rows.raw() += '}';
    rows.end();
    return;
  }
  if (shape_.record != RowShape::Per::one) return;
  if (!shape_.bad_row.empty()) {
    rows.raw() += shape_.bad_row;
    return;
  }
  if (number_) rows.field(record.number);
  for (size_t i = number_ ? 1 : 0; i < stream_.output_names.size(); ++i) rows.field("");
  if (stream_.keeps_line) rows.field(record.line);
  rows.end();
}

void RowOptions::report_left_out(int& status) const {
  if (counts_.blank > 0) {
    notice(fmt::format("{} blank record{} at the end {} skipped", counts_.blank,
                       counts_.blank == 1 ? "" : "s", counts_.blank == 1 ? "was" : "were"));
  }
  report_bad(counts_.bad, counts_.records, counts_.first_bad, status);
}

void RowOptions::name_columns() {
  const bool named = !json_ && !stream_.output_names.empty();
  if (number_ && named) stream_.output_names.insert(stream_.output_names.begin(), "record");
  if (json_) stream_.output_names.clear();
}

int RowOptions::run_all(const std::function<Counts(const Write& write)>& write_rows) {
  refuse_memo();
  name_columns();
  if (meta_) print(fmt::format("# {}{}", meta(), nul_ ? '\0' : '\n'));
  if (stream_.header && !stream_.output_names.empty()) {
    print(fmt::format("{}{}", fmt::join(stream_.output_names, "\t"), nul_ ? '\0' : '\n'));
  }
  uint64_t bytes = 0;
  counts_ = write_rows([&](std::string_view rows) {
    write_shown(STDOUT_FILENO, rows);
    bytes += rows.size();
  });
  counts_.bytes = bytes;
  report(counts_, max_length_);
  return 0;
}

std::unique_ptr<Worker> RowOptions::within_json_lines(std::unique_ptr<Worker> worker) const {
  if (!json_lines_ || shape_.record == RowShape::Per::none) return worker;
  return std::make_unique<JsonLinesWorker>(std::move(worker), number_given());
}

int RowOptions::run(const std::function<std::unique_ptr<Worker>()>& make_worker) {
  split_fields();
  if (!within_memo()) refuse_output(stream_.files);
  stream_.terminator = nul_ ? '\0' : '\n';
  stream_.wanted = wanted();
  stream_.keeps_line = !json_ && (kind_ == Kind::annotator ? !drop_line_ : keep_line_);
  name_columns();
  if (shape_.record != RowShape::Per::none) {
    stream_.write_place = [this](const Record& record, const Error& error, Rows& rows) {
      write_place(record, error, rows);
    };
  }
  int status = 0;
  stream_.on_skipped = [&](const Error& error) {
    complain(error.what());
    status = static_cast<int>(error.kind());
  };
  Progress progress(progress_, stream_.files);
  if (!within_memo()) progress.watch(stream_);
  if (within_memo()) {
    serve();
  } else if (meta_) {
    print(fmt::format("# {}{}", meta(), stream_.terminator));
  }
  counts_ = bert::stream(stream_, [&] { return within_json_lines(make_worker()); });
  progress.finish();
  report(counts_, max_length_);
  if (!within_memo()) report_left_out(status);
  if (verbose_) report_speed(counts_, progress.seconds(), stream_.jobs);
  return status;
}

}  // namespace bert::tools
