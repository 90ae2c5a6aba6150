#include <algorithm>
#include <set>

#include "io/conll.h"
#include "nn/loss.h"
#include "tokenizer/windows.h"
#include "tokenizer/words.h"
#include "trainers/example_records.h"

namespace bert {
namespace {

using training::kIgnored;

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

}  // namespace bert
