#include "io/json_syntax.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "base/utf8.h"

namespace bert {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Walks a JSON text once. `fault_` is set at the first error; every step then returns false.
class Scanner {
 public:
  Scanner(std::string_view text, size_t max_depth) : text_(text), max_depth_(max_depth) {}

  std::optional<JsonFault> run() {
    if (text_.starts_with("\xEF\xBB\xBF")) {
      fail("a byte order mark");
    } else if (document()) {
      skip_blanks();
      if (at_ != text_.size()) fail("text after the value");
    }
    return fault_;
  }

 private:
  bool document() {
    do {
      if (!value()) return false;
      while (!open_.empty() && closes()) {
      }
      if (fault_) return false;
    } while (!open_.empty());
    return true;
  }

  /// Reads a value. Of a container it reads only the start, up to its first member's value.
  bool value() {
    skip_blanks();
    const char c = peek();
    if (c == '"') return string();
    if (c == '{' || c == '[') {
      if (open_.size() == max_depth_) {
        return fail("nested deeper than " + std::to_string(max_depth_));
      }
      ++at_;
      open_.push_back(c);
      skip_blanks();
      if (peek() == close_of(c)) return true;  // closes() takes it
      return c == '{' ? key() && value() : value();
    }
    if (c == '-' || is_digit(c)) return number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    return fail("wants a value");
  }

  /// Reads on after a value in a container: true if the container ends here, false before its next
  /// value or at a fault.
  bool closes() {
    skip_blanks();
    const char c = peek();
    if (c == close_of(open_.back())) {
      ++at_;
      open_.pop_back();
      return true;
    }
    if (c != ',') {
      return fail(open_.back() == '{' ? "wants ',' or '}'" : "wants ',' or ']'");
    }
    ++at_;
    if (open_.back() == '{') key();
    return false;
  }

  bool key() {
    skip_blanks();
    if (peek() != '"') return fail("wants a key");
    if (!string()) return false;
    skip_blanks();
    if (peek() != ':') return fail("wants ':'");
    ++at_;
    return true;
  }

  bool string() {
    for (++at_; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control byte in a string");
      if (c == '\\') {
        if (!escape()) return false;
        continue;
      }
      const auto [length, valid] = utf8_step(text_, at_);
      if (!valid) return fail("invalid UTF-8");
      at_ += length;
    }
    return fail("a string without an end");
  }

  bool escape() {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c != 'u') {
      if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
        return fail("an unknown escape");
      }
      at_ += 2;
      return true;
    }
    const int unit = code_unit(at_);
    if (unit < 0) return fail("wants four hexadecimal digits after \\u");
    if (unit >= 0xD800 && unit < 0xE000) {
      const int low = code_unit(at_ + 6);
      if (unit >= 0xDC00 || low < 0xDC00 || low >= 0xE000) return fail("a lone surrogate");
      at_ += 6;
    }
    at_ += 6;
    return true;
  }

  /// The code unit of \uXXXX at `i`, or -1.
  int code_unit(size_t i) const {
    if (i + 6 > text_.size() || text_[i] != '\\' || text_[i + 1] != 'u') return -1;
    int unit = 0;
    const char* end = text_.data() + i + 6;
    const auto [parsed, error] = std::from_chars(end - 4, end, unit, 16);
    return error == std::errc() && parsed == end && *(end - 4) != '-' ? unit : -1;
  }

  bool number() {
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) return fail("wants a digit");
    if (peek() == '0' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
      return fail("a number with a leading zero");
    }
    skip_digits();
    if (peek() == '.') {
      ++at_;
      if (!is_digit(peek())) return fail("wants a digit");
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) return fail("wants a digit");
      skip_digits();
    }
    return true;
  }

  void skip_digits() {
    while (is_digit(peek())) ++at_;
  }
  void skip_blanks() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  /// The next byte; at the end NUL, which no rule accepts.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static char close_of(char open) { return open == '{' ? '}' : ']'; }

  bool fail(std::string reason) {
    if (at_ >= text_.size()) reason += ", found the end";
    fault_ = JsonFault{at_, std::move(reason)};
    return false;
  }

  std::string_view text_;
  size_t max_depth_;
  size_t at_ = 0;
  std::vector<char> open_;  ///< the containers around `at_`
  std::optional<JsonFault> fault_;
};

bool fits_64_bits(std::string_view digits) {
  int64_t integer = 0;
  uint64_t natural = 0;
  const char* end = digits.data() + digits.size();
  return std::from_chars(digits.data(), end, integer).ec == std::errc() ||
         std::from_chars(digits.data(), end, natural).ec == std::errc();
}

/// `text` with `other(number)` for every number.
template <typename Other>
std::string with_numbers(std::string_view text, Other other) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (!in_string && (text[i] == '-' || is_digit(text[i]))) {
      const size_t end = std::min(text.find_first_not_of("-+.eE0123456789", i), text.size());
      out += other(text.substr(i, end - i));
      i = end;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') out += text[i++];
    out += text[i++];
  }
  return out;
}

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text, size_t max_depth) {
  return Scanner(text, max_depth).run();
}

std::string widen_json_integers(std::string_view text) {
  return with_numbers(text, [](std::string_view number) {
    const bool integer = number.find_first_of(".eE") == std::string_view::npos;
    return std::string(number) + (integer && !fits_64_bits(number) ? ".0" : "");
  });
}

std::string without_huge_numbers(std::string_view text) {
  return with_numbers(text, [](std::string_view number) {
    return to_number<double>(number) ? std::string(number) : "0";
  });
}

}  // namespace bert
