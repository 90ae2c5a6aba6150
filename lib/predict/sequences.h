#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "directory/pair_template.h"
#include "predict/static_text.h"
#include "predict/task.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// A text, or a pair of texts.
struct Text {
  std::string_view text;
  std::optional<std::string_view> pair = {};
};

/// How a pair is read as one text. The last tokens of it, the suffix, also stand behind a pair that
/// was cut.
struct PairText {
  PairTemplate form;
  std::vector<int32_t> suffix;

  /// `instruction`: see PairTemplate::text.
  static PairText open(PairTemplate form, const Tokenizer& tokenizer,
                       const std::string& instruction);
};

/// How texts become sequences.
struct ReadOptions {
  EncodeOptions encode;  ///< max_length is set
  Overflow overflow = Overflow::cut;
  size_t stride = TaskSpec().stride;  ///< tokens that two windows share
  std::string prompt = {};            ///< put before every text
  const PairText* pairs = nullptr;    ///< pairs are read as one text, the prompt is its instruction
  const StaticText* fixed = nullptr;  ///< static vectors, by whose rule texts are cut
  std::string limit_source = {};      ///< the setting that limits max_length, if it needs telling
};

/// What reading a text found, besides its tokens.
struct Reading {
  bool cut = false;           ///< the end was left out before the text became tokens
  size_t dropped = 0;         ///< tokens that truncation removed, or that windows saved
  size_t replaced_bytes = 0;  ///< maximal invalid UTF-8 parts read as U+FFFD
  size_t tokens[2] = {};      ///< tokens of each text, without special tokens and the prompt
  size_t unknown[2] = {};     ///< tokens that the vocabulary lacks
  std::string no_room = {};   ///< why windows have no room: the sequence is cut instead

  /// What an encoding tells; bytes `own` of its texts count.
  static Reading of(const Encoding& encoding, int32_t unk_id, Offset own = {0, UINT32_MAX});
};

/// The sequences that a model reads of some texts: one of each text or, in windows, several.
class BERT_API Sequences {
 public:
  void clear();
  /// One more sequence of text number `text`, empty. Numbers ascend.
  Encoding& add(size_t text);
  /// Takes the last back.
  void drop() { --count_, texts_.pop_back(); }

  size_t size() const { return count_; }
  const Encoding& operator[](size_t i) const { return encodings_[i]; }
  std::span<const Encoding> encodings() const { return {encodings_.data(), count_}; }
  std::span<const size_t> texts() const { return texts_; }  ///< [size()] the text of each
  /// The end of the sequences, from `first` on, that are of the same text.
  size_t end_of_text(size_t first) const;

 private:
  std::vector<Encoding> encodings_;  // the first count_ are in use; the memory of others is kept
  size_t count_ = 0;
  std::vector<size_t> texts_;
};

/// Reads texts into sequences. One per thread; borrows the tokenizer.
class BERT_API TextReader {
 public:
  TextReader(const Tokenizer& tokenizer, const ReadOptions& options)
      : tokenizer_(tokenizer), options_(options) {}

  const ReadOptions& options() const { return options_; }
  Tokenizer::Scratch& scratch() { return scratch_; }

  /// Appends the sequences of a text. Throws Error as Tokenizer::encode.
  Reading read(const Text& text, size_t number, Sequences& to);
  /// Appends the windows of a pair, with this stride. Throws Error(usage) if the first text leaves
  /// them no room.
  Reading read_windows(const Text& text, size_t stride, size_t number, Sequences& to);

 private:
  void encode(const Text& text, Encoding& out);
  void cut_windows(const Text& text, size_t stride);
  void add_windows(size_t number, Sequences& to);

  const Tokenizer& tokenizer_;
  const ReadOptions options_;
  Tokenizer::Scratch scratch_;
  std::string prompted_;
  std::vector<Encoding> windows_;
};

}  // namespace bert
