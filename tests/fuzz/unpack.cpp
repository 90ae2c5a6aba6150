// Unpacks hostile bytes: no kind of stream reads or writes beyond its buffers, and each ends.

#include "io/unpack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view in(reinterpret_cast<const char*>(data), size);
  const auto unpacker = bert::Unpacker::of(in);
  if (!unpacker) return 0;
  constexpr size_t kMostBytes = 1 << 22;  // of a bomb
  std::vector<char> out(1 + size % 5000);
  try {
    for (size_t all = 0; all < kMostBytes;) {
      const size_t got = unpacker->run(in, out, true);
      if (got == 0) break;
      all += got;
    }
  } catch (const bert::Error&) {
  }
  return 0;
}
