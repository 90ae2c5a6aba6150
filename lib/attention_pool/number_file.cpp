#include "attention_pool/number_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/parse.h"
#include "base/team.h"
#include "io/input_kind.h"
#include "io/npy.h"
#include "ops/dtype.h"

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

/// All bytes of a descriptor that is no regular file.
std::string read_all(int fd, const std::string& path) {
  std::string bytes;
  constexpr size_t kStep = size_t{1} << 20;
  for (size_t size = 0;;) {
    if (bytes.size() < size + kStep) bytes.resize(std::max(size + kStep, 2 * size));
    const ssize_t n = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error::from_errno(path, "cannot read", errno);
    if (n == 0) {
      bytes.resize(size);
      return bytes;
    }
    size += static_cast<size_t>(n);
  }
}

struct Descriptor {
  int fd;
  bool owned;
  explicit Descriptor(const std::string& path)
      : fd(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        owned(path != "-") {}
  ~Descriptor() {
    if (owned && fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool is_pipe() const {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
  }
};

/// Converts integers of an npy file.
template <typename T>
void convert(const std::byte* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
}

void convert(const NpyArray& array, std::span<float> to) {
  const std::byte* const from = array.bytes.data();
  const std::string_view type = std::string_view(array.descr).substr(1);
  if (type == "f2") return to_float(DType::f16, from, to);
  if (type == "f4") return to_float(DType::f32, from, to);
  if (type == "f8") return to_float(DType::f64, from, to);
  if (type == "i1") return convert<int8_t>(from, to);
  if (type == "i2") return convert<int16_t>(from, to);
  if (type == "i4") return convert<int32_t>(from, to);
  if (type == "i8") return convert<int64_t>(from, to);
  if (type == "u2") return convert<uint16_t>(from, to);
  if (type == "u4") return convert<uint32_t>(from, to);
  if (type == "u8") return convert<uint64_t>(from, to);
  convert<uint8_t>(from, to);  // u1, b1
}

}  // namespace

void read_numbers(std::string_view line, std::vector<float>& out) {
  const size_t before = out.size(), fields = count_fields(line);
  out.resize(before + fields);
  parse_line(line, std::span(out).subspan(before));
}

NumberFile NumberFile::open(const std::string& path, const NumberLines& lines) {
  NumberFile file;
  file.path_ = path;
  struct stat status;
  const bool regular = path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (regular) {
    file.mapped_ = MappedFile::open(path);
  } else {
    const Descriptor from(path);
    if (from.fd < 0) throw Error::from_errno(path, "cannot open", errno);
    file.bytes_ = read_all(from.fd, path);
  }
  const std::string_view text = regular ? file.mapped_.text() : std::string_view(file.bytes_);
  if (is_npy(text)) {
    file.read_array(std::as_bytes(std::span(text)));
  } else {
    file.read_lines(text, lines);
    file.bytes_.clear();
    file.bytes_.shrink_to_fit();
    file.mapped_ = MappedFile();
  }
  return file;
}

void NumberFile::read_lines(std::string_view text, const NumberLines& lines) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const char terminator =
      text.find('\n') != text.npos || text.find('\0') == text.npos ? '\n' : '\0';
  if (const std::string fault = refuse_input({text, terminator, true}, Wanted::lines);
      !fault.empty()) {
    throw Error(Error::Kind::data, path_, fault);
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
  if (rows == 0) throw Error(Error::Kind::data, path_, "is empty, wants rows of numbers");
  check_widths(text, terminator, rows, cols);
  const Matrix out = values_.matrix(rows, cols);
  team.run([&](int part, int) { read_piece(pieces[static_cast<size_t>(part)], terminator, out); });
  for (const Piece& piece : pieces) {
    if (piece.bad_line != SIZE_MAX) refuse_line(piece.bad_line, piece.fault);
  }
  matrix_ = out;
}

/// Before there is memory for rows * cols numbers: each takes a byte at least. If there are fewer,
/// a record is shorter than the first.
void NumberFile::check_widths(std::string_view text, char terminator, size_t rows,
                              size_t cols) const {
  if (rows <= text.size() / cols + 1) return;
  for (size_t i = 0; i < rows; ++i) {
    const size_t fields = count_fields(take_line(text, terminator));
    if (fields != cols) refuse_line(i, other_width(fields, cols));
  }
}

void NumberFile::refuse_line(size_t index, const std::string& what) const {
  throw Error(Error::Kind::data, fmt::format("{}: record {}", path_, index + 1), what);
}

void NumberFile::read_array(std::span<const std::byte> bytes) {
  const NpyArray array = read_npy(bytes, path_);
  if (array.shape.empty() || array.shape.size() > 2) {
    throw Error(Error::Kind::data, path_,
                fmt::format("found an array of {} dimensions, wants 1 or 2", array.shape.size()));
  }
  const size_t rows = array.shape[0], cols = array.shape.size() > 1 ? array.shape[1] : 1;
  const size_t numbers = rows * cols;  // fits: read_npy has checked it against the file
  if (numbers == 0) {
    throw Error(Error::Kind::data, path_,
                fmt::format("is empty, [{}, {}], wants rows of numbers", rows, cols));
  }
  const std::byte* const data = array.bytes.data();
  const bool columns = array.fortran_order && rows > 1 && cols > 1;
  const bool in_place =
      array.descr == "<f4" && !columns && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;
  if (in_place) {
    matrix_ = {reinterpret_cast<const float*>(data), rows, cols};
  } else if (!columns) {
    matrix_ = values_.matrix(rows, cols);
    convert(array, {values_.data(), numbers});
  } else {
    Buffer transposed;
    convert(array, {transposed.reserve(numbers), numbers});
    const Matrix out = values_.matrix(rows, cols);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < cols; ++j) out.row(i)[j] = transposed.data()[j * rows + i];
    }
    matrix_ = out;
  }
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < cols; ++j) {
      if (std::isfinite(matrix_.row(i)[j])) continue;
      throw Error(
          Error::Kind::data, fmt::format("{}: row {}", path_, i + 1),
          fmt::format("column {}: found '{}', wants a finite number", j + 1, matrix_.row(i)[j]));
    }
  }
}

bool begins_as_npy(const std::string& path) {
  struct stat status;
  const bool inherited = path == "-" || path.starts_with("/dev/fd/");
  // A named pipe may be opened once only: its writer would notice.
  if (!inherited && (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))) return false;
  const Descriptor from(path);
  if (from.fd < 0) return false;
  char start[6] = {};
  if (!from.is_pipe()) {
    const off_t place = lseek(from.fd, 0, SEEK_CUR);
    return place >= 0 && pread(from.fd, start, sizeof start, place) == sizeof start &&
           is_npy({start, sizeof start});
  }
  // tee() copies what a pipe holds and leaves it there; one byte tells, since no number begins so.
  int copy[2];
  if (pipe2(copy, O_CLOEXEC) != 0) return false;
  ssize_t n = -1;
  do {
    n = tee(from.fd, copy[1], sizeof start, 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) n = ::read(copy[0], start, sizeof start);
  ::close(copy[0]);
  ::close(copy[1]);
  return n > 0 && start[0] == '\x93';
}

}  // namespace bert
