#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/export.h"
#include "metrics/metrics.h"

namespace bert {

/// An entity of a tagged text: the words (or tokens) [begin, end) and their type.
struct EntitySpan {
  size_t begin = 0, end = 0;
  std::string_view type;
  // No <=>: before LLVM 15, strings and vectors of libc++ have none.
  bool operator==(const EntitySpan&) const = default;
  bool operator<(const EntitySpan& other) const {
    return std::tie(begin, end, type) < std::tie(other.begin, other.end, other.type);
  }
};

/// How the labels of a model are read as tags.
class BERT_API TagScheme {
 public:
  /// A label without a prefix and "-" is a type, as in tags of parts of speech.
  TagScheme() = default;
  /// The letters B I E S L U M alone are prefixes without a type (B I O, B M E S, B I L O U), if no
  /// label of the whole set is anything but O, such a letter, or such a letter with "-" and a type,
  /// and if some label begins with B or I. The labels X and [CLS] of BioBERT's files do not decide.
  explicit TagScheme(std::span<const std::string> labels);

  /// The entities of tags in IOB, IOB2, IOBES, BILOU or BMES, by the rules of conlleval: B, S and U
  /// begin an entity; E, L, S and U end it, and so does another type. A type alone counts as I-.
  std::vector<EntitySpan> entities(std::span<const std::string_view> tags) const;

 private:
  struct Tag {
    char prefix = 'O';
    std::string_view type;
  };
  Tag parse(std::string_view tag) const;

  bool bare_ = false;  ///< a letter alone is a prefix
};

/// Precision, recall and F1 of whole entities against gold entities, as in conlleval.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API EntityMetrics {
 public:
  EntityMetrics() = default;
  /// The labels that can be predicted decide how tags are read.
  explicit EntityMetrics(std::vector<std::string> labels)
      : scheme_(labels), labels_(std::move(labels)) {}
  /// Adds a sentence: the gold and the predicted tags of its words.
  void add(std::span<const std::string_view> gold, std::span<const std::string_view> predicted);
  /// A sentence about gold tags that cannot be predicted, with their counts; empty if there are
  /// none.
  std::string unknown() const;
  /// F1 over all types.
  double f1() const;
  /// Lines `sentences N`, `words N`, `accuracy A` (the share of words with the right tag), then a
  /// table of types like that of LabelMetrics.
  std::string report() const;
  std::string json(const Doubt& doubt = {}) const;  ///< a JSON object, with a list `types`
  /// The intervals of accuracy, macro_f1 and micro_f1, by bootstrap over the sentences.
  Doubt doubt(const Resampling& how) const;

 private:
  /// What a sentence adds: its words, the right ones, and for each type true positives, predicted
  /// and gold entities.
  struct Sentence {
    uint64_t words = 0, right = 0;
    std::map<std::string, std::array<uint64_t, 3>, std::less<>> types = {};
    bool operator<(const Sentence& other) const {
      return std::tie(words, right, types) < std::tie(other.words, other.right, other.types);
    }
  };
  struct Columns {
    std::vector<std::string> types;
    std::vector<LabelCounts> counts;
  };
  // The caller holds the lock.
  Columns columns() const;
  double accuracy() const;

  const TagScheme scheme_{};
  const std::vector<std::string> labels_{};
  mutable std::mutex mutex_;
  std::map<std::string, LabelCounts, std::less<>> types_;
  uint64_t sentences_ = 0;
  uint64_t words_ = 0;
  std::map<Sentence, uint64_t> kinds_;                    ///< sentences with these counts
  uint64_t right_ = 0;                                    ///< words with the right tag
  std::map<std::string, uint64_t, std::less<>> unknown_;  ///< gold tags that are no labels
};

}  // namespace bert
