#include "io/matrix_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "base/platform.h"
#include "io/npy.h"
#include "ops/kernels.h"

namespace bert {
namespace {

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

bool is_regular(const std::string& path) {
  struct stat status;
  return path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// The signs that a byte of bits stands for, its highest bit first.
constexpr auto kSigns = [] {
  std::array<std::array<float, 8>, 256> signs{};
  for (size_t byte = 0; byte < 256; ++byte) {
    for (size_t i = 0; i < 8; ++i) signs[byte][i] = (byte >> (7 - i)) & 1 ? 1.f : -1.f;
  }
  return signs;
}();

void bits_to_float(const std::byte* data, std::span<float> out) {
  for (size_t i = 0; i < out.size(); i += 8) {
    const std::array<float, 8>& signs = kSigns[std::to_integer<size_t>(data[i / 8])];
    std::copy_n(signs.begin(), std::min<size_t>(8, out.size() - i), out.begin() + i);
  }
}

/// A finite sum of squares has finite parts only. Large ones make it infinite, too.
bool all_finite(std::span<const float> numbers) {
  return std::isfinite(dot(numbers.data(), numbers.data(), numbers.size())) ||
         std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace

MatrixFile MatrixFile::open_vectors(const std::string& path, const std::optional<RawNumbers>& raw) {
  MatrixFile file(path);
  file.mapped_ = MappedFile::open(path);
  if (is_npy(file.mapped_.text())) {
    file.take_vectors(read_npy(file.bytes(), path));
  } else if (raw && raw->width > 0) {
    file.take_raw(*raw);
  } else {
    file.refuse(
        "is no npy file, which embed writes where its format is npy; of bare numbers the `width` "
        "is wanted");
  }
  return file;
}

MatrixFile MatrixFile::open_numbers(const std::string& path, const NumberLines& lines) {
  MatrixFile file(path);
  const bool regular = is_regular(path);
  if (regular) {
    file.mapped_ = MappedFile::open(path);
  } else {
    const Descriptor from(path);
    if (from.fd < 0) throw Error::from_errno(path, "cannot open", errno);
    file.bytes_ = read_all(from.fd, path);
  }
  const std::string_view text = regular ? file.mapped_.text() : std::string_view(file.bytes_);
  if (is_npy(text)) {
    file.take_numbers(read_npy(std::as_bytes(std::span(text)), path));
  } else {
    file.set_floats(read_number_lines(text, path, lines, file.values_));
    file.bytes_ = std::string();
    file.mapped_ = MappedFile();
  }
  return file;
}

void MatrixFile::set(DType type, size_t rows, size_t cols, const void* data) {
  type_ = type;
  rows_ = rows;
  cols_ = cols;
  data_ = static_cast<const std::byte*>(data);
}

void MatrixFile::set_floats(ConstMatrix all) { set(DType::f32, all.rows, all.cols, all.data); }

void MatrixFile::take_vectors(const NpyArray& array) {
  if (array.shape.size() != 2 || array.fortran_order) {
    refuse("wants an array of two dimensions, its rows one after the other");
  }
  bits_ = array.type == DType::u8;
  if (!is_float(array.type) && array.type != DType::i8 && !bits_) {
    refuse(
        fmt::format("found numbers of type '{}', wants '<f4', '<f2', '<f8', '|i1' or '|u1' "
                    "(bits)",
                    npy_name(array.type)));
  }
  set(array.type, array.shape[0], array.shape[1] * (bits_ ? 8 : 1), array.bytes.data());
  if (cols_ == 0) refuse("its vectors have no numbers");
}

void MatrixFile::take_raw(const RawNumbers& raw) {
  bits_ = raw.type == DType::u8;
  set(raw.type, 0, raw.width, mapped_.bytes().data());
  if (mapped_.size() % row_bytes() != 0) {
    refuse(fmt::format("found {} bytes, wants a multiple of {}, the bytes of a vector of {}",
                       mapped_.size(), row_bytes(), cols_));
  }
  rows_ = mapped_.size() / row_bytes();
}

void MatrixFile::take_numbers(const NpyArray& array) {
  if (array.shape.empty() || array.shape.size() > 2) {
    refuse(fmt::format("found an array of {} dimensions, wants 1 or 2", array.shape.size()));
  }
  const size_t rows = array.shape[0], cols = array.shape.size() > 1 ? array.shape[1] : 1;
  const size_t numbers = rows * cols;  // fits: read_npy has checked it against the file
  if (numbers == 0) refuse(fmt::format("is empty, [{}, {}], wants rows of numbers", rows, cols));
  set(array.type, rows, cols, array.bytes.data());
  const bool by_columns = array.fortran_order && rows > 1 && cols > 1;
  if (by_columns || !floats()) {
    const Matrix out = values_.matrix(rows, cols);
    Buffer columns;
    float* const from = by_columns ? columns.reserve(numbers) : out.data;
    to_float(type_, data_, {from, numbers});
    for (size_t i = 0; by_columns && i < rows; ++i) {
      for (size_t j = 0; j < cols; ++j) out.row(i)[j] = from[j * rows + i];
    }
    set_floats(out);
  }
  check_finite();
}

void MatrixFile::check_finite() const {
  const ConstMatrix all = matrix();
  for (size_t i = 0; i < rows_; ++i) {
    const std::span<const float> row(all.row(i), cols_);
    if (all_finite(row)) continue;
    const auto bad =
        std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
    throw Error(
        Error::Kind::data, fmt::format("{}: row {}", path_, i + 1),
        fmt::format("column {}: found '{}', wants a finite number", bad - row.begin() + 1, *bad));
  }
}

void MatrixFile::refuse(const std::string& what) const {
  throw Error(Error::Kind::data, path_, what);
}

const float* MatrixFile::floats() const {
  const bool aligned = reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0;
  return type_ == DType::f32 && aligned ? reinterpret_cast<const float*>(data_) : nullptr;
}

void MatrixFile::convert(size_t row, std::span<float> out) const {
  const std::byte* const data = data_ + row * row_bytes();
  bits_ ? bits_to_float(data, out) : to_float(type_, data, out);
}

void MatrixFile::replace_bad_rows(float instead) {
  instead_ = instead;
  bad_rows_.clear();
  if (!is_float(type_)) return;
  std::vector<float> row(cols_);
  for (size_t i = 0; i < rows_; ++i) {
    convert(i, row);
    if (!all_finite(row)) bad_rows_.push_back(i);
  }
}

ConstMatrix MatrixFile::read(size_t first, size_t count, Buffer& scratch) const {
  const float* const all = floats();
  const auto bad = std::lower_bound(bad_rows_.begin(), bad_rows_.end(), first);
  const bool in_place = all && (bad == bad_rows_.end() || *bad >= first + count);
  const Matrix own = in_place ? Matrix() : scratch.matrix(count, cols_);
  const ConstMatrix rows = in_place ? ConstMatrix(all + first * cols_, count, cols_) : own;
  for (size_t i = 0; i < count; ++i) {
    if (!in_place) convert(first + i, {own.row(i), cols_});
    if (!is_float(type_) || all_finite({rows.row(i), cols_})) continue;
    if (!instead_) {
      refuse(fmt::format("row {}: has a number that is not finite{}", first + i + 1,
                         type_ == DType::f64 ? " as a float of 32 bits" : ""));
    }
    std::fill_n(own.row(i), cols_, *instead_);
  }
  return rows;
}

bool begins_as_npy(const std::string& path) {
  constexpr std::string_view kInherited = "/dev/fd/";
  const bool inherited = path == "-" || path.starts_with(kInherited);
  // A named pipe may be opened once only: its writer would notice.
  if (!inherited && !is_regular(path)) return false;
  const Descriptor from(path);
  if (from.fd < 0) return false;
  char start[6] = {};
  if (!from.is_pipe()) {
    const off_t place = lseek(from.fd, 0, SEEK_CUR);
    return place >= 0 && pread(from.fd, start, sizeof start, place) == sizeof start &&
           is_npy({start, sizeof start});
  }
  const auto pipe = path == "-" ? STDIN_FILENO : to_number<int>(path.substr(kInherited.size()));
  // One byte tells, since no number begins so.
  return pipe && platform::peek_pipe(*pipe, start, sizeof start) > 0 && start[0] == '\x93';
}

}  // namespace bert
