#include "search/indexed_vectors.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/platform.h"
#include "base/random.h"

namespace bert {
namespace {

std::string_view text_of(const MatrixFile& vectors) {
  const auto bytes = vectors.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t time_of(const MatrixFile& vectors) {
  struct stat status {};
  if (::stat(vectors.path().c_str(), &status) != 0) {
    throw Error::from_errno(vectors.path(), "cannot stat", errno);
  }
  const timespec time = platform::modification_time(status);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

/// Up to 1024 pieces of the file, the first and the last among them: all of a small file.
uint64_t sample_of(const MatrixFile& vectors) {
  constexpr size_t kPieces = 1024, kPiece = size_t{1} << 16;
  const std::string_view text = text_of(vectors);
  if (text.size() <= kPieces * kPiece) return xxh64(text);
  uint64_t hash = text.size();
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t begin = (text.size() - kPiece) / (kPieces - 1) * i;
    hash = mix(hash, xxh64(text.substr(i + 1 < kPieces ? begin : text.size() - kPiece, kPiece)));
  }
  return hash;
}

}  // namespace

IndexedVectors IndexedVectors::of(const MatrixFile& vectors, uint64_t model) {
  if (vectors.rows() == 0)
    throw Error(Error::Kind::data, vectors.path(), "has no vectors to index");
  IndexedVectors found;
  found.time = time_of(vectors);  // before the bytes: what changes later is seen
  found.vectors = xxh64(text_of(vectors));
  found.sample = sample_of(vectors);
  found.model = model;
  found.rows = vectors.rows();
  found.width = vectors.cols();
  return found;
}

void IndexedVectors::check(const std::string& index, const MatrixFile& of,
                           uint64_t wanted_model) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(Error::Kind::data, index, what + ": build it again");
  };
  const bool sizes = rows == of.rows() && width == of.cols();
  if (!sizes || (time == time_of(of) ? sample != sample_of(of) : vectors != xxh64(text_of(of)))) {
    refuse(fmt::format("is the index of other vectors than those of {}", of.path()));
  }
  if (model != 0 && wanted_model != 0 && model != wanted_model) {
    refuse("was built with another model");
  }
}

}  // namespace bert
