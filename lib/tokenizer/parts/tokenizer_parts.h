#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/charsmap.h"
#include "text/normal_form.h"
#include "text/normalizer.h"
#include "tokenizer/parts/word_pattern.h"

namespace bert {

/// One step of a normalizer. A Sequence is several.
struct NormalizerPart {
  enum class Kind {
    bert,
    normal_form,
    lowercase,
    strip,
    strip_accents,
    replace_text,    ///< each `pattern` by `content`
    replace_blanks,  ///< runs of two blanks or more, the pattern " {2,}"
    replace_white,   ///< the pattern "\s{2,}|[\n\r\t]" of DebertaV2Tokenizer
    prepend,
    precompiled,
  };
  Kind kind = Kind::bert;
  NormalizerOptions bert;
  NormalForm form = NormalForm::nfc;
  bool left = false, right = false;  ///< strip: the ends that lose white space
  bool only_blanks = false;          ///< strip: blanks alone, no other white space
  std::string pattern, content;  ///< replace_text and prepend; `content`: all kinds that replace
  std::optional<Charsmap> charsmap;  ///< precompiled
};

/// What becomes of the text that a pattern found (SplitDelimiterBehavior of tokenizers).
enum class SplitBehaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// One step of a pre-tokenizer.
struct PreTokenizerPart {
  enum class Kind {
    bert,
    byte_level,
    metaspace,
    whitespace_split,
    whitespace,
    punctuation,
    split_text,   ///< at each `pattern`
    split_words,  ///< at the words of `words`
  };
  enum class Prepend { always, first, never };
  Kind kind = Kind::bert;
  bool add_prefix_space = false;  ///< byte_level
  bool use_regex = true;
  std::string replacement = "\xE2\x96\x81";  ///< metaspace
  Prepend prepend = Prepend::always;
  bool split = true;
  SplitBehaviour behaviour = SplitBehaviour::isolated;  ///< split and punctuation
  bool invert = false;
  std::string pattern;
  WordPattern words = WordPattern::gpt2;
};

/// One step of a decoder.
struct DecoderPart {
  enum class Kind { wordpiece, byte_level, metaspace, bpe, byte_fallback, fuse, replace, strip };
  Kind kind = Kind::wordpiece;
  std::string prefix = "##";  ///< wordpiece
  bool cleanup = true;
  std::string suffix;                        ///< bpe
  std::string replacement = "\xE2\x96\x81";  ///< metaspace
  bool drops_first = true;                   ///< metaspace: the first token's blank is none
  std::string pattern, content;              ///< replace; `content` of one character: strip
  size_t start = 0, stop = 0;  ///< strip: how many characters go at the begin and the end
};

/// The model and its tables, beside the vocabulary.
struct SubwordPart {
  enum class Kind { wordpiece, bpe, unigram };
  Kind kind = Kind::wordpiece;
  size_t max_chars_per_word = 100;  ///< wordpiece
  // BPE
  std::optional<std::string> unk_token;
  bool fuse_unk = false;
  bool byte_fallback = false;  ///< unigram has it, too
  bool ignore_merges = false;
  std::string prefix, suffix;
  std::vector<std::pair<std::string, std::string>> merges;
  // Unigram
  std::vector<double> scores;  ///< [vocabulary]
  std::optional<int32_t> unk_id;
  std::string where;  ///< the tables' place, for messages
};

/// A tokenizer as a composition, whatever file it was read from.
struct TokenizerParts {
  std::vector<NormalizerPart> normalizers;
  std::vector<PreTokenizerPart> pre_tokenizers;
  SubwordPart model;
  std::vector<DecoderPart> decoders;
  bool has_decoder = false;  ///< without one decode() puts blanks between the tokens
};

}  // namespace bert
