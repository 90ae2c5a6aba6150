#include "tokenizer/parts/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "text/unicode.h"

namespace bert {
namespace {

/// Where the character that ends at text[end) begins.
size_t previous_char(std::string_view text, size_t end) {
  size_t i = end - 1;
  while (i > 0 && end - i < 4 && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) --i;
  return i + decode_utf8(text, i).length == end ? i : end - 1;
}

bool word_before(std::string_view text, size_t end) {
  return end > 0 &&
         (char_class(decode_utf8(text, previous_char(text, end)).code_point) & kCharWord);
}

bool word_at(std::string_view text, size_t begin) {
  return begin < text.size() && (char_class(decode_utf8(text, begin).code_point) & kCharWord);
}

}  // namespace

void AddedTokenMatcher::add(std::string pattern, const AddedToken& token) {
  if (!pattern.empty()) patterns_.push_back({std::move(pattern), &token});
}

void AddedTokenMatcher::finish() {
  if (patterns_.empty()) return;
  const auto first = [](const Pattern& p) { return static_cast<unsigned char>(p.text[0]); };
  std::stable_sort(patterns_.begin(), patterns_.end(), [&](const Pattern& a, const Pattern& b) {
    if (first(a) != first(b)) return first(a) < first(b);
    return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.text < b.text;
  });
  const auto equal = [](const Pattern& a, const Pattern& b) { return a.text == b.text; };
  patterns_.erase(std::unique(patterns_.begin(), patterns_.end(), equal), patterns_.end());
  by_first_.fill(0);
  for (const Pattern& p : patterns_) ++by_first_[first(p) + 1u];
  for (size_t b = 0; b < 256; ++b) by_first_[b + 1] += by_first_[b];
  if (first(patterns_.front()) == first(patterns_.back())) only_first_ = first(patterns_.front());
}

bool AddedTokenMatcher::stays_between_blanks() const {
  return std::none_of(patterns_.begin(), patterns_.end(), [](const Pattern& p) {
    return p.token->rstrip || p.text.find(' ') != std::string::npos;
  });
}

const AddedTokenMatcher::Pattern* AddedTokenMatcher::find(std::string_view text, size_t from,
                                                          size_t& at) const {
  for (size_t i = from; i < text.size(); ++i) {
    if (only_first_ >= 0) {
      const void* hit = std::memchr(text.data() + i, only_first_, text.size() - i);
      if (hit == nullptr) return nullptr;
      i = static_cast<size_t>(static_cast<const char*>(hit) - text.data());
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    for (size_t k = by_first_[byte]; k < by_first_[byte + 1u]; ++k) {
      if (text.substr(i).starts_with(patterns_[k].text)) {
        at = i;
        return &patterns_[k];
      }
    }
  }
  return nullptr;
}

bool AddedTokenMatcher::next(std::string_view text, bool literal, size_t& from, size_t& taken,
                             Match& match) const {
  size_t at = 0;
  while (const Pattern* pattern = patterns_.empty() ? nullptr : find(text, from, at)) {
    const AddedToken& token = *pattern->token;
    size_t begin = at;
    size_t end = at + pattern->text.size();
    from = end;  // what is passed over here is not looked at again, as in the reference
    if (literal && token.special) continue;
    if (token.single_word && (word_before(text, begin) || word_at(text, end))) continue;
    while (token.lstrip && begin > 0) {
      const size_t before = previous_char(text, begin);
      if (!(char_class(decode_utf8(text, before).code_point) & kCharWhite)) break;
      begin = before;
    }
    // Blanks that the token before has taken stay its own; a token within them keeps its range, as
    // in the reference.
    if (token.lstrip) begin = std::min(std::max(begin, taken), end);
    while (token.rstrip && end < text.size()) {
      const DecodedChar c = decode_utf8(text, end);
      if (!(char_class(c.code_point) & kCharWhite)) break;
      end += c.length;
    }
    match = {begin, end, &token};
    taken = end;
    return true;
  }
  return false;
}

}  // namespace bert
