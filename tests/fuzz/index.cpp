// An index of nearest that somebody changed: the input is a row of changes, each a place (3 bytes,
// little-endian) and the byte that comes there; a place behind the end cuts the file. The hash of
// what was changed is put right, so that the rest is looked at. A search then stays within the
// file. The same of an exact index, whose hash is its end.
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
#include "search/rounded_vectors.h"
#include "search/vector_search.h"

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
    good = read(index());
    bert::RoundedVectors::build(rounded(), *vectors, 0, 1);
    good_rounded = read(rounded());
    header = sizeof(uint64_t);
    while (header < 256 && !hash_fits()) header += sizeof(uint64_t);
    require(hash_fits());
  }
  ~Files() { std::filesystem::remove_all(folder); }
  std::string index() const { return folder + "/v.index"; }
  std::string rounded() const { return folder + "/v.rounded"; }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Whether a header of this size ends with the hash of what follows.
  bool hash_fits() const {
    uint64_t hash = 0;
    std::memcpy(&hash, good.data() + header - sizeof hash, sizeof hash);
    return hash == bert::xxh64(std::string_view(good).substr(header));
  }

  std::string folder;
  std::optional<bert::MatrixFile> vectors;
  std::string good, good_rounded;
  size_t header = 0;
};

std::string changed(std::string bytes, const uint8_t* data, size_t size) {
  for (; size >= 4; data += 4, size -= 4) {
    const size_t at = data[0] | size_t{data[1]} << 8 | size_t{data[2]} << 16;
    if (at < bytes.size()) {
      bytes[at] = static_cast<char>(data[3]);
    } else {
      bytes.resize(at % (bytes.size() + 1));
    }
  }
  return bytes;
}

void put_hash_right(const Files& files, std::string& bytes) {
  if (bytes.size() < files.header) return;
  const uint64_t hash = bert::xxh64(std::string_view(bytes).substr(files.header));
  std::memcpy(bytes.data() + files.header - sizeof hash, &hash, sizeof hash);
}

void try_rounded(const Files& files, const uint8_t* data, size_t size) {
  constexpr size_t kHeader = 128, kPanels = (kRows + 15) / 16;
  std::string bytes = changed(files.good_rounded, data, size);
  if (bytes.size() == files.good_rounded.size()) {
    bert::StreamHash hash(kPanels);
    hash.add(std::string_view(bytes).substr(kHeader, bytes.size() - kHeader - sizeof(uint64_t)));
    const uint64_t value = hash.value();
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  }
  std::ofstream(files.rounded(), std::ios::binary) << bytes;
  try {
    const auto rounded = bert::RoundedVectors::open(files.rounded(), *files.vectors, 0);
    const float query[kWidth] = {1, 2, 3, 4};
    bert::VectorSearch search({query, 1, kWidth}, {.k = 5});
    search.add(rounded, bert::source_of(*files.vectors), 0);
    for (const bert::Neighbour& found : search.nearest(0)) require(found.index < kRows);
  } catch (const bert::Error& error) {
    require(error.kind() == bert::Error::Kind::data);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Files files;
  try_rounded(files, data, size);
  std::string bytes = changed(files.good, data, size);
  put_hash_right(files, bytes);
  std::ofstream(files.index(), std::ios::binary) << bytes;
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
