#include "trainers/task_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "io/file_kind.h"
#include "io/mapped_file.h"
#include "model/config.h"

namespace bert {
namespace {

constexpr std::string_view kKinds[] = {"classify", "ner", "qa", "mlm", "vectors"};

/// An option that only some kinds of task take.
struct Only {
  std::string_view option;
  bool kinds[std::size(kKinds)];
};
constexpr Only kOnly[] = {{"probability", {false, false, false, true, false}},
                          {"teacher", {false, false, false, false, true}},
                          {"labels", {true, true, false, false, false}},
                          {"fields", {true, false, false, false, true}},
                          {"label", {true, false, false, false, false}},
                          {"pair", {true, false, false, false, true}},
                          {"header", {true, false, false, false, true}},
                          {"csv", {true, false, false, false, true}},
                          {"no-header", {true, false, false, false, true}},
                          {"jsonl", {true, false, false, false, true}},
                          {"regression", {true, false, false, false, false}},
                          {"multi-label", {true, false, false, false, false}},
                          {"find-answers", {false, false, true, false, false}}};

std::vector<std::string> words_of(std::string_view text, char separator) {
  const auto parts = split(text, separator, EmptyParts::skip);
  return {parts.begin(), parts.end()};
}

class LineParser {
 public:
  LineParser(std::string path, size_t number) : path_(std::move(path)), number_(number) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Error::Kind::usage, fmt::format("{}: line {}", path_, number_), what);
  }

  TaskLine parse(std::string_view line) const {
    const std::vector<std::string_view> columns = split(line, '\t');
    if (columns.size() < 4 || columns.size() > 5) {
      fail(fmt::format("found {} columns, wants name, kind, files, dev files, options",
                       columns.size()));
    }
    TaskLine task;
    task.name = columns[0] == "-" ? "" : columns[0];
    task.kind = kind_of(columns[1]);
    task.train.files = words_of(columns[2], ',');
    if (columns[3] != "-") task.dev = words_of(columns[3], ',');
    if (task.kind == HeadKind::vectors) task.train.kind = LabelKind::none;
    if (columns.size() == 5) {
      std::set<std::string_view> given;
      for (const std::string_view word : split(columns[4], ' ', EmptyParts::skip)) {
        const std::string_view key = word.substr(0, word.find('='));
        if (!given.insert(key).second) fail(fmt::format("found {} twice", printable(key)));
        set(word, task);
      }
      check_form(task.train);
      for (const auto& [key, kinds] : kOnly) {
        if (given.contains(key) && !kinds[static_cast<size_t>(task.kind)]) {
          fail(fmt::format("found {}, which {} does not take", key, columns[1]));
        }
      }
    }
    if (task.kind == HeadKind::vectors && task.teacher.empty()) fail("vectors want teacher=DIR");
    const bool plain = task.kind == HeadKind::pretrain || task.kind == HeadKind::vectors;
    if (plain != task.name.empty()) {
      fail(plain ? "mlm and vectors have no name of their own: wants -" : "the head wants a name");
    }
    if (!plain && !is_head_name(task.name)) {
      fail(fmt::format("found the head '{}', wants letters, digits, - or _", printable(task.name)));
    }
    return task;
  }

 private:
  HeadKind kind_of(std::string_view word) const {
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      if (word == kKinds[i]) return static_cast<HeadKind>(i);
    }
    fail(fmt::format("found '{}', wants classify, ner, qa, mlm or vectors", printable(word)));
  }

  double number(std::string_view word, std::string_view text, double least,
                double most = 1e6) const {
    const auto value = to_number<double>(text);
    if (!value || !(*value >= least && *value <= most)) {
      fail(fmt::format("found '{}', wants a number from {} to {}", printable(word), least, most));
    }
    return *value;
  }

  void set(std::string_view word, TaskLine& task) const {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(word.size(), equals + 1));
    if (key == "batch") {
      task.batch_size = static_cast<size_t>(number(word, value, 1));
    } else if (key == "length") {
      task.max_length = static_cast<size_t>(number(word, value, 8));
    } else if (key == "weight") {
      task.weight = static_cast<float>(number(word, value, 0));
    } else if (key == "probability") {
      task.mlm_probability = number(word, value, 0, 1);
    } else if (key == "dropout") {
      task.dropout = number(word, value, 0, 0.99);
    } else if (key == "teacher") {
      task.teacher = value;
    } else if (key == "labels") {
      task.labels = words_of(value, ',');
    } else if (key == "fields") {
      task.train.fields = words_of(value, ',');
    } else if (key == "label") {
      task.train.label_field = value;
    } else if (!set_flag(word, task.train)) {
      fail(
          fmt::format("found '{}', wants batch=, length=, weight=, dropout=, probability=, "
                      "teacher=, labels=, fields=, label=, pair, header, csv, no-header, jsonl, "
                      "regression, multi-label or find-answers",
                      printable(word)));
    }
  }

  /// False: it is no word without a value.
  static bool set_flag(std::string_view word, ExampleOptions& train) {
    const std::pair<std::string_view, bool*> flags[] = {{"header", &train.header},
                                                        {"csv", &train.csv},
                                                        {"no-header", &train.no_header},
                                                        {"jsonl", &train.json_lines},
                                                        {"find-answers", &train.find_answers}};
    for (const auto& [name, flag] : flags) {
      if (word == name) return *flag = true;
    }
    if (word == "pair") {
      train.texts = 2;
    } else if (word == "regression") {
      train.kind = LabelKind::number;
    } else if (word == "multi-label") {
      train.kind = LabelKind::several;
    } else {
      return false;
    }
    return true;
  }

  /// Refuses forms of records that exclude each other.
  void check_form(const RecordForm& form) const {
    if (form.json_lines && (form.csv || form.header)) {
      fail(fmt::format("found jsonl and {}, wants one", form.csv ? "csv" : "header"));
    }
    if (form.no_header && (!form.csv || form.header)) {
      fail(form.csv ? "found header and no-header, wants one" : "no-header wants csv");
    }
  }

  std::string path_;
  size_t number_;
};

}  // namespace

std::string kind_name(HeadKind kind) { return std::string(kKinds[static_cast<size_t>(kind)]); }

std::string TaskLine::options_text() const {
  constexpr const char* kLabels[] = {"", " multi-label", " regression", ""};
  return fmt::format("{} batch={} length={} weight={} dropout={} probability={}{}", kind_name(kind),
                     batch_size, max_length, weight,
                     dropout < 0 ? "default" : fmt::format("{}", dropout), mlm_probability,
                     kLabels[static_cast<size_t>(train.kind)]);
}

std::vector<TaskLine> read_task_list(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  refuse_other_kind(file.text(), path, "a list of tasks");
  std::vector<TaskLine> tasks;
  size_t number = 0;
  for (std::string_view rest = file.text(); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const LineParser parser(path, number);
    TaskLine task = parser.parse(line);
    for (const TaskLine& other : tasks) {
      if (!task.name.empty() && task.name == other.name) parser.fail("the head stands twice");
    }
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) throw Error(Error::Kind::usage, path, "lists no task");
  if (std::none_of(tasks.begin(), tasks.end(), [](const TaskLine& t) { return t.weight > 0; })) {
    throw Error(Error::Kind::usage, path, "has only weights of 0: nothing can be learned");
  }
  return tasks;
}

}  // namespace bert
