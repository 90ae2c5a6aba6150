#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"

namespace bert {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr struct {
  std::string_view name;
  DType type;
} kTypes[] = {{"<f2", DType::f16},     {"<f4", DType::f32}, {"<f8", DType::f64},
              {"|b1", DType::boolean}, {"|i1", DType::i8},  {"<i2", DType::i16},
              {"<i4", DType::i32},     {"<i8", DType::i64}, {"|u1", DType::u8},
              {"<u2", DType::u16},     {"<u4", DType::u32}, {"<u8", DType::u64}};

/// Reads the dictionary of a header, a Python literal such as
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  /// Without type and bytes.
  NpyArray read() {
    NpyArray array;
    int found = 0;  // bits of the three keys
    want('{');
    while (!take('}')) {
      const std::string key = quoted();
      want(':');
      if (key == "descr") {
        descr = quoted();
        found |= 1;
      } else if (key == "fortran_order") {
        array.fortran_order = boolean();
        found |= 2;
      } else if (key == "shape") {
        array.shape = shape();
        found |= 4;
      } else {
        fail();
      }
      if (take('}')) break;
      want(',');
    }
    if (found != 7) fail();
    return array;
  }

  std::string descr;  ///< the type as NumPy spells it, after read()

 private:
  [[noreturn]] void fail() const {
    throw Error(Error::Kind::data, path_,
                "the header of this npy file is broken: wants descr, fortran_order and shape");
  }
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
  }
  bool take(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void want(char c) {
    if (!take(c)) fail();
  }
  std::string quoted() {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) {
      throw Error(Error::Kind::data, path_, "wants an npy file of plain numbers, in one array");
    }
    const size_t end = text_.find(text_.front(), 1);
    if (end == text_.npos) fail();
    const std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    fail();
  }
  std::vector<size_t> shape() {
    std::vector<size_t> sizes;
    want('(');
    while (!take(')')) {
      skip_blanks();
      const auto size = take_number<size_t>(text_);
      if (!size || sizes.size() == 32) fail();
      sizes.push_back(*size);
      if (take(')')) break;
      want(',');
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& path_;
};

}  // namespace

std::string npy_header(size_t rows, size_t columns, std::string_view descr) {
  constexpr size_t kSize = 128, kPreamble = 10;
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                                 descr, rows, columns);
  dict.resize(kSize - kPreamble - 1, ' ');
  dict.push_back('\n');
  const char preamble[kPreamble] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, kSize - kPreamble, 0};
  return std::string(preamble, kPreamble) + dict;
}

bool is_npy(std::string_view start) { return start.starts_with(kMagic); }

std::string_view npy_name(DType type) {
  const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const auto& t) { return t.type == type; });
  return known == std::end(kTypes) ? "" : known->name;
}

NpyArray read_npy(std::span<const std::byte> file, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto fail = [&](const std::string& what) { throw Error(Error::Kind::data, path, what); };
  if (!is_npy(text)) fail("wants an npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(file[i]); };
  if (text.size() < 12) fail("this npy file is cut short");
  const size_t version = byte(6), preamble = version == 1 ? 10 : 12;
  if (version < 1 || version > 3) fail(fmt::format("npy format {}, wants 1 to 3", version));
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - preamble) fail("this npy file is cut short");
  HeaderReader header(text.substr(preamble, length), path);
  NpyArray array = header.read();
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const auto& t) { return t.name == header.descr; });
  if (type == std::end(kTypes)) {
    fail(
        fmt::format("found numbers of type '{}', wants little-endian floats or integers, such as "
                    "'<f4'",
                    printable(header.descr)));
  }
  array.type = type->type;
  array.bytes = file.subspan(preamble + length);
  size_t bytes = dtype_size(type->type);
  bool fits = true;
  for (const size_t size : array.shape) fits &= !__builtin_mul_overflow(bytes, size, &bytes);
  if (!fits || bytes != array.bytes.size()) {
    fail(fmt::format("found {} bytes of numbers, wants those of its shape ({})", array.bytes.size(),
                     fmt::join(array.shape, ", ")));
  }
  return array;
}

}  // namespace bert
