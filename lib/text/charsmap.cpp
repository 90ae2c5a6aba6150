#include "text/charsmap.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/error.h"
#include "text/grapheme.h"
#include "text/unicode.h"

namespace bert {
namespace {

/// Longer clusters are looked up by code points.
constexpr size_t kMostClusterBytes = 5;

/// No key is longer: a trie that runs in circles cannot make time quadratic.
constexpr size_t kMostKeyBytes = 256;

[[noreturn]] void bad(std::string_view where, std::string_view what) {
  throw Error(Error::Kind::data, where, fmt::format("precompiled_charsmap: {}", what));
}

// A unit of the trie: a node has the label of the edge to it, a value has bit 31.
uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
bool has_value(uint32_t unit) { return (unit >> 8) & 1; }
size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & (1u << 9)) >> 6); }
size_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }

uint32_t read_u32(std::string_view bytes, size_t i) {
  uint32_t number = 0;
  for (size_t k = 4; k-- > 0;) number = (number << 8) | static_cast<unsigned char>(bytes[i + k]);
  return number;
}

size_t char_length(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]) < 0x80 ? 1 : utf8_step(text, i).length;
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, std::string_view where, Rule rule) : rule_(rule) {
  if (bytes.size() < 4) bad(where, "ends before the size of its trie");
  const size_t size = read_u32(bytes, 0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4) {
    bad(where, fmt::format("a trie of {} bytes in {} bytes", size, bytes.size()));
  }
  units_.reserve(size / 4);
  for (size_t i = 4; i < 4 + size; i += 4) units_.push_back(read_u32(bytes, i));
  replacements_ = bytes.substr(4 + size);
  check(where);
  for (size_t c = 1; c < changes_ascii_.size(); ++c) {
    const size_t root = offset(units_[0]);
    changes_ascii_[c] = label(units_[root ^ c]) == c;
  }
}

Charsmap Charsmap::from_base64(std::string_view text, std::string_view where) {
  const std::optional<std::string> bytes = decode_base64(text);
  if (!bytes) bad(where, "is not base64");
  return Charsmap(*bytes, where);
}

/// Checks every unit that a walk may come to, so that find() need not.
void Charsmap::check(std::string_view where) const {
  for (size_t i = 0; i < replacements_.size();) {
    const Utf8Step step = utf8_step(replacements_, i);
    if (!step.valid) bad(where, "replacements that are not UTF-8");
    i += step.length;
  }
  const auto is_middle = [&](size_t i) {
    return i < replacements_.size() && (replacements_[i] & 0xC0) == 0x80;
  };
  for (size_t i = 0; i < units_.size(); ++i) {
    if (i > 0 && label(units_[i]) > 0xFF)
      continue;  // a value; unit 0 is the root, whatever it says
    const size_t children = i ^ offset(units_[i]);
    if ((children | 0xFF) >= units_.size()) {
      bad(where,
          fmt::format("unit {} of the trie points to unit {} of {}", i, children, units_.size()));
    }
    if (!has_value(units_[i])) continue;
    const size_t at = value(units_[children]);
    if (at > replacements_.size() || is_middle(at)) {
      bad(where, fmt::format("unit {} of the trie points to byte {} of {} bytes of replacements", i,
                             at, replacements_.size()));
    }
  }
}

/// The shortest entry, or the longest of those that do not end within a character of the text.
Charsmap::Match Charsmap::find(std::string_view text, bool longest) const {
  size_t length = 0, found = 0;
  size_t node = offset(units_[0]);
  const size_t end = std::min(text.size(), kMostKeyBytes);
  for (size_t i = 0; i < end && (longest || length == 0); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0) break;
    node ^= c;
    const uint32_t unit = units_[node];
    if (label(unit) != c) break;
    node ^= offset(unit);
    const bool within = i + 1 < text.size() && (text[i + 1] & 0xC0) == 0x80;
    if (!has_value(unit) || (longest && within)) continue;
    length = i + 1;
    found = value(units_[node]);
  }
  if (length == 0) return {};
  const std::string_view rest = std::string_view(replacements_).substr(found);
  return {length, rest.substr(0, rest.find('\0'))};
}

/// Writes the new text with its alignment: NormalizedString::transform_range of tokenizers with the
/// numbers that its Precompiled gives. Each new character takes the origin of the next old one;
/// those that are more than the old ones repeat the last. Characters that go away before any new
/// one are not passed over, so that all later origins lag behind by as many.
class Charsmap::Writer {
 public:
  Writer(const NormalText& in, NormalText& out) : in_(in), out_(out) {}

  /// The characters [begin, end) become `text`; those between this and the last change stay.
  void change(size_t begin, size_t end, std::string_view text) {
    if (!changed_) out_.clear();
    changed_ = true;
    keep(kept_, begin);
    replace(std::string_view(in_.text).substr(begin, end - begin), text);
    kept_ = end;
  }
  /// Writes what stays at the end; false if nothing changed.
  bool finish() {
    if (changed_) keep(kept_, in_.text.size());
    return changed_;
  }

 private:
  void keep(size_t begin, size_t end) {
    if (begin == end) return;
    inserted_ = 0;
    if (next_ == begin) {
      out_.text.append(in_.text, begin, end - begin);
      const auto first = in_.origins.begin();
      out_.origins.insert(out_.origins.end(), first + static_cast<ptrdiff_t>(begin),
                          first + static_cast<ptrdiff_t>(end));
      next_ = end;
      return;
    }
    for (size_t length = 0; begin < end; begin += length) {
      length = char_length(in_.text, begin);
      copy(std::string_view(in_.text).substr(begin, length));
    }
  }

  void replace(std::string_view old, std::string_view text) {
    size_t left = count_code_points(old);
    for (size_t i = 0, length = 0; i < text.size(); i += length) {
      length = char_length(text, i);
      const std::string_view c = text.substr(i, length);
      if (left > 0) {
        --left;
        copy(c);
        inserted_ = 0;
      } else {
        out_.append(c, in_.origins[next_ - 1]);
        inserted_ = length;
      }
    }
    if (left > 0) remove(left);
  }

  // Whatever is counted, nothing outside the text is read.
  NormalText::Span origin() const { return in_.origins[std::min(next_, in_.origins.size() - 1)]; }
  void skip() {
    if (next_ < in_.text.size()) next_ += char_length(in_.text, next_);
  }
  void copy(std::string_view c) {
    out_.append(c, origin());
    skip();
  }
  /// `count` characters go away. If the one before was inserted, it stands for the first of them.
  void remove(size_t count) {
    if (out_.text.empty()) return;
    std::fill_n(out_.origins.rbegin(), inserted_, origin());
    inserted_ = 0;
    for (; count > 0; --count) skip();
  }

  const NormalText& in_;
  NormalText& out_;
  bool changed_ = false;
  size_t kept_ = 0;  ///< behind the last change
  size_t next_ = 0;  ///< the first byte of `in` that is not passed over; never behind the reader
  size_t inserted_ = 0;  ///< bytes of the last character, if it was inserted
};

/// Looks at the cluster that begins at text[i]; returns its end.
size_t Charsmap::next_cluster(std::string_view text, size_t i, Writer& writer) const {
  const size_t end = grapheme_end(text, i);
  if (end - i <= kMostClusterBytes) {
    if (const Match match = find(text.substr(i, end - i), false); match.length > 0) {
      writer.change(i, end, match.replacement);
      return end;
    }
  }
  for (size_t length = 0; i < end; i += length) {
    length = char_length(text, i);
    const Match match = find(text.substr(i, length), false);
    if (match.length > 0) writer.change(i, i + length, match.replacement);
  }
  return end;
}

Charsmap::Match Charsmap::longest(std::string_view text) const { return find(text, true); }

bool Charsmap::normalize(const NormalText& in, NormalText& out) const {
  const std::string_view text = in.text;
  Writer writer(in, out);
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80 && c != '\r' && !changes_ascii_[c] &&
        (i + 1 == text.size() || static_cast<unsigned char>(text[i + 1]) < 0x80)) {
      ++i;  // a cluster of its own
    } else if (rule_ == Rule::clusters) {
      i = next_cluster(text, i, writer);
    } else if (const Match match = longest(text.substr(i)); match.length > 0) {
      writer.change(i, i + match.length, match.replacement);
      i += match.length;
    } else {
      i += char_length(text, i);
    }
  }
  return writer.finish();
}

}  // namespace bert
