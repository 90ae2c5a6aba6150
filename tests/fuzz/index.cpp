// An index of nearest that somebody changed: the input is a row of changes, each a place (3 bytes,
// little-endian) and the byte that comes there; a place behind the end cuts the file. The hash of
// what was changed is put right, so that the rest is looked at. A search then stays within the
// file.
#include "search/index.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "io/npy.h"
#include "search/index_build.h"

namespace {

constexpr size_t kRows = 200, kWidth = 4;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Vectors, copies among them, with their index; gone with the process.
struct Files {
  Files() : folder((std::filesystem::temp_directory_path() / "bert-fuzz-XXXXXX").string()) {
    require(mkdtemp(folder.data()) != nullptr);
    std::string numbers = bert::npy_header(kRows, kWidth);
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t k = 0; k < kWidth; ++k) {
        const auto x = static_cast<float>((i % 150 * 37 + k * k * 11 + i % 150 * k) % 101) - 50;
        numbers.append(reinterpret_cast<const char*>(&x), sizeof x);
      }
    }
    std::ofstream(folder + "/v.npy", std::ios::binary) << numbers;
    vectors.emplace(bert::MatrixFile::open_vectors(folder + "/v.npy"));
    bert::build_index(index(), *vectors, 0, 1);
    std::ifstream file(index(), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(file), {});
    header = sizeof(uint64_t);
    while (header < 256 && !hash_fits()) header += sizeof(uint64_t);
    require(hash_fits());
  }
  ~Files() { std::filesystem::remove_all(folder); }
  std::string index() const { return folder + "/v.index"; }
  /// Whether a header of this size ends with the hash of what follows.
  bool hash_fits() const {
    uint64_t hash = 0;
    std::memcpy(&hash, good.data() + header - sizeof hash, sizeof hash);
    return hash == bert::xxh64(std::string_view(good).substr(header));
  }

  std::string folder;
  std::optional<bert::MatrixFile> vectors;
  std::string good;
  size_t header = 0;
};

std::string changed(const Files& files, const uint8_t* data, size_t size) {
  std::string bytes = files.good;
  for (; size >= 4; data += 4, size -= 4) {
    const size_t at = data[0] | size_t{data[1]} << 8 | size_t{data[2]} << 16;
    if (at < bytes.size()) {
      bytes[at] = static_cast<char>(data[3]);
    } else {
      bytes.resize(at % (bytes.size() + 1));
    }
  }
  if (bytes.size() >= files.header) {
    const uint64_t hash = bert::xxh64(std::string_view(bytes).substr(files.header));
    std::memcpy(bytes.data() + files.header - sizeof hash, &hash, sizeof hash);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Files files;
  std::ofstream(files.index(), std::ios::binary) << changed(files, data, size);
  try {
    const bert::VectorIndex index = bert::VectorIndex::open(files.index(), *files.vectors, 0);
    const float queries[2][kWidth] = {{1, 2, 3, 4}, {0, 0, 0, 0}};
    for (const auto& query : queries) {
      const auto found = index.nearest(query, 5);
      require(found.size() <= 5);
      for (const bert::Neighbour& neighbour : found) require(neighbour.index < kRows);
    }
  } catch (const bert::Error& error) {
    require(error.kind() == bert::Error::Kind::data);
  }
  return 0;
}
