#include "trainers/question_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "predict/answers.h"
#include "tokenizer/windows.h"
#include "trainers/answer_place.h"
#include "trainers/example_records.h"
#include "trainers/squad.h"

namespace bert {
namespace {

class QuestionBuilder {
 public:
  QuestionBuilder(const ExampleOptions& options, const Tokenizer& tokenizer, ExampleSet& set)
      : options_(options), tokenizer_(tokenizer), set_(set) {
    encode_ = options.encode;
    encode_.truncation = task_spec(TaskKind::question_answering).truncation;
  }
  /// The answer at byte `begin` of the context; `length` 0: none.
  void add(std::string_view question, Question q, size_t begin, size_t length) {
    question = fit_question(tokenizer_, encode_, question, question_, scratch_);
    const size_t room = encode_.max_length - tokenizer_.added_tokens_pair() - question_.size();
    const size_t stride = window_stride(room, options_.stride);
    q.step = room - stride;
    tokenizer_.encode_pair_windows(question, q.context, encode_, stride, windows_, scratch_);
    set_.counts.add(windows_.front(), tokenizer_.unk_id());
    set_.counts.end_text();
    for (const Encoding& window : windows_) {
      Example e;
      e.input_ids = window.input_ids;
      e.token_type_ids = window.token_type_ids;
      e.origin = set_.origins;
      size_t first = window.size(), last = 0;  // tokens of the answer
      bool from_begin = false, to_end = false;
      const Encoding::Range context = window.range(1);
      for (size_t t = context.begin; t < context.end; ++t) {
        const Offset offset = window.offsets[t];
        if (length == 0 || offset.end <= begin || offset.begin >= begin + length) continue;
        first = std::min(first, t);
        last = t;
        from_begin |= offset.begin <= begin;
        to_end |= offset.end >= begin + length;
      }
      // A window that holds part of the answer only says that it is not here.
      if (from_begin && to_end) {
        e.start = static_cast<int32_t>(first);
        e.end = static_cast<int32_t>(last);
      }
      set_.examples.push_back(std::move(e));
    }
    set_.cut += windows_.size() > 1;
    set_.unanswered += q.answers.empty();
    if (options_.keep_texts) set_.texts.emplace_back(question);
    if (options_.scored) {
      set_.encodings.insert(set_.encodings.end(), windows_.begin(), windows_.end());
      set_.questions.push_back(std::move(q));
    }
    ++set_.origins;
  }

 private:
  const ExampleOptions& options_;
  const Tokenizer& tokenizer_;
  ExampleSet& set_;
  EncodeOptions encode_;
  Tokenizer::Scratch scratch_;
  Encoding question_;
  std::vector<Encoding> windows_;
};

/// Finds the answers of questions in their contexts.
class AnswerReader {
 public:
  AnswerReader(const ExampleOptions& options, const Tokenizer& tokenizer, ExampleSet& set)
      : find_(options.find_answers), set_(set), builder_(options, tokenizer, set) {}

  /// Learns the first answer only, the others are for scores.
  void add(const SquadQuestion& from) {
    Question q{std::string(from.context), {}};
    for (const SquadQuestion::Given& answer : from.answers) q.answers.emplace_back(answer.text);
    if (from.answers.empty()) return builder_.add(from.question, std::move(q), 0, 0);
    const SquadQuestion::Given& first = from.answers.front();
    const int64_t start = (first.start ? *first.start : first.place.at("answer_start")).as_int();
    const size_t begin = byte_of(from.context, start, StartUnit::code_points);
    if (stands_at(from.context, begin, first.text)) {
      return builder_.add(from.question, std::move(q), begin, first.text.size());
    }
    if (!find_) {
      const std::string id = from.id.empty() ? "" : fmt::format(" (id {})", from.id);
      throw Error(Error::Kind::data, first.place.where() + id,
                  misplaced(from.context, start, StartUnit::code_points, first.text));
    }
    for (const SquadQuestion::Given& answer : from.answers) {
      if (add_found(from.question, q, begin, answer.text)) return;
    }
    ++set_.left_out;
  }

  /// A record of question, context, answer and maybe the byte where the answer begins.
  void add(const Record& record) {
    const std::string_view answer = record.field(2), line = record.body();
    Question q{std::string(record.field(1)), {}};
    if (answer.empty()) return builder_.add(record.field(0), std::move(q), 0, 0);
    q.answers.emplace_back(answer);
    size_t begin = q.context.find(answer);
    int64_t start = 0;
    const bool given = std::count(line.begin(), line.end(), '\t') > 2;
    if (given) {
      start = start_of(record);
      begin = byte_of(q.context, start, StartUnit::bytes);
    }
    if (stands_at(q.context, begin, answer)) {
      return builder_.add(record.field(0), std::move(q), begin, answer.size());
    }
    if (!find_ && given) {
      record.fail(Error::Kind::data, misplaced(q.context, start, StartUnit::bytes, answer));
    }
    if (!find_) record.fail(Error::Kind::data, "its answer is not in the context");
    if (!add_found(record.field(0), q, begin, answer)) ++set_.left_out;
  }

 private:
  static int64_t start_of(const Record& record) {
    const std::string_view field = record.field(3);
    const auto value = number_of(field);
    constexpr double kMost = 1e15;
    if (!value || *value != std::trunc(*value) || std::abs(*value) > kMost) {
      record.fail(Error::Kind::data,
                  fmt::format("has '{}' in field 4, wants the byte of the context at which the "
                              "answer begins, or three fields",
                              printable(field)));
    }
    return static_cast<int64_t>(*value);
  }
  bool add_found(std::string_view question, Question& q, size_t begin, std::string_view answer) {
    begin = nearest_place(q.context, begin, answer);
    if (begin == q.context.npos) return false;
    ++set_.moved;
    builder_.add(question, std::move(q), begin, answer.size());
    return true;
  }

  const bool find_;
  ExampleSet& set_;
  QuestionBuilder builder_;
};

/// Returns how many blank records were passed over.
size_t read_question_lines(const std::string& path, Wanted wanted, AnswerReader& reader) {
  ExampleOptions options;
  options.files = {path};
  options.wanted = wanted == Wanted::anything ? wanted : Wanted::either;
  return for_each_record(options, nullptr, nullptr, true, [&](const Record& record) {
    if (!is_json_record(record)) return reader.add(record);
    read_flat_question(record, [&](const SquadQuestion& question) { reader.add(question); });
  });
}

}  // namespace

ExampleSet read_questions(const ExampleOptions& options, const Tokenizer& tokenizer) {
  ExampleSet set;
  AnswerReader reader(options, tokenizer, set);
  const auto use = [&](const SquadQuestion& question) { reader.add(question); };
  for (const std::string& path : options.files) {
    if (path.ends_with(".json") && read_squad(path, use)) continue;
    set.blank += read_question_lines(path, options.wanted, reader);
  }
  finish(set, options);
  return set;
}

}  // namespace bert
