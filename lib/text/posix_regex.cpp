#include "text/posix_regex.h"

#include <fmt/format.h>
#include <wctype.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/platform.h"
#include "text/unicode.h"

namespace bert {
namespace {

constexpr size_t kMostInstructions = 100000;
constexpr size_t kMostRepeats = 32767;  // RE_DUP_MAX
constexpr size_t kMostNested = 1000;
constexpr char32_t kNone = 0xFFFFFFFF;  // before or after the text, or invalid UTF-8

[[noreturn]] void refuse(std::string_view what) { throw Error(Error::Kind::usage, "", what); }

/// Letters are those of C.UTF-8, whatever the user's locale.
locale_t letters() {
  static const locale_t made = platform::utf8_letters();
  return made;
}

bool is_of(char32_t c, wctype_t type) {
  return iswctype_l(static_cast<wint_t>(c), type, letters()) != 0;
}

bool is_word(char32_t c) {
  static const wctype_t alnum = wctype_l("alnum", letters());
  return c != kNone && (c == U'_' || is_of(c, alnum));
}

/// The character at text[i] and its length in bytes.
std::pair<char32_t, size_t> decode(std::string_view text, size_t i) {
  const DecodedChar decoded = decode_utf8(text, i);
  return {decoded.valid ? decoded.code_point : kNone, decoded.length};
}

char32_t decode_before(std::string_view text, size_t i) {
  for (size_t k = 1; k <= std::min<size_t>(4, i); ++k) {
    if ((static_cast<unsigned char>(text[i - k]) & 0xC0) == 0x80) continue;
    const auto [c, length] = decode(text, i - k);
    return length == k ? c : kNone;
  }
  return kNone;
}

struct CharSet {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  std::vector<wctype_t> types;
  bool negated = false;
  bool underscore_word = false;  ///< \w

  bool has(char32_t c) const {
    if (c == kNone) return false;
    bool found = underscore_word && is_word(c);
    for (const auto& [low, high] : ranges) found |= c >= low && c <= high;
    for (const wctype_t type : types) found = found || is_of(c, type);
    return found != negated;
  }
};

enum class Op : uint8_t {
  character,
  set,
  any,
  split,
  jump,
  begin,
  end,
  edge,
  no_edge,
  head,
  tail,
  match
};

/// `x`: the character, or the index of the set. `next`, `other`: the instructions that may follow.
struct Instruction {
  Op op;
  uint32_t x = 0, next = 0, other = 0;
};

bool is_assertion(Op op) { return op >= Op::begin && op <= Op::tail; }

}  // namespace

struct Regex::Program {
  std::vector<Instruction> code;
  std::vector<CharSet> sets;

  bool takes(const Instruction& i, char32_t c) const {
    switch (i.op) {
      case Op::character:
        return c == i.x;
      case Op::set:
        return sets[i.x].has(c);
      default:
        return c != kNone && c != 0;  // any: regexec(3) too excludes NUL
    }
  }
  static bool holds(Op op, char32_t before, char32_t after, bool at_begin, bool at_end) {
    const bool left = is_word(before), right = is_word(after);
    switch (op) {
      case Op::begin:
        return at_begin;
      case Op::end:
        return at_end;
      case Op::edge:
        return left != right;
      case Op::no_edge:
        return left == right;
      case Op::head:
        return !left && right;
      default:
        return left && !right;
    }
  }
};

namespace {

/// Grammar: alternatives are branches between |, a branch is a row of pieces, a piece is an atom
/// with its repetitions. The code of each part is entered at its first instruction and left behind
/// its last. Jumps count from the first instruction, so a repetition is a copy of the code.
class Parser {
 public:
  Parser(std::string_view text, std::vector<CharSet>& sets) : text_(text), sets_(sets) {}

  using Code = std::vector<Instruction>;

  Code parse() {
    Code code = alternatives(0);
    code.push_back({Op::match});
    return code;
  }

 private:
  bool done() const { return at_ == text_.size(); }
  bool next_is(char c) const { return !done() && text_[at_] == c; }

  static void append(Code& to, const Code& part) {
    if (to.size() + part.size() > kMostInstructions) refuse("is too large");
    const auto base = static_cast<uint32_t>(to.size());
    for (Instruction i : part) {
      i.next += base;
      i.other += base;
      to.push_back(i);
    }
  }
  static Code single(Op op, uint32_t x = 0) { return {{op, x, 1, 0}}; }

  Code alternatives(size_t depth) {
    if (depth > kMostNested) refuse("has too many parentheses");
    Code code = branch(depth);
    while (next_is('|')) {
      ++at_;
      const Code right = branch(depth);
      // split(left, right); left; jump(end); right
      Code both{{Op::split, 0, 1, static_cast<uint32_t>(code.size() + 2)}};
      append(both, code);
      both.push_back({Op::jump, 0, static_cast<uint32_t>(code.size() + 2 + right.size()), 0});
      append(both, right);
      code = std::move(both);
    }
    return code;
  }

  Code branch(size_t depth) {
    Code code;
    // An unmatched ) stands for itself.
    while (!done() && text_[at_] != '|' && !(text_[at_] == ')' && depth > 0)) {
      append(code, piece(depth));
    }
    return code;
  }

  Code piece(size_t depth) {
    bool repeats = true;
    Code code = atom(depth, repeats);
    while (repeats && !done()) {
      size_t least = 0, most = SIZE_MAX;
      if (text_[at_] == '{') {
        interval(least, most);
      } else if (text_[at_] == '+') {
        least = 1;
      } else if (text_[at_] == '?') {
        most = 1;
      } else if (text_[at_] != '*') {
        break;
      }
      ++at_;
      code = repeated(code, least, most);
    }
    return code;
  }

  /// Reads {M,N}: begins at {, ends at }.
  void interval(size_t& least, size_t& most) {
    const auto number = [&](size_t absent) {
      if (done() || text_[at_] < '0' || text_[at_] > '9') return absent;
      size_t value = 0;
      for (; !done() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        value = std::min<size_t>(10 * value + static_cast<size_t>(text_[at_] - '0'), 1 << 20);
      }
      return value;
    };
    ++at_;
    const size_t digits = at_;
    least = number(0);
    most = least;
    if (next_is(',')) {
      ++at_;
      most = number(SIZE_MAX);
    } else if (at_ == digits) {
      refuse("has a { that no number follows");
    }
    if (!next_is('}')) refuse("has a { without its }");
    if (least > most) refuse("has a {M,N} with M above N");
    if (least > kMostRepeats || (most != SIZE_MAX && most > kMostRepeats)) {
      refuse(fmt::format("repeats more than {} times", kMostRepeats));
    }
  }

  static Code repeated(const Code& code, size_t least, size_t most) {
    Code all;
    for (size_t i = 0; i < least; ++i) append(all, code);
    const auto size = static_cast<uint32_t>(code.size());
    if (most == SIZE_MAX) {  // L: split(code, end); code; jump L
      Code loop{{Op::split, 0, 1, size + 2}};
      append(loop, code);
      loop.push_back({Op::jump, 0, 0, 0});
      append(all, loop);
      return all;
    }
    for (size_t i = least; i < most; ++i) {  // an optional copy: to skip it skips the rest too
      const auto rest = static_cast<uint32_t>((most - i) * (size + 1));
      if (all.size() + rest > kMostInstructions) refuse("is too large");
      Code optional{{Op::split, 0, 1, rest}};
      append(optional, code);
      append(all, optional);
    }
    return all;
  }

  Code atom(size_t depth, bool& repeats) {
    const char c = text_[at_];
    switch (c) {
      case '(': {
        ++at_;
        Code code = alternatives(depth + 1);
        if (!next_is(')')) refuse("has a ( without its )");
        ++at_;
        return code;
      }
      case '*':
      case '+':
      case '?':
      case '{':
        refuse(fmt::format("has nothing that {} repeats", c));
      case '^':
      case '$':
        ++at_;
        repeats = false;
        return single(c == '^' ? Op::begin : Op::end);
      case '.':
        ++at_;
        return single(Op::any);
      case '[':
        return bracket();
      case '\\':
        return escape(repeats);
      default:
        return character();
    }
  }

  Code character() {
    const auto [c, length] = decode(text_, at_);
    if (c == kNone) refuse("is not valid UTF-8");
    at_ += length;
    return single(Op::character, c);
  }

  Code set(CharSet made) {
    sets_.push_back(std::move(made));
    return single(Op::set, static_cast<uint32_t>(sets_.size() - 1));
  }

  Code escape(bool& repeats) {
    if (++at_ == text_.size()) refuse("ends in a backslash");
    const char c = text_[at_];
    if (c >= '1' && c <= '9') refuse(fmt::format("has the back reference \\{}", c));
    constexpr std::pair<char, Op> kEdges[] = {{'b', Op::edge}, {'B', Op::no_edge}, {'<', Op::head},
                                              {'>', Op::tail}, {'`', Op::begin},   {'\'', Op::end}};
    for (const auto& [letter, op] : kEdges) {
      if (c != letter) continue;
      ++at_;
      repeats = false;
      return single(op);
    }
    if (c != 'w' && c != 'W' && c != 's' && c != 'S') return character();
    ++at_;
    CharSet made;
    made.negated = c == 'W' || c == 'S';
    made.underscore_word = c == 'w' || c == 'W';
    if (!made.underscore_word) made.types.push_back(wctype_l("space", letters()));
    return set(std::move(made));
  }

  Code bracket() {
    CharSet made;
    ++at_;
    made.negated = next_is('^');
    at_ += made.negated;
    for (bool first = true; first || !next_is(']'); first = false) {
      if (done()) refuse("has a [ without its ]");
      if (const std::string name = named(':'); !name.empty()) {
        const wctype_t type = wctype_l(name.c_str(), letters());
        if (type == 0) refuse(fmt::format("has the unknown class '{}'", printable(name)));
        made.types.push_back(type);
        continue;
      }
      const char32_t low = element();
      const bool range = next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      at_ += range;
      const char32_t high = range ? element() : low;
      if (high < low) refuse("has a range whose end comes before its begin");
      made.ranges.emplace_back(low, high);
    }
    ++at_;
    return set(std::move(made));
  }

  /// The name in [:name:], [.x.] or [=x=] within brackets, by its mark; "" if there is none here.
  std::string named(char mark) {
    if (!next_is('[') || at_ + 1 == text_.size() || text_[at_ + 1] != mark) return "";
    const size_t end = text_.find(std::string{mark, ']'}, at_ + 2);
    if (end == text_.npos || end == at_ + 2) refuse("has a [ without its ]");
    std::string name(text_.substr(at_ + 2, end - at_ - 2));
    at_ = end + 2;
    return name;
  }

  char32_t element() {
    for (const char mark : {'.', '='}) {
      const std::string name = named(mark);
      if (name.empty()) continue;
      const auto [c, length] = decode(name, 0);
      if (c == kNone || length != name.size()) refuse("has an unknown element in brackets");
      return c;
    }
    if (done()) refuse("has a [ without its ]");
    const auto [c, length] = decode(text_, at_);
    if (c == kNone) refuse("is not valid UTF-8");
    at_ += length;
    return c;
  }

  std::string_view text_;
  std::vector<CharSet>& sets_;
  size_t at_ = 0;
};

}  // namespace

Regex::Regex(std::string_view expression) {
  auto program = std::make_unique<Program>();
  program->code = Parser(expression, program->sets).parse();
  program_ = std::move(program);
}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::optional<std::pair<size_t, size_t>> Regex::find(std::string_view text, size_t from, Scratch& s,
                                                     uint64_t most_steps) const {
  const std::vector<Instruction>& code = program_->code;
  s.seen.resize(code.size(), 0);
  std::optional<std::pair<size_t, size_t>> best;
  char32_t before = decode_before(text, from);
  s.now.clear();
  for (size_t i = from;;) {
    const bool at_end = i == text.size();
    const auto [c, length] = at_end ? std::pair{kNone, size_t{1}} : decode(text, i);
    // Threads are in the order in which their matches begin. The first thread to reach an
    // instruction has the leftmost match; later threads would only repeat it, so they end.
    ++s.closure;
    s.next.clear();
    const auto follow = [&, c = c](uint32_t start, size_t begin) {
      s.to_visit.assign(1, start);
      while (!s.to_visit.empty()) {
        const uint32_t at = s.to_visit.back();
        s.to_visit.pop_back();
        if (s.seen[at] == s.closure) continue;
        s.seen[at] = s.closure;
        ++s.steps;
        const Instruction& o = code[at];
        if (o.op == Op::match) {
          if (!best || begin <= best->first) best = {begin, i};
        } else if (o.op == Op::split || o.op == Op::jump) {
          s.to_visit.push_back(o.next);
          if (o.op == Op::split) s.to_visit.push_back(o.other);
        } else if (is_assertion(o.op)) {
          if (Program::holds(o.op, before, c, i == 0, at_end)) s.to_visit.push_back(o.next);
        } else if (program_->takes(o, c)) {
          s.next.push_back({o.next, begin});
        }
      }
    };
    for (const Scratch::Thread& thread : s.now) {
      if (best && thread.begin > best->first) break;
      follow(thread.at, thread.begin);
    }
    if (!best) follow(0, i);
    if (at_end || (best && s.next.empty())) return best;
    if (s.steps > most_steps) {
      throw Error(Error::Kind::data, "", "the expression takes too many steps on this text");
    }
    std::swap(s.now, s.next);
    before = c;
    i += length;
  }
}

}  // namespace bert
