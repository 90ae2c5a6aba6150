#include "trainers/conll_examples.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "io/conll.h"
#include "nn/loss.h"
#include "tokenizer/windows.h"
#include "tokenizer/words.h"
#include "trainers/example_records.h"

namespace bert {
namespace {

/// Reads sentences of CoNLL columns, and passes comments and -DOCSTART- over. All sentences of a
/// file have words of as many columns.
class SentenceReader {
 public:
  using Word = std::function<void(const Record&, std::string_view word, std::string_view label)>;
  /// Calls word(record, word, label) for each word and end() after each sentence.
  SentenceReader(const ExampleOptions& options, Word word, std::function<void()> end)
      : options_(options), word_(std::move(word)), end_(std::move(end)) {}

  void read(const KeptRecords* kept) {
    for_each_record(options_, kept, nullptr, false, [&](const Record& record) {
      if (record.number_in_file == 1) end_file();  // the file before
      const std::string_view body = record.body();
      if (parse_conll(body).line.empty()) return end_sentence();
      lines_.push_back({record, std::string(body)});  // its chunk may go
      Record& copy = lines_.back().record;
      copy.file = &*std::find(options_.files.begin(), options_.files.end(), *record.file);
    });
    end_file();
  }
  size_t comments() const { return comments_; }

 private:
  struct Line {
    Record record;
    std::string text;
  };

  static std::vector<ConllLine> parse(const std::vector<Line>& sentence) {
    std::vector<ConllLine> lines;
    for (const Line& line : sentence) lines.push_back(parse_conll(line.text));
    return lines;
  }
  void end_sentence() {
    if (first_.empty()) {
      const std::vector<ConllLine> lines = parse(lines_);
      if (const ConllLine* word = sure_word(lines)) first_ = word->line;
    }
    if (!lines_.empty()) waiting_.push_back(std::exchange(lines_, {}));
    if (!first_.empty()) take_all();
  }
  /// A file without a sure word has words "#" only.
  void end_file() {
    end_sentence();
    take_all();
    first_.clear();
  }
  void take_all() {
    for (const std::vector<Line>& sentence : waiting_) take(sentence);
    waiting_.clear();
  }
  void take(const std::vector<Line>& sentence) {
    std::vector<ConllLine> lines = parse(sentence);
    const auto fail = [&](size_t line, const std::string& what) {
      sentence[line].record.fail(Error::Kind::data, what);
    };
    const ConllLine first = parse_conll(first_);
    check_sentence(lines, true, fail, first_.empty() ? nullptr : &first);
    bool words = false;
    for (size_t i = 0; i < lines.size(); ++i) {
      comments_ += lines[i].comment;
      if (!lines[i].has_word()) continue;
      word_(sentence[i].record, lines[i].word, lines[i].label);
      words = true;
    }
    if (words) end_();
  }

  const ExampleOptions& options_;
  Word word_;
  std::function<void()> end_;
  std::vector<Line> lines_;
  std::vector<std::vector<Line>> waiting_;  ///< until the file's first sure word
  std::string first_;                       ///< the line of the file's first sure word
  size_t comments_ = 0;
};

/// Makes the examples of a sentence: windows as ner reads them.
class SentenceBuilder {
 public:
  SentenceBuilder(const ExampleOptions& options, const Tokenizer& tokenizer, ExampleSet& set)
      : encode_(options.encode),
        tokenizer_(tokenizer),
        set_(set),
        scored_(options.scored),
        kept_(options.keep_texts) {
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
      firsts_.push_back(i == 0 ? static_cast<int32_t>(labels_.size()) : nn::kIgnored);
    }
    labels_.push_back(label);
    if (kept_) text_ += (text_.empty() ? "" : " ") + std::string(word);
  }
  void end() {
    if (labels_.empty()) return;
    cut_windows(ids_.size(), room_, stride_, windows_);
    for (size_t w = 0; w < windows_.size(); ++w) add_window(w);
    if (scored_) set_.sentences.push_back(labels_);
    if (kept_) set_.texts.push_back(std::exchange(text_, ""));
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
    e.token_labels.resize(tokenizer_.frame().before.size(), nn::kIgnored);
    for (size_t t = windows_[w].first; t < windows_[w].end(); ++t) {
      const bool learned = firsts_[t] != nn::kIgnored && owns_token(windows_, w, t);
      framed.push(ids_[t], {}, -1);
      e.token_labels.push_back(learned ? labels_[static_cast<size_t>(firsts_[t])] : nn::kIgnored);
      if (learned && scored_) e.words.push_back(firsts_[t]);
    }
    framed.finish();
    e.token_labels.resize(encoding_.size(), nn::kIgnored);
    e.input_ids = encoding_.input_ids;
    e.token_type_ids = encoding_.token_type_ids;
    e.origin = set_.origins;
    set_.examples.push_back(std::move(e));
  }

  EncodeOptions encode_;
  const Tokenizer& tokenizer_;
  ExampleSet& set_;
  const bool scored_, kept_;
  std::string text_;
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
  SentenceReader reader(
      options,
      [&](const Record& record, std::string_view, std::string_view label) {
        add_label(record, label, labels);
      },
      [] {});
  reader.read(kept);
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
  SentenceReader reader(
      options,
      [&](const Record& record, std::string_view word, std::string_view label) {
        builder.add(word, index.find(label, record));
      },
      [&] { builder.end(); });
  reader.read(kept);
  set.comments = reader.comments();
  if (kept) kept->chunks.clear();
  finish(set, options);
  return set;
}

}  // namespace bert
