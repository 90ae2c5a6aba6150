#include "text/normalizer.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace bert {

void Normalizer::start(std::string_view text, uint32_t base) {
  text_ = text;
  base_ = base;
  position_ = 0;
  replaced_ = 0;
  ready_.clear();
  ready_at_ = 0;
}

/// Reads the next character that clean_text keeps, from `position` on; false at the end of the
/// text.
bool Normalizer::read_clean(size_t& position, char32_t& code_point, Span& span,
                            size_t& replaced) const {
  while (position < text_.size()) {
    const DecodedChar c = decode_utf8(text_, position);
    const auto begin = base_ + static_cast<uint32_t>(position);
    span = {begin, begin + c.length};
    position += c.length;
    replaced += c.valid ? 0 : 1;
    code_point = c.code_point;
    if (!options_.clean_text) return true;
    const unsigned kind = char_class(code_point);
    if (kind & kCharRemoved) continue;
    if (kind & kCharSpace) code_point = ' ';
    return true;
  }
  return false;
}

bool Normalizer::next(NormalizedChar& out) {
  while (ready_at_ == ready_.size()) {
    ready_.clear();
    ready_at_ = 0;
    char32_t c = 0;
    Span span{};
    if (!read_clean(position_, c, span, replaced_)) return false;
    const bool spaced = options_.handle_chinese_chars && (char_class(c) & kCharCjk);
    if (spaced) ready_.push_back({' ', span.begin, span.end});
    if (options_.strip_accents) {
      decompose_and_sort(c, span);
    } else {
      emit(c, span);
    }
    if (spaced) ready_.push_back({' ', span.begin, span.end});
  }
  out = ready_[ready_at_++];
  return true;
}

void Normalizer::emit(char32_t code_point, Span span) {
  char32_t lower[2] = {code_point, 0};
  const size_t n = options_.lowercase ? to_lower(code_point, lower) : 1;
  for (size_t i = 0; i < n; ++i) ready_.push_back({lower[i], span.begin, span.end});
}

/// Emits the starter of `code_point`, if it has one, and then the run of marks that follows.
void Normalizer::decompose_and_sort(char32_t code_point, Span span) {
  char32_t parts[4];
  const size_t n = decompose(code_point, parts);
  size_t done = 0;
  for (; done < n && combining_class(parts[done]) == 0; ++done) {
    if (!(char_class(parts[done]) & kCharMark)) emit(parts[done], span);
  }
  if (done == n) return;
  if (run_is_dropped(parts + done, n - done)) return;
  sort_run(parts + done, n - done, span, done == 0);
}

/// Whether strip_accents drops the whole run of marks that begins with parts[0..n) and continues at
/// position_. If so, moves position_ behind the run.
bool Normalizer::run_is_dropped(const char32_t* parts, size_t n) {
  const auto dropped = [](const char32_t* p, size_t count) {
    return std::all_of(p, p + count, [](char32_t c) { return char_class(c) & kCharMark; });
  };
  if (!dropped(parts, n)) return false;
  size_t position = position_;
  size_t replaced = replaced_;
  for (;;) {
    size_t after = position;
    size_t after_replaced = replaced;
    char32_t c = 0;
    Span span{};
    char32_t more[4];
    if (!read_clean(after, c, span, after_replaced)) break;
    const size_t count = decompose(c, more);
    if (combining_class(more[0]) == 0) break;
    if (!dropped(more, count)) return false;
    position = after;
    replaced = after_replaced;
  }
  position_ = position;
  replaced_ = replaced;
  return true;
}

/// Emits those marks of a run that strip_accents keeps, in canonical order. The run begins with
/// parts[0..n) of the character at `span` (all its parts if `whole`) and continues at position_.
///
/// The reference aligns by counting. In sorted order, the k-th mark that begins a source character
/// gets the bytes of the run's k-th source character; any other mark gets the bytes of the mark
/// before it. So counts per combining class give the place of a mark, and dropped marks need not be
/// stored.
void Normalizer::sort_run(const char32_t* parts, size_t n, Span span, bool whole) {
  std::array<uint32_t, 256> firsts{};  // [combining class]: marks that begin a source character
  marks_.clear();
  const auto note = [&](char32_t c, bool first) {
    uint32_t& rank = firsts[combining_class(c)];
    rank += first ? 1 : 0;
    if (!(char_class(c) & kCharMark)) marks_.push_back({c, rank});
  };
  for (size_t i = 0; i < n; ++i) note(parts[i], whole && i == 0);
  size_t at = position_;
  for (;;) {
    size_t after = position_;
    size_t replaced = replaced_;
    char32_t c = 0;
    Span next{};
    char32_t more[4];
    if (!read_clean(after, c, next, replaced)) break;
    const size_t count = decompose(c, more);
    if (combining_class(more[0]) == 0) break;
    for (size_t i = 0; i < count; ++i) note(more[i], i == 0);
    position_ = after;
    replaced_ = replaced;
  }
  std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
    return combining_class(a.code_point) < combining_class(b.code_point);
  });
  std::exclusive_scan(firsts.begin(), firsts.end(), firsts.begin(), 0u);
  uint32_t index =
      whole ? 1 : 0;  // number of the source character at `span`; the loop reads the run again
  for (const Mark& mark : marks_) {
    const uint32_t wanted = firsts[combining_class(mark.code_point)] + mark.rank;
    for (size_t ignored = 0; index < wanted; ++index) {
      char32_t c = 0;
      read_clean(at, c, span, ignored);
    }
    emit(mark.code_point, span);
  }
}

}  // namespace bert
