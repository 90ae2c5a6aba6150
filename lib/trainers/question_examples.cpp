#include <algorithm>

#include "io/json.h"
#include "tasks/qa.h"
#include "tokenizer/windows.h"
#include "trainers/example_records.h"

namespace bert {
namespace {

/// Byte of the code point `index` of `text`.
size_t byte_of(std::string_view text, size_t index) {
  size_t byte = 0;
  for (; byte < text.size(); ++byte) {
    if ((static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80) continue;
    if (index-- == 0) break;
  }
  return byte;
}

class QuestionBuilder {
 public:
  QuestionBuilder(const ExampleOptions& options, const Tokenizer& tokenizer, ExampleSet& set)
      : options_(options), tokenizer_(tokenizer), set_(set) {
    encode_ = options.encode;
    encode_.truncation = Truncation::only_second;
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

void read_squad(const std::string& path, QuestionBuilder& builder) {
  const JsonDocument document = JsonDocument::open(path, uint64_t{1} << 30);
  document.root().at("data").for_each_element([&](Json article) {
    article.at("paragraphs").for_each_element([&](Json paragraph) {
      const std::string_view context = paragraph.at("context").as_string();
      paragraph.at("qas").for_each_element([&](Json qa) {
        Question q{std::string(context), {}};
        size_t begin = 0, length = 0;
        qa.at("answers").for_each_element([&](Json answer) {
          const std::string_view text = answer.at("text").as_string();
          if (q.answers.empty()) {
            const int64_t start = answer.at("answer_start").as_int();
            begin = byte_of(context, start < 0 ? context.size() : static_cast<size_t>(start));
            length = text.size();
            if (begin + length > context.size()) {
              throw Error(Error::Kind::data, answer.where(), "the answer ends after its context");
            }
          }
          q.answers.emplace_back(text);
        });
        builder.add(qa.at("question").as_string(), std::move(q), begin, length);
      });
    });
  });
}

/// Returns how many blank records were passed over.
size_t read_question_lines(const std::string& path, QuestionBuilder& builder) {
  ExampleOptions options;
  options.files = {path};
  return for_each_record(options, nullptr, nullptr, true, [&](const Record& record) {
    const std::string_view answer = record.field(2);
    Question q{std::string(record.field(1)), {}};
    size_t begin = q.context.find(answer);
    const std::string_view line = record.body();
    if (std::count(line.begin(), line.end(), '\t') > 2) {
      const auto value = number_of(record.field(3));
      begin = value && *value >= 0 ? static_cast<size_t>(*value) : q.context.npos;
    }
    if (!answer.empty()) {
      if (begin > q.context.size() || q.context.compare(begin, answer.size(), answer) != 0) {
        record.fail(Error::Kind::data, "its answer is not in the context");
      }
      q.answers.emplace_back(answer);
    }
    builder.add(record.field(0), std::move(q), answer.empty() ? 0 : begin, answer.size());
  });
}

}  // namespace

ExampleSet read_questions(const ExampleOptions& options, const Tokenizer& tokenizer) {
  ExampleSet set;
  QuestionBuilder builder(options, tokenizer, set);
  for (const std::string& path : options.files) {
    if (path.ends_with(".json")) {
      read_squad(path, builder);
    } else {
      set.blank += read_question_lines(path, builder);
    }
  }
  finish(set, options);
  return set;
}

}  // namespace bert
