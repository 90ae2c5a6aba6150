#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heads/entity_head.h"
#include "predict/batcher.h"
#include "predict/entity_choice.h"
#include "predict/sequences.h"
#include "predict/worded_text.h"
#include "tokenizer/windows.h"

namespace bert {

/// Which entities are searched.
struct OpenEntityOptions {
  std::vector<std::string> names;  ///< their types
  double threshold = 0.5;          ///< scores of entities are above it
  EntityRule rule;
};

/// A text whose entities are searched. Its memory is kept from text to text.
struct SearchedText : WordedText {
  // The members that OpenEntityPredictor sets; `words` too, of a text that has none of its own:
  std::vector<int32_t> ids = {};          ///< tokens of all words
  std::vector<size_t> tokens = {};        ///< [W + 1] word w has the tokens from tokens[w] on
  std::vector<TokenWindow> windows = {};  ///< parts of the words
  size_t first_sequence = 0;
  std::vector<EntityScore> entities = {};  ///< spans of words, the chosen ones after choose()
  bool finite = true;                      ///< else a score is no number
};

/// Finds entities of any types, whose names stand before each text, as GLiNER of the package
/// gliner. A long text is read in windows of words; a span counts in the one where it has the most
/// context.
///
/// Thread rule: const; each thread has an EntityScorer and a Batcher.
class BERT_API OpenEntityPredictor {
 public:
  /// Opens the head of the model. Borrows both. Throws Error as EntityHead::open, data if the
  /// tokenizer lacks a mark, and of_field `labels` for names that no text can have.
  OpenEntityPredictor(const Tokenizer& tokenizer, const Model& model, OpenEntityOptions options);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const EntityHead& head() const { return head_; }
  const OpenEntityOptions& options() const { return options_; }
  /// The tags of words: O, and B- and I- of each name.
  const std::vector<std::string>& tags() const { return tags_; }

  /// Splits a text into words, or takes those that it has. Appends its windows to `to`, as those of
  /// text number `number`. Throws Error(of_field `labels`) if the names leave a text no room.
  Reading read(SearchedText& text, size_t number, TextReader& reader, Sequences& to) const;
  /// Sets the entities of texts 0 .. texts.size() - 1, whose windows the sequences are.
  void predict(const Sequences& sequences, std::span<SearchedText> texts, EntityScorer& scorer,
               Batcher& batcher) const;
  /// The entities of a text.
  std::vector<Entity> entities(const SearchedText& text) const;
  /// The tag of each word.
  std::vector<std::string_view> tags(const SearchedText& text) const;

 private:
  struct Marks {
    std::vector<int32_t> name, end;  ///< tokens of the marks
    int32_t id = -1;                 ///< the token that tells a name
  };
  Marks find_marks() const;
  void make_prompt(const Marks& marks);
  void encode_words(SearchedText& text, size_t room, const EncodeOptions& options,
                    Tokenizer::Scratch& scratch, Reading& reading) const;
  void cut_windows(SearchedText& text, size_t room, const ReadOptions& options) const;
  EntityTokens tokens_of(const SearchedText& text, size_t window) const;
  void take(SearchedText& text, size_t window, std::span<const EntityScore> found) const;
  void settle(SearchedText& text) const;

  const Tokenizer& tokenizer_;
  const Model& model_;
  const EntityHead head_;
  const OpenEntityOptions options_;
  std::vector<std::string> tags_;
  std::vector<int32_t> prompt_;  ///< tokens before each text
  std::vector<size_t> names_;    ///< [C] the tokens of a sequence that stand for the names
};

}  // namespace bert
