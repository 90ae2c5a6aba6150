#include "io/npy.h"

#include <fmt/format.h>

namespace bert {

std::string npy_header(size_t rows, size_t columns) {
  constexpr size_t kSize = 128, kPreamble = 10;
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  dict.resize(kSize - kPreamble - 1, ' ');
  dict.push_back('\n');
  const char preamble[kPreamble] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, kSize - kPreamble, 0};
  return std::string(preamble, kPreamble) + dict;
}

}  // namespace bert
