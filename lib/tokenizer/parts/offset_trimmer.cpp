#include "tokenizer/parts/offset_trimmer.h"

#include <algorithm>

#include "text/unicode.h"

namespace bert {
namespace {

constexpr char32_t kByteLevelBlank = 0x120;

bool counts_as_blank(char32_t c) {
  return c == kByteLevelBlank || (char_class(c) & kCharWhite) != 0;
}

}  // namespace

OffsetTrimmer::Rule OffsetTrimmer::rule_of(std::string_view token) {
  Rule rule;
  uint32_t count = 0;
  for (size_t i = 0; i < token.size(); ++count) {
    const DecodedChar c = decode_utf8(token, i);
    i += c.length;
    const bool blank = c.valid && counts_as_blank(c.code_point);
    if (blank && rule.leading == count) ++rule.leading;
    rule.trailing = blank ? rule.trailing + 1 : 0;
  }
  return rule;
}

OffsetTrimmer::OffsetTrimmer(const Vocab& vocab, std::span<const AddedToken> added,
                             bool prefix_space)
    : prefix_space_(prefix_space) {
  std::vector<Rule> rules(vocab.size());
  for (size_t id = 0; id < vocab.pieces(); ++id) {
    rules[id] = rule_of(vocab.text(static_cast<int32_t>(id)));
  }
  for (const AddedToken& token : added) {
    Rule& rule = rules[static_cast<size_t>(token.id)];
    rule = rule_of(token.content);
    rule.by_text = token.lstrip || token.rstrip || !rule.never();
  }
  if (std::all_of(rules.begin(), rules.end(), [](const Rule& r) { return r.never(); })) return;
  rules_ = std::move(rules);
}

void OffsetTrimmer::trim(std::string_view text, std::span<Piece> pieces, bool first) const {
  for (Piece& piece : pieces) {
    const bool keeps_one = prefix_space_ && (first || piece.offset.begin == 0);
    first = false;
    Rule rule = rules_[static_cast<size_t>(piece.id)];
    if (rule.never()) continue;
    const std::string_view part =
        text.substr(piece.offset.begin, piece.offset.end - piece.offset.begin);
    if (rule.by_text) rule = rule_of(part);
    if (rule.leading == 1 && keeps_one) rule.leading = 0;
    uint32_t begin = 0;
    for (; rule.leading > 0 && begin < part.size(); --rule.leading) {
      begin += decode_utf8(part, begin).length;
    }
    auto end = static_cast<uint32_t>(part.size());
    for (; rule.trailing > 0 && end > begin; --rule.trailing) {
      do {
        --end;
      } while (end > begin && (part[end] & 0xC0) == 0x80);
    }
    piece.offset = {piece.offset.begin + begin, piece.offset.begin + end};
  }
}

}  // namespace bert
