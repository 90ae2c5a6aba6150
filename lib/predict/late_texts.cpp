#include "predict/late_texts.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace bert {
namespace {

/// The id of a marker, which PyLate stores with the blank behind it and others without.
std::optional<int32_t> marker_id(const Tokenizer& tokenizer, const std::string& marker) {
  if (const auto id = tokenizer.token_to_id(marker)) return id;
  return tokenizer.token_to_id(marker.substr(0, marker.find_last_not_of(' ') + 1));
}

}  // namespace

LateSide LateSide::of(const Tokenizer& tokenizer, const LateInteraction& late,
                      const LateInteraction::Side& side) {
  const auto marker =
      side.marker.empty() ? std::optional<int32_t>() : marker_id(tokenizer, side.marker);
  LateSide result{marker ? tokenizer.with_marker(*marker) : tokenizer, side.prompt, side.length};
  if (!marker) result.prompt = side.marker + side.prompt;
  result.skips_first = side.skips_first;
  if (!side.skips_tokens) return result;
  for (const std::string& word : late.skipped) {
    if (const auto id = tokenizer.token_to_id(word)) result.skipped.push_back(*id);
  }
  return result;
}

LateSide LateSide::of_query(const Tokenizer& tokenizer, const LateInteraction& late,
                            const std::string& directory) {
  LateSide side = of(tokenizer, late, late.query);
  side.expand_to = late.expansion.length;
  side.attend_expansion = late.expansion.attend;
  if (side.expand_to == 0) return side;
  side.expansion_id = late.expansion.token.empty()
                          ? tokenizer.mask_id()
                          : tokenizer.token_to_id(late.expansion.token).value_or(-1);
  if (side.expansion_id >= 0) return side;
  throw Error(Error::Kind::data, directory,
              "queries are filled up with " +
                  (late.expansion.token.empty() ? "the mask token"
                                                : "'" + printable(late.expansion.token) + "'") +
                  ", which the vocabulary lacks");
}

LateSide LateSide::of_document(const Tokenizer& tokenizer, const LateInteraction& late) {
  return of(tokenizer, late, late.document);
}

bool LateSide::skips(int32_t id, size_t place) const {
  if (skips_first && place == 0) return true;
  return std::find(skipped.begin(), skipped.end(), id) != skipped.end();
}

size_t LateSide::expand(Encoding& encoding) const {
  const size_t own = encoding.size();
  while (encoding.size() < expand_to) encoding.push(expansion_id, 0, {}, kSpecialToken, -1);
  return attend_expansion ? encoding.size() : own;
}

}  // namespace bert
