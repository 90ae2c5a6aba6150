#include "directory/pair_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

using Piece = PairTemplate::Piece;

constexpr std::string_view kBlanks = " \t\n\r\f\v";

std::string_view trimmed_left(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}
std::string_view trimmed_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// The words, strings and signs of an expression; strings begin with a quote.
std::optional<std::vector<std::string>> words_of(std::string_view text) {
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::vector<std::string> words;
  for (text = trimmed_left(text); !text.empty(); text = trimmed_left(text)) {
    size_t size = std::min(text.find_first_not_of(kWord), text.size());
    if (text[0] == '"' || text[0] == '\'') {
      const size_t end = text.find(text[0], 1);
      if (end == std::string_view::npos || text.substr(0, end).find('\\') < end) return {};
      words.emplace_back("\"").append(text.substr(1, end - 1));
      size = end + 1;
    } else {
      size = std::max<size_t>(size, 1);
      words.emplace_back(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  return words;
}

/// What comes next of an expression.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
  bool done() const { return at_ == words_.size(); }
  /// Takes these words, if they are the next.
  bool take(std::initializer_list<std::string_view> wanted) {
    const auto next = words_.begin() + static_cast<ptrdiff_t>(at_);
    const bool is =
        wanted.size() <= words_.size() - at_ && std::equal(wanted.begin(), wanted.end(), next);
    if (is) at_ += wanted.size();
    return is;
  }
  /// Takes a string.
  std::optional<std::string> take_string() {
    if (done() || words_[at_][0] != '"') return {};
    return words_[at_++].substr(1);
  }
  /// Takes any word.
  std::string take_any() { return done() ? "" : words_[at_++]; }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

/// Reads a template from its begin to its end.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : rest_(text), path_(path) {
    if (rest_.ends_with('\n')) rest_.remove_suffix(1);  // keep_trailing_newline is not set
  }

  std::vector<Piece> read() {
    while (!rest_.empty()) {
      const size_t begin = next_tag();
      add_text(rest_.substr(0, begin), begin);
      if (begin == rest_.size()) break;
      read_tag(begin);
    }
    return std::move(pieces_);
  }

 private:
  size_t next_tag() const {
    for (size_t i = 0; i + 1 < rest_.size(); ++i) {
      if (rest_[i] == '{' && (rest_[i + 1] == '{' || rest_[i + 1] == '%' || rest_[i + 1] == '#')) {
        return i;
      }
    }
    return rest_.size();
  }

  /// The text before the tag at `begin` of rest_, without the blanks that either tag takes.
  void add_text(std::string_view text, size_t begin) {
    const std::string_view whole = text;
    if (strips_ == Strips::all) text = trimmed_left(text);
    if (strips_ == Strips::line && text.starts_with('\n')) text.remove_prefix(1);
    const bool begins_line =
        first_ || (text.size() < whole.size() && whole[whole.size() - text.size() - 1] == '\n');
    first_ = false;
    const bool tag = begin < rest_.size();
    const char kind = tag ? rest_[begin + 1] : ' ';
    const char sign = tag && begin + 2 < rest_.size() ? rest_[begin + 2] : ' ';
    if (sign == '-') {
      text = trimmed_right(text);
    } else if (tag && kind != '{' && sign != '+') {  // lstrip_blocks: from the line's begin
      const size_t last = text.find_last_not_of(" \t");
      if (last == std::string_view::npos ? begins_line : text[last] == '\n') {
        text = text.substr(0, last + 1);
      }
    }
    if (!text.empty()) pieces_.push_back({std::string(text)});
  }

  void read_tag(size_t begin) {
    const std::string_view whole = rest_.substr(begin);
    const char kind = whole[1];
    const std::string close = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    const size_t end = whole.find(close, 2);
    if (end == std::string_view::npos) refuse(whole);
    std::string_view inner = whole.substr(2, end - 2);
    const bool left = inner.starts_with('-') || inner.starts_with('+');
    if (left) inner.remove_prefix(1);
    const bool strips = inner.ends_with('-');
    if (strips || inner.ends_with('+')) inner.remove_suffix(1);
    strips_ = strips ? Strips::all : kind == '{' ? Strips::none : Strips::line;
    if (kind == '{') pieces_.push_back(value_of(inner, whole));
    if (kind == '%') read_set(inner, whole);
    rest_ = whole.substr(end + 2);
  }

  void read_set(std::string_view inner, std::string_view whole) {
    const size_t equals = inner.find('=');
    auto words = words_of(inner.substr(0, std::min(equals, inner.size())));
    if (equals == std::string_view::npos || !words || words->size() != 2 || (*words)[0] != "set") {
      refuse(whole);
    }
    names_[(*words)[1]] = value_of(inner.substr(equals + 1), whole);
  }

  Piece value_of(std::string_view expression, std::string_view whole) const {
    auto list = words_of(expression);
    if (!list) refuse(whole);
    Words words(std::move(*list));
    const bool inside = words.take({"("});
    Piece piece;
    if (words.take({"messages", "|", "selectattr", "(", "\"role", ",", "\"eq", ","}) ||
        words.take({"messages", "|", "selectattr", "(", "\"role", ",", "\"equalto", ","})) {
      piece.role = words.take_string().value_or("");
      const bool content = words.take({")", "|", "map", "(", "attribute", "=", "\"content"});
      if (!words.take({")", "|", "first"})) refuse(whole);
      if (inside && !words.take({")"})) refuse(whole);
      if (!content && !(inside && words.take({".", "content"}))) refuse(whole);
    } else {
      const auto found = names_.find(words.take_any());
      if (inside || found == names_.end()) refuse(whole);
      piece = found->second;
    }
    read_filters(words, piece, whole);
    return piece;
  }

  void read_filters(Words& words, Piece& piece, std::string_view whole) const {
    while (!words.done()) {
      if (words.take({"|", "trim"})) {
        piece.trims = true;
      } else if (words.take({"|", "default", "("})) {
        const auto text = words.take_string();
        if (!text || !words.take({")"})) refuse(whole);
        piece.text = *text;
      } else {
        refuse(whole);
      }
    }
    constexpr std::string_view kRoles[] = {"query", "document", "system"};
    if (std::find(std::begin(kRoles), std::end(kRoles), piece.role) == std::end(kRoles)) {
      refuse(whole);
    }
  }

  [[noreturn]] void refuse(std::string_view tag) const {
    constexpr size_t kShown = 60;
    const std::string_view shown = tag.substr(0, kShown);
    throw Error(Error::Kind::unsupported, path_,
                fmt::format("the chat template has {}{}, wants text and the contents of the roles "
                            "query, document and system only",
                            printable(shown), shown.size() < tag.size() ? ".." : ""));
  }

  enum class Strips { none, line, all };
  std::string_view rest_;
  const std::string& path_;
  bool first_ = true;             ///< nothing was read yet
  Strips strips_ = Strips::none;  ///< blanks that the last tag takes from the text behind it
  std::vector<Piece> pieces_;
  std::map<std::string, Piece> names_;
};

}  // namespace

PairTemplate PairTemplate::open(const ModelDirectory& directory) {
  constexpr uint64_t kMostBytes = 1 << 20;
  if (directory.has(file_names::kChatTemplate)) {
    const std::string path = directory.file(file_names::kChatTemplate);
    return parse(MappedFile::open(path, kMostBytes).text(), path);
  }
  const JsonDocument* config = directory.find(file_names::kTokenizerConfig);
  const auto text = config ? config->root().find("chat_template") : std::nullopt;
  if (!text || text->is_null()) {
    throw Error(
        Error::Kind::no_input, directory.file(file_names::kTokenizerConfig),
        fmt::format("has no chat_template, and there is no {}: the model reads a pair by it",
                    file_names::kChatTemplate));
  }
  return parse(text->as_string(), text->where());
}

PairTemplate PairTemplate::parse(std::string_view text, const std::string& path) {
  PairTemplate result;
  result.pieces_ = Reader(text, path).read();
  for (const std::string_view role : {"query", "document"}) {
    const bool has = std::any_of(result.pieces_.begin(), result.pieces_.end(),
                                 [&](const Piece& piece) { return piece.role == role; });
    if (has) continue;
    throw Error(Error::Kind::unsupported, path,
                fmt::format("the chat template leaves out the {} of a pair", role));
  }
  return result;
}

std::string PairTemplate::text(std::string_view query, std::string_view document,
                               std::string_view instruction) const {
  std::string all;
  for (const Piece& piece : pieces_) {
    std::string_view content = piece.text;
    if (piece.role == "query") content = query;
    if (piece.role == "document") content = document;
    if (piece.role == "system" && !instruction.empty()) content = instruction;
    all += piece.trims ? trimmed_left(trimmed_right(content)) : content;
  }
  return all;
}

}  // namespace bert
