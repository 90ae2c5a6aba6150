#include "text/normal_form.h"

#include <algorithm>

#include "text/unicode.h"

namespace bert {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

/// The decomposed characters in canonical order.
void decompose_all(std::string_view text, bool compatible, std::vector<ChangedChar>& chars) {
  const auto before = [](const ChangedChar& a, const ChangedChar& b) {
    return combining_class(a.code_point) < combining_class(b.code_point);
  };
  size_t run = 0;  // where the marks begin that are not sorted yet
  const auto sort_run = [&] {
    if (chars.size() - run > 1) {
      std::stable_sort(chars.begin() + static_cast<std::ptrdiff_t>(run), chars.end(), before);
    }
  };
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    i += c.length;
    char32_t parts[18];
    const size_t n =
        compatible ? decompose_compatible(c.code_point, parts) : decompose(c.code_point, parts);
    for (size_t k = 0; k < n; ++k) {
      if (combining_class(parts[k]) == 0) {
        sort_run();
        run = chars.size() + 1;
      }
      chars.push_back({parts[k], k == 0 ? 0 : 1});
    }
  }
  sort_run();
}

/// Composes in place what decompose_all() gave: a mark joins the last starter unless a mark of its
/// own class or a higher one, or a starter, stands between.
void compose_all(std::vector<ChangedChar>& chars) {
  constexpr size_t kNone = SIZE_MAX;
  size_t starter = kNone, size = 0;
  int last_class = -1;  // of the mark before, which did not join the starter
  for (const ChangedChar c : chars) {
    const int its_class = combining_class(c.code_point);
    if (starter != kNone && last_class < its_class && (last_class < 0 || its_class > 0)) {
      if (const char32_t both = compose(chars[starter].code_point, c.code_point)) {
        chars[starter] = {both, chars[starter].change + c.change - 1};
        continue;
      }
    }
    if (its_class == 0) starter = size;
    last_class = its_class == 0 ? -1 : its_class;
    chars[size++] = c;
  }
  chars.resize(size);
}

}  // namespace

void append_changed(const NormalText& in, std::span<const ChangedChar> chars, uint32_t start,
                    NormalText& out) {
  size_t at = 0;
  const auto skip = [&] {
    if (at < in.text.size()) at += decode_utf8(in.text, at).length;
  };
  for (const ChangedChar& c : chars) {
    NormalText::Span origin{start, start};
    if (c.change > 0) {
      if (at > 0) origin = in.origins[at - 1];
    } else if (at < in.origins.size()) {
      origin = in.origins[at];
    }
    if (c.change <= 0) {
      for (int32_t k = c.change; k <= 0; ++k) skip();
    }
    char bytes[4];
    out.append({bytes, encode_utf8(c.code_point, bytes)}, origin);
  }
}

void append_normal_form(NormalForm form, const NormalText& in, uint32_t start,
                        std::vector<ChangedChar>& chars, NormalText& out) {
  if (is_ascii(in.text)) {
    out.text += in.text;
    out.origins.insert(out.origins.end(), in.origins.begin(), in.origins.end());
    return;
  }
  chars.clear();
  decompose_all(in.text, form == NormalForm::nfkc || form == NormalForm::nfkd, chars);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) compose_all(chars);
  append_changed(in, chars, start, out);
}

}  // namespace bert
