#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encoding.h"

namespace bert {

/// Special tokens that a configuration names ("cls_token"), in the order in which they are added to
/// a vocabulary.
enum class Special { unk, sep, pad, cls, mask, bos, eos };
/// [Special] the names of the names.
inline constexpr std::array<std::string_view, 7> kSpecialKeys = {"unk",  "sep", "pad", "cls",
                                                                 "mask", "bos", "eos"};

/// A value for each special token.
template <typename T>
struct BySpecial {
  std::array<T, kSpecialKeys.size()> values{};  ///< [Special]

  T& operator[](Special s) { return values[static_cast<size_t>(s)]; }
  const T& operator[](Special s) const { return values[static_cast<size_t>(s)]; }
};
using SpecialNames = BySpecial<std::string>;

/// The special tokens that stand in a text or are asked for by name; bos and eos only tell a frame.
inline constexpr Special kNamedTokens[] = {Special::unk, Special::sep, Special::pad, Special::cls,
                                           Special::mask};

/// A special token that the tokenizer puts beside a text.
struct FrameToken {
  std::string token;
  int32_t type_id = 0;
  int32_t id = -1;
};

/// The special tokens around one text, or around a pair of texts:
///
///   before A after        before A between B after
///
/// What they are is data, read from the tokenizer's files:
///
///   BERT             [CLS] A [SEP]      [CLS] A [SEP] B [SEP]        types 0, of B and its [SEP] 1
///   RoBERTa, MPNet   <s> A </s>         <s> A </s> </s> B </s>       types 0
struct Frame {
  std::vector<FrameToken> before, between, after;
  int32_t type_ids[2] = {0, 0};  ///< types of the first and the second text

  size_t added() const { return before.size() + between.size() + after.size(); }
};

/// The frame of one text, and that of a pair.
struct Frames {
  Frame single, pair;

  /// Calls use(token) for each of both.
  template <typename Use>
  void for_each(Use use) {
    for (Frame* frame : {&single, &pair}) {
      for (auto* tokens : {&frame->before, &frame->between, &frame->after}) {
        for (FrameToken& token : *tokens) use(token);
      }
    }
  }
};

/// A language of texts that a tokenizer knows: a token beside the text tells it.
struct Language {
  std::string name;  ///< as users say it: en for the token __en__
  int32_t id = -1;
};

/// The languages of a tokenizer of many languages, and where their token stands.
struct Languages {
  std::vector<Language> list;  ///< in id order; empty: the tokenizer knows none
  bool behind = false;         ///< the token is the last of the frame, not the first (mBART)
  int32_t source = -1;         ///< the language of a text, unless the user says another
  int32_t target = -1;         ///< the one of its translation; -1: the files do not say

  /// The language of this name; nullptr: there is none.
  const Language* find(std::string_view name) const;
  /// The names that are nearest to one that is none, at most `count`.
  std::vector<std::string_view> near(std::string_view name, size_t count) const;
};

/// A frame as a class of tokenizers has it: names of special tokens around A, and around A and B,
/// with the type id where it is not 0. See classes.cpp.
struct FrameTemplate {
  std::string_view single, pair;
};
inline constexpr FrameTemplate kBertFrame{"cls A sep", "cls A sep B:1 sep:1"};
inline constexpr FrameTemplate kRobertaFrame{"cls A sep", "cls A sep sep B sep"};

Frames make_frames(const FrameTemplate& pattern, const SpecialNames& names);

/// Writes the tokens of one text, or of two, inside their frame at the end of an Encoding:
///
///   FramedText text(tokenizer.frame(), encoding);
///   text.push(id, offset, word) ..            tokens of A
///   text.next(); text.push(..) ..             tokens of B, if the frame is that of a pair
///   text.finish();
class FramedText {
 public:
  /// Borrows both. With `special` false the special tokens are left out, their types are kept.
  FramedText(const Frame& frame, Encoding& out, bool special = true)
      : frame_(frame), out_(out), special_(special) {
    if (!special) out.omitted = frame.before.size();
    add(frame.before);
    out.window_begin = out.size();
  }
  void push(int32_t id, Offset offset, int32_t word) {
    out_.push(id, frame_.type_ids[sequence_], offset, sequence_, word);
  }
  void push(const Piece& piece) { push(piece.id, piece.offset, piece.word); }
  void next() {
    add(frame_.between);
    sequence_ = 1;
    out_.window_begin = out_.size();
  }
  void finish() { add(frame_.after); }

 private:
  void add(const std::vector<FrameToken>& tokens) {
    if (!special_) return;
    for (const FrameToken& t : tokens) out_.push(t.id, t.type_id, {}, kSpecialToken, -1);
  }

  const Frame& frame_;
  Encoding& out_;
  const bool special_;
  int8_t sequence_ = 0;
};

}  // namespace bert
