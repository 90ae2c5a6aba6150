#include "search/vector_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/error.h"
#include "io/npy.h"
#include "ops/dtype.h"

namespace bert {
namespace {

struct TypeName {
  std::string_view descr;  // as NumPy spells it
  VectorType type;
};
constexpr TypeName kTypes[] = {{"<f4", VectorType::f32},
                               {"|i1", VectorType::i8},
                               {"|u1", VectorType::bits},
                               {"<f2", VectorType::f16},
                               {"<f8", VectorType::f64}};

size_t bytes_of(VectorType type, size_t width) {
  switch (type) {
    case VectorType::f64:
      return 8 * width;
    case VectorType::f32:
      return 4 * width;
    case VectorType::f16:
      return 2 * width;
    case VectorType::i8:
      return width;
    case VectorType::bits:
      return (width + 7) / 8;
  }
  return 0;
}

/// The signs that a byte of bits stands for, its highest bit first.
constexpr auto kSigns = [] {
  std::array<std::array<float, 8>, 256> signs{};
  for (size_t byte = 0; byte < 256; ++byte) {
    for (size_t i = 0; i < 8; ++i) signs[byte][i] = (byte >> (7 - i)) & 1 ? 1.f : -1.f;
  }
  return signs;
}();

/// No exponent of all ones.
bool all_finite(std::span<const float> x) {
  uint32_t bad = 0;
  for (const float value : x) {
    bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & 0x7F800000u) == 0x7F800000u);
  }
  return bad == 0;
}

}  // namespace

VectorFile VectorFile::open(const std::string& path, const std::optional<RawVectors>& raw) {
  VectorFile vectors;
  vectors.file_ = MappedFile::open(path);
  if (is_npy(vectors.file_.text())) {
    vectors.take_array();
  } else if (raw && raw->width > 0) {
    vectors.take_raw(*raw);
  } else {
    vectors.refuse("is no npy file; of bare numbers the `width` is wanted");
  }
  return vectors;
}

void VectorFile::take_array() {
  const NpyArray array = read_npy(file_.bytes(), path());
  if (array.shape.size() != 2 || array.fortran_order) {
    refuse("wants an array of two dimensions, its rows one after the other");
  }
  const TypeName* known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                       [&](const TypeName& t) { return t.descr == array.descr; });
  if (known == std::end(kTypes)) {
    refuse(
        fmt::format("found numbers of type '{}', wants '<f4', '<f2', '<f8', '|i1' or '|u1' "
                    "(bits)",
                    printable(array.descr)));
  }
  type_ = known->type;
  rows_ = array.shape[0];
  width_ = array.shape[1] * (type_ == VectorType::bits ? 8 : 1);
  if (width_ == 0) refuse("its vectors have no numbers");
  row_bytes_ = bytes_of(type_, width_);
  data_ = array.bytes.data();
}

void VectorFile::take_raw(const RawVectors& raw) {
  type_ = raw.type;
  width_ = raw.width;
  row_bytes_ = bytes_of(type_, width_);
  if (file_.size() % row_bytes_ != 0) {
    refuse(fmt::format("found {} bytes, wants a multiple of {}, the bytes of a vector of {}",
                       file_.size(), row_bytes_, width_));
  }
  rows_ = file_.size() / row_bytes_;
  data_ = file_.bytes().data();
}

void VectorFile::refuse(const std::string& what) const {
  throw Error(Error::Kind::data, path(), what);
}

void VectorFile::convert(const std::byte* row, std::span<float> out) const {
  switch (type_) {
    case VectorType::f64:
      return to_float(DType::f64, row, out);
    case VectorType::f32:
      return to_float(DType::f32, row, out);
    case VectorType::f16:
      return to_float(DType::f16, row, out);
    case VectorType::i8:
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<float>(static_cast<int8_t>(row[i]));
      }
      return;
    case VectorType::bits:
      for (size_t i = 0; i < out.size(); i += 8) {
        const std::array<float, 8>& signs = kSigns[std::to_integer<size_t>(row[i / 8])];
        std::copy_n(signs.begin(), std::min<size_t>(8, out.size() - i), out.begin() + i);
      }
      return;
  }
}

const float* VectorFile::floats() const {
  const bool aligned = reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0;
  return type_ == VectorType::f32 && aligned ? reinterpret_cast<const float*>(data_) : nullptr;
}

ConstMatrix VectorFile::convert_rows(size_t first, size_t count, Buffer& scratch) const {
  if (const float* all = floats()) return {all + first * width_, count, width_};
  const std::byte* begin = data_ + first * row_bytes_;
  const Matrix rows = scratch.matrix(count, width_);
  for (size_t i = 0; i < count; ++i) convert(begin + i * row_bytes_, {rows.row(i), width_});
  return rows;
}

void VectorFile::replace_bad_rows(float instead) {
  replaces_bad_rows_ = true;
  instead_ = instead;
  bad_rows_.clear();
  if (type_ == VectorType::i8 || type_ == VectorType::bits) return;
  Buffer scratch;
  for (size_t i = 0; i < rows_; ++i) {
    const ConstMatrix row = convert_rows(i, 1, scratch);
    if (!all_finite({row.data, width_})) bad_rows_.push_back(i);
  }
}

ConstMatrix VectorFile::read(size_t first, size_t count, Buffer& scratch) const {
  const ConstMatrix rows = convert_rows(first, count, scratch);
  if (replaces_bad_rows_) {
    const auto bad = std::lower_bound(bad_rows_.begin(), bad_rows_.end(), first);
    if (bad == bad_rows_.end() || *bad >= first + count) return rows;
    const Matrix own = scratch.matrix(count, width_);
    if (own.data != rows.data) std::copy_n(rows.data, count * width_, own.data);
    for (auto row = bad; row != bad_rows_.end() && *row < first + count; ++row) {
      std::fill_n(own.row(*row - first), width_, instead_);
    }
    return own;
  }
  if (type_ == VectorType::i8 || type_ == VectorType::bits) return rows;
  for (size_t i = 0; i < count; ++i) {
    if (!all_finite({rows.row(i), width_})) {
      refuse(fmt::format("row {}: has a number that is not finite{}", first + i + 1,
                         type_ == VectorType::f64 ? " as a float of 32 bits" : ""));
    }
  }
  return rows;
}

VectorSource source_of(const VectorFile& file) {
  return {file.rows(), file.width(), [&file](size_t first, size_t count, Buffer& scratch) {
            return file.read(first, count, scratch);
          }};
}

}  // namespace bert
