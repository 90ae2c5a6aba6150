#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"
#include "tokenizer/encoding.h"
#include "tokenizer/frame.h"

namespace bert {

/// How `encode` treats a text or pair that is too long (names of transformers).
enum class Truncation { longest_first, only_first, only_second };

struct EncodeOptions {
  bool add_special_tokens = true;  ///< the frame's tokens: [CLS] a [SEP] (b [SEP])
  size_t max_length = 0;           ///< tokens, special ones included; 0: no limit
  Truncation truncation = Truncation::longest_first;
  size_t tail = 0;             ///< tokens from the end of a cut text that stay; the others come
                               ///< from its begin; SIZE_MAX: the last tokens alone
  bool count_dropped = false;  ///< `dropped` is exact, which takes reading texts to their end
  bool literal = false;        ///< a special token typed in the text stays text ([, mask, ])
};

/// Texts to ids, equal in ids, type ids and offsets to Hugging Face tokenizers 0.23: the WordPiece
/// of BERT (Devlin et al. 2019; Wu et al. 2016) and MPNet, the byte-level BPE of RoBERTa, and what
/// a tokenizer.json composes of normalizers, pre-tokenizers and a model. Unicode tables are the
/// reference's, not this year's.
///
/// Thread rule: const after open(); each thread brings its own Scratch.
class BERT_API Tokenizer {
 public:
  /// Buffers and the cache of recent words of one thread.
  class BERT_API Scratch {
   public:
    Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class Tokenizer;
    struct State;
    std::unique_ptr<State> state_;
  };

  /// Reads source.spm and vocab.json if the former is there (Marian), else tokenizer.json, else
  /// vocab.json and merges.txt, else vocab.txt, with tokenizer_config.json and
  /// special_tokens_map.json. Throws Error (no_input, data, unsupported)
  /// naming the file.
  static Tokenizer open(const ModelDirectory& directory);
  /// Reads tokenizer.json and no other file, as the library tokenizers does: no special tokens
  /// stand around a text. model_max_length() is where the file truncates.
  static Tokenizer open_alone(const ModelDirectory& directory);
  /// As open(), but of Marian's two tokenizers that of the target; see TranslationTokenizers.
  static Tokenizer open_target(const ModelDirectory& directory);
  /// Words by a dictionary, a file with an entry a line; see DictionaryWords. Ids are numbers of
  /// lines, from 0; words that are no entries have the id -1, and no token() but what stands in the
  /// text. There are no special tokens. Throws Error (no_input, data) naming the file.
  static Tokenizer open_words(const std::string& path);
  /// The same tokenizer with one more special token behind those before a single text, as ColBERT
  /// marks queries and documents.
  Tokenizer with_marker(int32_t id) const;
  /// The same tokenizer for texts of another language, an id of languages(); -1: for texts without
  /// a token that tells one.
  Tokenizer with_language(int32_t id) const;
  const Languages& languages() const;
  Tokenizer(const Tokenizer&);  ///< shares all that was read
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The tokens of a text without special tokens around it, in portions, so that memory stays flat
  /// whatever its length. `sink` returns false when it wants no more. Returns the maximal invalid
  /// UTF-8 parts read as U+FFFD so far.
  size_t for_each_piece(std::string_view text, bool literal, Scratch& scratch,
                        const std::function<bool(std::span<const Piece>)>& sink) const;

  /// Throws Error(usage) where the reference does: max_length below the special tokens, or the text
  /// that only_first or only_second names too short to give way; Error(data) for 4 GiB of text.
  /// Reading stops once the tokens that stay are sure, so `dropped` is then a lower bound, but
  /// above 0.
  void encode(std::string_view text, const EncodeOptions& options, Encoding& out,
              Scratch& scratch) const;
  void encode_pair(std::string_view text, std::string_view text_pair, const EncodeOptions& options,
                   Encoding& out, Scratch& scratch) const;

  /// All windows of a text, or of a question and a context, when they do not fit in max_length:
  /// each window repeats the question and starts `max_length - added - stride` content tokens after
  /// the one before, so that `stride` tokens overlap (the meaning of `stride` in tokenizers,
  /// doc_stride in transformers' pipeline). `windows` is resized. Throws Error(usage) if nothing of
  /// the context would fit.
  void encode_windows(std::string_view text, const EncodeOptions& options, size_t stride,
                      std::vector<Encoding>& windows, Scratch& scratch) const;
  void encode_pair_windows(std::string_view question, std::string_view context,
                           const EncodeOptions& options, size_t stride,
                           std::vector<Encoding>& windows, Scratch& scratch) const;

  /// ids -> text, as the reference's decode: pieces joined, clean-up of spaces before punctuation.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  size_t vocab_size() const;                 ///< largest id + 1, added tokens included
  std::string_view token(int32_t id) const;  ///< "" if there is no such id
  /// Appends the texts of `pieces` to `out`, a blank after each.
  void append_tokens(std::span<const Piece> pieces, std::string& out) const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// Whether tokens that begin a word behind a blank are marked (U+0120 in byte-level vocabularies,
  /// U+2581 in those of sentencepiece), and not those that go on with one ("##" in BERT).
  bool marks_beginnings() const;
  /// Whether pieces that go on with a word are marked ("##").
  bool marks_continuations() const;
  /// Whether the token is a piece that goes on with a word, as "##ing" in BERT, or one without the
  /// mark of a beginning.
  bool continues_word(int32_t id) const;
  /// The token as it stands in a text, without the blank before it: "ing" for "##ing". In
  /// byte-level vocabularies its bytes, which may be a part of a character.
  std::string_view piece_text(int32_t id) const;
  /// Whether the id is that of a special token ([PAD] [UNK] [CLS] [SEP] [MASK] and added special
  /// ones).
  bool is_special(int32_t id) const;
  /// Special tokens with their ids, in id order.
  std::vector<std::pair<std::string, int32_t>> special_tokens() const;

  int32_t unk_id() const;
  int32_t cls_id() const;               ///< -1 if the vocabulary has none
  int32_t sep_id() const;               ///< -1 if the vocabulary has none
  int32_t pad_id() const;               ///< -1 if the vocabulary has none
  int32_t mask_id() const;              ///< -1 if the vocabulary has none
  std::string_view mask_token() const;  ///< "[MASK]" as this vocabulary spells it
  bool lowercase() const;
  /// How lower-casing contradicts the vocabulary, which is one of warnings() too; "": it does not.
  const std::string& case_fault() const;
  /// The special tokens around one text, and around a pair.
  const Frame& frame() const;
  const Frame& pair_frame() const;
  size_t added_tokens_single() const;  ///< special tokens added to one text: 2 in BERT
  size_t added_tokens_pair() const;    ///< to a pair: 3 in BERT
  /// model_max_length of tokenizer_config.json; nullopt if absent or the 1e30 that transformers
  /// writes.
  std::optional<size_t> model_max_length() const;
  /// truncation_side of tokenizer_config.json: a text that is too long loses its begin.
  bool truncates_left() const;
  /// One line each; the tools print them on stderr.
  const std::vector<std::string>& warnings() const;

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state);
  Scratch::State& prepare(Scratch& scratch) const;
  void encode_ends(std::string_view text, const EncodeOptions& options, size_t room, Encoding& out,
                   Scratch::State& buffers) const;
  std::shared_ptr<const State> state_;
  std::shared_ptr<const Frame> marked_;  ///< in place of the frame of a single text
};

}  // namespace bert
