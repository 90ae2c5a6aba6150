#include "io/number_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/parse.h"
#include "base/team.h"
#include "io/input_kind.h"

namespace bert {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The number that the field is, finite; else an empty optional.
std::optional<float> to_finite(std::string_view field) {
  std::string_view text = without_blanks(field);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const auto value = to_number<double>(text);
  const auto number = static_cast<float>(value.value_or(NAN));
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

[[noreturn]] void refuse_field(size_t index, std::string_view field, std::string_view line) {
  std::string what =
      fmt::format("field {}: found '{}', wants a finite number", index + 1, printable(field));
  if (line.find('\t') == line.npos &&
      (field.find(',') != field.npos || without_blanks(field).find(' ') != field.npos)) {
    what += "; fields are separated by tabs";
  }
  throw Error(Error::Kind::data, "", what);
}

/// Writes the numbers of a line to `out` and returns how many fields there are; those behind the
/// end of `out` are counted only.
size_t parse_line(std::string_view line, std::span<float> out) {
  size_t count = 0;
  for (size_t begin = 0; begin <= line.size(); ++count) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    if (count < out.size()) {
      const std::string_view field = line.substr(begin, end - begin);
      const auto number = to_finite(field);
      if (!number) refuse_field(count, field, line);
      out[count] = *number;
    }
    begin = end + 1;
  }
  return count;
}

size_t count_fields(std::string_view line) {
  return static_cast<size_t>(std::count(line.begin(), line.end(), '\t')) + 1;
}

/// Takes a line, without its terminator and CR, from the front of `text`.
std::string_view take_line(std::string_view& text, char terminator) {
  const size_t end = std::min(text.find(terminator), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (terminator == '\n' && line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Whole lines of a file, which one thread reads.
struct Piece {
  std::string_view text;
  size_t first = 0, lines = 0;
  size_t bad_line = SIZE_MAX;  ///< 0-based in the file
  std::string fault;
};

/// Cuts `text` behind lines into `count` pieces of about the same size.
std::vector<Piece> cut(std::string_view text, char terminator, size_t count) {
  std::vector<Piece> pieces(count);
  for (size_t i = 0, begin = 0; i < count; ++i) {
    const size_t wanted = std::max(begin, text.size() / count * (i + 1));
    size_t end =
        i + 1 == count ? text.size() : std::min(text.find(terminator, wanted), text.size());
    end = std::min(end + 1, text.size());
    pieces[i].text = text.substr(begin, end - begin);
    begin = end;
  }
  return pieces;
}

size_t count_lines(std::string_view text, char terminator) {
  const auto ends = static_cast<size_t>(std::count(text.begin(), text.end(), terminator));
  return ends + (text.empty() || text.ends_with(terminator) ? 0 : 1);
}

std::string other_width(size_t found, size_t wanted) {
  return fmt::format("found {} field{}, wants {} as in the first record", found,
                     found == 1 ? "" : "s", wanted);
}

/// Reads a piece into the rows of `out`; a fault is kept, since no exception may leave a thread.
void read_piece(Piece& piece, char terminator, Matrix out) {
  std::string_view text = piece.text;
  for (size_t i = piece.first; i < piece.first + piece.lines; ++i) {
    try {
      const size_t fields = parse_line(take_line(text, terminator), {out.row(i), out.cols});
      if (fields == out.cols) continue;
      piece.fault = other_width(fields, out.cols);
    } catch (const Error& error) {
      piece.fault = error.what();
    }
    piece.bad_line = i;
    return;
  }
}

[[noreturn]] void refuse_line(const std::string& path, size_t index, const std::string& what) {
  throw Error(Error::Kind::data, fmt::format("{}: record {}", path, index + 1), what);
}

/// Before there is memory for rows * cols numbers: each takes a byte at least. If there are fewer,
/// a record is shorter than the first.
void check_widths(std::string_view text, const std::string& path, char terminator, size_t rows,
                  size_t cols) {
  if (rows <= text.size() / cols + 1) return;
  for (size_t i = 0; i < rows; ++i) {
    const size_t fields = count_fields(take_line(text, terminator));
    if (fields != cols) refuse_line(path, i, other_width(fields, cols));
  }
}

}  // namespace

void read_numbers(std::string_view line, std::vector<float>& out) {
  const size_t before = out.size(), fields = count_fields(line);
  out.resize(before + fields);
  parse_line(line, std::span(out).subspan(before));
}

Matrix read_number_lines(std::string_view text, const std::string& path, const NumberLines& lines,
                         Buffer& values) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const char terminator =
      text.find('\n') != text.npos || text.find('\0') == text.npos ? '\n' : '\0';
  if (const std::string fault = refuse_input({text, terminator, true}, Wanted::lines);
      !fault.empty()) {
    throw Error(Error::Kind::data, path, fault);
  }
  if (lines.header) take_line(text, terminator);
  std::string_view rest = text;
  const size_t cols = count_fields(take_line(rest, terminator));
  constexpr size_t kSmall = size_t{1} << 16;  // below it, a thread costs more than it saves
  Team team(text.size() < kSmall ? 1 : lines.threads);
  std::vector<Piece> pieces = cut(text, terminator, static_cast<size_t>(team.size()));
  size_t rows = 0;
  for (Piece& piece : pieces) {
    piece.first = rows;
    piece.lines = count_lines(piece.text, terminator);
    rows += piece.lines;
  }
  if (rows == 0) throw Error(Error::Kind::data, path, "is empty, wants rows of numbers");
  check_widths(text, path, terminator, rows, cols);
  const Matrix out = values.matrix(rows, cols);
  team.run([&](int part, int) { read_piece(pieces[static_cast<size_t>(part)], terminator, out); });
  for (const Piece& piece : pieces) {
    if (piece.bad_line != SIZE_MAX) refuse_line(path, piece.bad_line, piece.fault);
  }
  return out;
}

}  // namespace bert
