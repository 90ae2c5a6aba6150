#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "metrics/metrics.h"

namespace bert {

/// An entity of a tagged text: the words (or tokens) [begin, end) and their type.
struct EntitySpan {
  size_t begin = 0, end = 0;
  std::string_view type;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 is wrong about <=>
  auto operator<=>(const EntitySpan&) const = default;
};
/// The entities of tags in IOB, IOB2, IOBES, BILOU or BMES, by the rules of conlleval: B-, S- and
/// U- begin an entity; E-, L-, S- and U- end it, and so does another type. A tag without a prefix
/// counts as I-.
std::vector<EntitySpan> entities_of(std::span<const std::string_view> tags);

/// Precision, recall and F1 of whole entities against gold entities, as in conlleval.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API EntityMetrics {
 public:
  /// Adds a sentence: the gold and the predicted tags of its words.
  void add(std::span<const std::string_view> gold, std::span<const std::string_view> predicted);
  /// F1 over all types.
  double f1() const;
  /// Lines `sentences N`, `words N`, `accuracy A` (the share of words with the right tag), then a
  /// table of types like that of LabelMetrics.
  std::string report() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LabelCounts, std::less<>> types_;
  uint64_t sentences_ = 0;
  uint64_t words_ = 0;
  uint64_t right_ = 0;  ///< words with the right tag
};

}  // namespace bert
