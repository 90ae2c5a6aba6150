#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"
#include "tokenizer/frame.h"

namespace bert {

struct TokenizerFlags;
struct TokenizerParts;

/// What a class of transformers makes its tokenizer from.
enum class ClassSource {
  /// BERT's WordPiece, built anew from the vocabulary and the flags, whatever else tokenizer.json
  /// says.
  wordpiece,
  /// vocab.txt, each line of which is an added token: nothing else is found in a text.
  listed,
  /// The byte-level BPE of RoBERTa: vocab.json and merges.txt, or what tokenizer.json says but for
  /// the flags.
  byte_level,
  /// source.spm or target.spm, whose pieces have the ids of vocab.json.
  marian,
  /// A model of sentencepiece, whose pieces have the ids of vocab.json, in the same way.
  named_pieces,
  /// What tokenizer.json says, or a model file of sentencepiece.
  written,
};

/// How a class makes a tokenizer of a model file of sentencepiece (sentencepiece_parts.h).
struct SentencePieceRules {
  /// The ids: those of the file, or others that begin with the special tokens of fairseq.
  /// `pegasus`: padding, the end, two masks and 101 unused tokens come first.
  enum class Order { file, fairseq, fairseq_unused, pegasus };
  /// `blanks`: the charsmap, then one blank for several, and no other cut than at blanks.
  enum class Normalizer { charsmap, albert, deberta, blanks };

  Order order = Order::file;
  std::optional<int32_t> unk_id{};  ///< nullopt: that of the piece with the unknown token's name
  Normalizer normalizer = Normalizer::charsmap;
  bool lowercase = false;    ///< do_lower_case, where no file says it
  bool mask_lstrip = false;  ///< the mask token takes the white space on its left
  bool sentinels = false;    ///< T5's <extra_id_99> .. <extra_id_0> stand behind the pieces
};

/// How a class builds its tokenizer anew of the tables of a tokenizer.json (class_parts.h). The
/// special tokens around a text are those of that file.
struct RebuildRules {
  bool of_unigram = false;    ///< the file's model is Unigram; else BPE
  bool unless_bytes = false;  ///< a file with ByteLevel is what it says
  bool own_frame = false;     ///< the frame is that of the class, whatever the file says
  bool sentinels = false;     ///< T5's <extra_id_0> .. are special tokens
  /// vocab.json and merges.txt have the tables, too. Flags of the configuration then say which
  /// special tokens stand around a text.
  bool of_vocab_json = false;
  void (*rebuild)(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
};

/// How a class knows the languages of texts: as special tokens beside them.
struct LanguageRules {
  std::string_view source;  ///< the language of a text, where no file says another
  /// What such tokens look like: a small letter, a capital and a digit stand for any, other
  /// characters for themselves.
  std::string_view like = {};
  bool behind = false;  ///< the token is the last of the frame, else the first
  /// Names of languages, with a blank between two, in the order of their ids behind the vocabulary.
  std::string_view names = {};
  std::string_view marks = {};        ///< before and behind a name in its token: __ of __en__
  std::string_view other_names = {};  ///< where language_codes is wmt21
};

/// [Special] BERT's special tokens.
inline constexpr BySpecial<std::string_view> kBertNames{
    {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]", "[CLS]", "[SEP]"}};

/// A tokenizer class of transformers: a row of the table in classes.cpp. A class whose tokenizer is
/// what tokenizer.json says is a row with a name and no more.
struct TokenizerClass {
  std::string_view name;  ///< without "Fast"
  ClassSource source = ClassSource::written;
  BySpecial<std::string_view> names = kBertNames;  ///< special tokens that no file names
  FrameTemplate frame = kBertFrame;                ///< where tokenizer.json does not say it
  /// RoBERTa's rule for offsets: they go without white space. The mask token takes that on its
  /// left.
  bool trims_offsets = false;
  /// Another type of models that has it, spelt as a class of its own would be; "": none.
  std::string_view other_type = {};
  bool own_tokens = true;  ///< false: special tokens are only those that the files name
  std::optional<SentencePieceRules> sentencepiece{};  ///< nullopt: it reads no such file
  std::optional<RebuildRules> rebuild{};              ///< nullopt: the file's parts stay
  std::optional<LanguageRules> languages{};           ///< nullopt: it knows none
};

std::span<const TokenizerClass> tokenizer_classes();
/// The class with this name, nullptr if there is none.
const TokenizerClass* find_class(std::string_view name);
/// The names of languages that some class knows, with a blank between two.
BERT_API std::string known_languages();
/// The class of a model type: the one that is named as it, but for capitals and hyphens, or another
/// that transformers has for it; nullptr: none.
const TokenizerClass* class_of_type(std::string_view model_type);

/// Whether transformers reads tokenizer.json as it stands for this model type, also where the
/// directory names a class that would build its tokenizer anew.
bool is_written_type(std::string_view model_type);

/// Whether it is a class whose slow tokenizer takes add_prefix_space, as bert-score knows them:
/// RoBERTa's and GPT-2's.
bool takes_prefix_space(const TokenizerClass& row);

// The classes that are meant where no file names one.
BERT_API const TokenizerClass& bert_class();
const TokenizerClass& mpnet_class();
const TokenizerClass& roberta_class();
const TokenizerClass& marian_class();
/// The class of a tokenizer that is what tokenizer.json says.
const TokenizerClass& any_class();

}  // namespace bert
