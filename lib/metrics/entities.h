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

/// An entity of a tagged text: words (or tokens) [begin, end) of one type.
struct EntitySpan {
  size_t begin = 0, end = 0;
  std::string_view type;
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of version 14 on <=>
  auto operator<=>(const EntitySpan&) const = default;
};
/// The entities of tags in IOB, IOB2, IOBES or BMES, by the rules of conlleval: B- and S- begin
/// one, E- and S- end one, and so does another type. A tag without a prefix goes on, as after I-.
std::vector<EntitySpan> entities_of(std::span<const std::string_view> tags);

/// Precision, recall and F1 of whole entities against gold ones, as conlleval counts them.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API EntityMetrics {
 public:
  /// The true and the predicted tags of a sentence's words.
  void add(std::span<const std::string_view> gold, std::span<const std::string_view> predicted);
  /// F1 over all types.
  double f1() const;
  /// Lines `sentences N`, `words N`, `accuracy A` (words whose tags are equal), then a table
  /// type, precision, recall, f1, support as LabelMetrics has it.
  std::string report() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LabelCounts, std::less<>> types_;
  uint64_t sentences_ = 0;
  uint64_t words_ = 0;
  uint64_t right_ = 0;  ///< words
};

}  // namespace bert
