#include "trainers/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"
#include "io/conll.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "io/record_reader.h"
#include "nn/loss.h"
#include "pipeline/columns.h"
#include "tasks/qa.h"
#include "tokenizer/windows.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

using training::kIgnored;

constexpr size_t kChunkRecords = 1024, kChunkBytes = 1 << 20;

bool read(RecordReader& reader, Chunk& chunk) {
  return reader.next(chunk, kChunkRecords, kChunkBytes, [] { return Busy::none; });
}

/// Reads the files and keeps what they hold.
void keep_records(const ExampleOptions& options, KeptRecords& kept) {
  assert(!options.files.empty());
  kept = {options.files, {}};
  RecordReader reader(options.files, '\n');
  while (read(reader, kept.chunks.emplace_back())) {
    Chunk& chunk = kept.chunks.back();  // its name goes with the reader
    chunk.file = &*std::find(kept.files.begin(), kept.files.end(), *chunk.file);
  }
  kept.chunks.pop_back();
}

/// Calls use(chunk) for each chunk of the files, those that were kept or as they are read.
template <typename Use>
void for_each_chunk(const ExampleOptions& options, const KeptRecords* kept, Use use) {
  if (kept && !kept->chunks.empty() && kept->files == options.files) {
    for (const Chunk& chunk : kept->chunks) use(chunk);
    return;
  }
  RecordReader reader(options.files, '\n');
  for (Chunk chunk; read(reader, chunk);) use(chunk);
}

/// Calls use(record) for each record of the files, with fields chosen by `columns`. If the records
/// are `labelled`, blank records at the end of a file are skipped, as tools with --gold do. Returns
/// how many were skipped.
template <typename Use>
size_t for_each_record(const ExampleOptions& options, const KeptRecords* kept, Columns* columns,
                       bool labelled, Use use) {
  const bool header = columns && options.header;
  std::vector<Record> blanks;  // behind the file's last record so far
  size_t passed_over = 0;
  const auto take = [&](Record record) {
    if (columns) columns->choose(record);
    use(record);
  };
  for_each_chunk(options, kept, [&](const Chunk& chunk) {
    for (size_t i = 0; i < chunk.lines.size(); ++i) {
      Record record;
      record.line = chunk.lines[i];
      record.number = chunk.first_number + i;
      record.number_in_file = chunk.first_in_file + i - (header ? 1 : 0);
      record.file = chunk.file;
      const bool first = chunk.first_of_file() && i == 0;
      if (first) passed_over += std::exchange(blanks, {}).size();
      if (header && first) {
        columns->read_header(record);
        continue;
      }
      if (labelled && record.body().empty()) {
        record.line = {};  // its chunk may go
        blanks.push_back(record);
        continue;
      }
      for (const Record& blank : std::exchange(blanks, {})) take(blank);
      take(record);
    }
  });
  return passed_over + blanks.size();
}

std::optional<double> number_of(std::string_view text) {
  const auto value = to_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The field of the label: the given one, else the field after the texts.
std::string label_field(const ExampleOptions& options, const std::vector<std::string>& texts) {
  double last = 0;
  for (const std::string& field : texts) last = std::max(last, number_of(field).value_or(0));
  if (options.label_field.empty()) {
    return std::to_string(std::max(options.texts, static_cast<size_t>(last)) + 1);
  }
  const auto number = number_of(options.label_field);
  for (const std::string& field : texts) {
    if (field != options.label_field && !(number && number == number_of(field))) continue;
    throw Error::of_field(
        "label_field",
        fmt::format("found {}, which is the field of a text: the label would be learned "
                    "from itself",
                    printable(field)));
  }
  return options.label_field;
}

Columns columns_of(const ExampleOptions& options) {
  StreamOptions stream;
  stream.texts = options.texts;
  stream.header = options.header;
  stream.fields = options.fields;
  if (stream.fields.empty()) {
    for (size_t i = 1; i <= options.texts; ++i) stream.fields.push_back(std::to_string(i));
  }
  if (options.kind == LabelKind::none) return Columns(stream);
  stream.want_field("label_field", label_field(options, stream.fields));
  return Columns(stream);
}

std::vector<std::string> sorted(const std::set<std::string>& labels) {
  std::vector<std::string> all(labels.begin(), labels.end());
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    const auto x = number_of(a), y = number_of(b);
    return x && y ? *x < *y : x.has_value() && !y;
  });
  return all;
}

/// Labels to their numbers.
class LabelIndex {
 public:
  explicit LabelIndex(std::span<const std::string> labels) {
    for (const std::string& label : labels) {
      index_.emplace(label, static_cast<int32_t>(index_.size()));
    }
  }
  int32_t find(std::string_view label, const Record& record) const {
    const auto found = index_.find(std::string(label));
    if (found != index_.end()) return found->second;
    std::string known;
    for (const auto& [name, number] : index_) {
      if (known.size() < 60) known += (known.empty() ? "" : ", ") + printable(name);
    }
    record.fail(Error::Kind::data,
                fmt::format("has the label '{}', wants one of {}", printable(label), known));
  }

 private:
  std::map<std::string, int32_t> index_;
};

void set_label(const Record& record, LabelKind kind, const LabelIndex& index, size_t labels,
               Example& example) {
  if (kind == LabelKind::none) return;
  const std::string_view text = record.extra[0];
  if (kind == LabelKind::number) {
    const auto value = number_of(text);
    if (!value || !std::isfinite(static_cast<float>(*value))) {
      record.fail(Error::Kind::data,
                  fmt::format("has the value '{}', wants a number", printable(text)));
    }
    example.values = {static_cast<float>(*value)};
  } else if (kind == LabelKind::several) {
    example.values.assign(labels, 0.f);
    for (const std::string_view label : split(text, ',', EmptyParts::skip)) {
      example.values[static_cast<size_t>(index.find(label, record))] = 1.f;
    }
  } else {
    if (text.empty()) record.fail(Error::Kind::data, "has no label");
    example.label = index.find(text, record);
  }
}

void finish(const ExampleSet& set, const ExampleOptions& options) {
  if (!set.examples.empty()) return;
  throw Error(Error::Kind::data, options.files.empty() ? "-" : options.files.front(),
              "has no examples to learn from");
}

}  // namespace

uint64_t ExampleSet::hash() const {
  uint64_t hash = examples.size();
  const auto add = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    hash = mix(hash, xxh64({bytes, values.size() * sizeof values[0]}));
  };
  for (const Example& e : examples) {
    add(e.input_ids), add(e.token_type_ids), add(e.values), add(e.token_labels);
    add(std::array<int64_t, 4>{e.label, e.start, e.end, static_cast<int64_t>(e.origin)});
  }
  for (const std::vector<int32_t>& labels : sentences) add(labels);  // also of words without tokens
  for (const Question& question : questions) {
    add(question.context);
    for (const std::string& answer : question.answers) add(answer);
    hash = mix(hash, question.answers.size());
  }
  return hash;
}

void ExampleSet::fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const {
  batch.clear();
  for (const uint32_t index : order) {
    const Example& e = examples[index];
    batch.batch.append(e.input_ids, e.token_type_ids);
    batch.token_labels.insert(batch.token_labels.end(), e.token_labels.begin(),
                              e.token_labels.end());
    batch.values.insert(batch.values.end(), e.values.begin(), e.values.end());
    if (e.values.empty()) batch.sequence_labels.push_back(e.label);
    batch.starts.push_back(e.start);
    batch.ends.push_back(e.end);
  }
}

size_t for_each_text_record(const ExampleOptions& options,
                            const std::function<void(const Record&)>& use) {
  Columns columns = columns_of(options);
  return for_each_record(options, nullptr, &columns, true, use);
}

void check_label(std::string_view label, const std::function<void(const std::string&)>& fail) {
  if (printable(label, 0) == label) return;
  fail(fmt::format(" '{}', wants UTF-8 without control characters", printable(label)));
}

namespace {

void add_label(const Record& record, std::string_view label, std::set<std::string>& labels) {
  if (!labels.emplace(label).second) return;
  check_label(label, [&](const std::string& what) {
    record.fail(Error::Kind::data, "has the label" + what);
  });
}

}  // namespace

std::vector<std::string> labels_of(const ExampleOptions& options, KeptRecords* kept) {
  if (kept) keep_records(options, *kept);
  std::set<std::string> labels;
  Columns columns = columns_of(options);
  for_each_record(options, kept, &columns, true, [&](const Record& record) {
    if (options.kind == LabelKind::several) {
      for (const std::string_view label : split(record.extra[0], ',', EmptyParts::skip)) {
        add_label(record, label, labels);
      }
    } else {
      if (record.extra[0].empty()) record.fail(Error::Kind::data, "has no label");
      add_label(record, record.extra[0], labels);
    }
  });
  return sorted(labels);
}

ExampleSet read_texts(const ExampleOptions& options, const Tokenizer& tokenizer,
                      std::span<const std::string> labels, KeptRecords* kept) {
  ExampleSet set;
  Columns columns = columns_of(options);
  const LabelIndex index(labels);
  Tokenizer::Scratch scratch;
  Encoding encoding;
  const bool labelled = options.kind != LabelKind::none;
  set.blank = for_each_record(options, kept, &columns, labelled, [&](const Record& record) {
    Example example;
    set_label(record, options.kind, index, labels.size(), example);
    encoding.clear();
    if (options.texts == 2) {
      tokenizer.encode_pair(record.text, record.text_pair, options.encode, encoding, scratch);
    } else {
      tokenizer.encode(record.text, options.encode, encoding, scratch);
    }
    set.cut += encoding.dropped > 0;
    set.empty += std::count(encoding.sequence_ids.begin(), encoding.sequence_ids.end(),
                            kSpecialToken) == static_cast<ptrdiff_t>(encoding.size());
    set.counts.add(encoding, tokenizer.unk_id());
    set.counts.end_text();
    example.input_ids = encoding.input_ids;
    example.token_type_ids = encoding.token_type_ids;
    example.origin = set.origins++;
    set.examples.push_back(std::move(example));
  });
  if (kept) kept->chunks.clear();
  finish(set, options);
  return set;
}

// ---- CoNLL

namespace {

/// Calls word(record, word, label) for each word and sentence_end() after each sentence.
template <typename Word, typename End>
void for_each_word(const ExampleOptions& options, const KeptRecords* kept, Word word,
                   End sentence_end) {
  for_each_record(options, kept, nullptr, false, [&](const Record& record) {
    if (record.number_in_file == 1) sentence_end();  // of the file before
    const ConllLine line = parse_conll(record.body());
    if (line.line.empty()) return sentence_end();
    if (line.word.empty()) return;  // -DOCSTART-
    if (line.label.empty()) {
      record.fail(Error::Kind::data, "has one column, wants a word and its label");
    }
    word(record, line.word, line.label);
  });
  sentence_end();
}

/// Makes the examples of a sentence: windows as ner reads them.
class SentenceBuilder {
 public:
  SentenceBuilder(const ExampleOptions& options, const Tokenizer& tokenizer, ExampleSet& set)
      : encode_(options.encode), tokenizer_(tokenizer), set_(set), scored_(options.scored) {
    encode_.add_special_tokens = false;
    encode_.max_length = 0;
    room_ = options.encode.max_length - tokenizer.added_tokens_single();
    stride_ = window_stride(room_, options.stride);
  }
  void add(std::string_view word, int32_t label) {
    if (labels_.empty()) {
      tokenizer_.encode(word, encode_, encoding_, scratch_);
    } else {
      encode_behind_blank(tokenizer_, word, encode_, encoding_, scratch_);
    }
    set_.counts.add(encoding_, tokenizer_.unk_id());
    for (size_t i = 0; i < encoding_.size(); ++i) {
      ids_.push_back(encoding_.input_ids[i]);
      firsts_.push_back(i == 0 ? static_cast<int32_t>(labels_.size()) : kIgnored);
    }
    labels_.push_back(label);
  }
  void end() {
    if (labels_.empty()) return;
    cut_windows(ids_.size(), room_, stride_, windows_);
    for (size_t w = 0; w < windows_.size(); ++w) add_window(w);
    if (scored_) set_.sentences.push_back(labels_);
    set_.counts.end_text();
    ++set_.origins;
    ids_.clear();
    firsts_.clear();
    labels_.clear();
  }

 private:
  void add_window(size_t w) {
    Example e;
    encoding_.clear();
    FramedText framed(tokenizer_.frame(), encoding_);
    e.token_labels.resize(tokenizer_.frame().before.size(), kIgnored);
    for (size_t t = windows_[w].first; t < windows_[w].end(); ++t) {
      const bool learned = firsts_[t] != kIgnored && owns_token(windows_, w, t);
      framed.push(ids_[t], {}, -1);
      e.token_labels.push_back(learned ? labels_[static_cast<size_t>(firsts_[t])] : kIgnored);
      if (learned && scored_) e.words.push_back(firsts_[t]);
    }
    framed.finish();
    e.token_labels.resize(encoding_.size(), kIgnored);
    e.input_ids = encoding_.input_ids;
    e.token_type_ids = encoding_.token_type_ids;
    e.origin = set_.origins;
    set_.examples.push_back(std::move(e));
  }

  EncodeOptions encode_;
  const Tokenizer& tokenizer_;
  ExampleSet& set_;
  const bool scored_;
  size_t room_, stride_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
  std::vector<int32_t> ids_, firsts_;  ///< [tokens]: of a word's first piece, the word
  std::vector<int32_t> labels_;        ///< [words]
  std::vector<TokenWindow> windows_;
};

}  // namespace

std::vector<std::string> conll_labels(const ExampleOptions& options, KeptRecords* kept) {
  if (kept) keep_records(options, *kept);
  std::set<std::string> labels;
  for_each_word(
      options, kept,
      [&](const Record& record, std::string_view, std::string_view label) {
        add_label(record, label, labels);
      },
      [] {});
  std::vector<std::string> all(labels.begin(), labels.end());
  // O first, as everybody has it.
  std::stable_partition(all.begin(), all.end(), [](const std::string& l) { return l == "O"; });
  return all;
}

ExampleSet read_conll(const ExampleOptions& options, const Tokenizer& tokenizer,
                      std::span<const std::string> labels, KeptRecords* kept) {
  ExampleSet set;
  const LabelIndex index(labels);
  SentenceBuilder builder(options, tokenizer, set);
  for_each_word(
      options, kept,
      [&](const Record& record, std::string_view word, std::string_view label) {
        builder.add(word, index.find(label, record));
      },
      [&] { builder.end(); });
  if (kept) kept->chunks.clear();
  finish(set, options);
  return set;
}

// ---- questions

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
