#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/matrix_file.h"
#include "io/npy.h"
#include "io/output_file.h"
#include "search/index.h"
#include "search/index_build.h"
#include "search/vector_copies.h"
#include "search/vector_groups.h"
#include "search/vector_join.h"
#include "search/vector_search.h"
#include "temporary.h"
#include "vectors.h"

using namespace bert;
using test::random_vectors;
using test::Vectors;

namespace {

/// Random vectors, then copies and near copies of one other, then random vectors.
Vectors with_copies(size_t random_rows, size_t copies, size_t width) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Vectors v{random_rows + copies, width, {}};
  std::vector<float> one(width);
  for (float& x : one) x = normal(random);
  for (size_t i = 0; i < v.rows; ++i) {
    const bool copy = i >= random_rows / 2 && i < random_rows / 2 + copies;
    const float scale = i % 4 == 1 ? 3.f : 1.f, noise = i % 4 == 2 ? 1e-4f : 0.f;
    for (const float x : one) {
      v.data.push_back(copy ? scale * x + noise * normal(random) : normal(random));
    }
  }
  return v;
}

std::vector<Neighbour> all_sorted(Similarity kind, std::span<const float> query, const Vectors& v) {
  std::vector<Neighbour> all;
  for (size_t i = 0; i < v.rows; ++i) all.push_back({i, similarity(kind, query, v.row(i))});
  std::sort(all.begin(), all.end(), better);
  return all;
}

}  // namespace

TEST_CASE("similarity is that of doubles, and 1 of a vector with itself") {
  const Vectors v = random_vectors(200, 37, 1);
  for (size_t i = 0; i < v.rows; ++i) {
    const auto a = v.row(i), b = v.row((i * 7 + 1) % v.rows);
    long double ab = 0, aa = 0, bb = 0;
    for (size_t d = 0; d < v.width; ++d) {
      ab += static_cast<long double>(a[d]) * b[d];
      aa += static_cast<long double>(a[d]) * a[d];
      bb += static_cast<long double>(b[d]) * b[d];
    }
    const long double wanted = aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
    CHECK(similarity(Similarity::cosine, a, b) ==
          doctest::Approx(static_cast<double>(wanted)).epsilon(1e-13));
    if (aa > 0) CHECK(similarity(Similarity::cosine, a, a) == 1);
  }
}

TEST_CASE("the nearest vectors are those of a full sort, in any blocks and threads") {
  for (const auto& [rows, width, queries] :
       {std::array<size_t, 3>{900, 24, 70}, {700, 385, 3}, {1, 5, 2}, {300, 1, 4}}) {
    const Vectors v = random_vectors(rows, width, 2), q = random_vectors(queries, width, 3);
    for (const Similarity kind : {Similarity::cosine, Similarity::dot}) {
      for (const int threads : {1, 3}) {
        VectorSearch search(q.matrix(), {.similarity = kind, .k = 10, .threads = threads});
        const size_t block = threads == 1 ? rows : 130;
        for (size_t i = 0; i < rows; i += block) {
          search.add(v.matrix().slice(i, std::min(block, rows - i)), i);
        }
        for (size_t i = 0; i < queries; ++i) {
          const auto wanted = all_sorted(kind, q.row(i), v);
          const auto found = search.nearest(i);
          REQUIRE(found.size() == std::min<size_t>(10, rows));
          for (size_t n = 0; n < found.size(); ++n) {
            CHECK(found[n].index == wanted[n].index);
            CHECK(found[n].score == wanted[n].score);
          }
        }
      }
    }
  }
}

TEST_CASE("a threshold leaves out what is below it") {
  const Vectors v = random_vectors(400, 16, 4), q = random_vectors(5, 16, 5);
  VectorSearch search(q.matrix(), {.k = 1000, .threshold = 0.3});
  search.add(v.matrix(), 7);
  for (size_t i = 0; i < q.rows; ++i) {
    auto wanted = all_sorted(Similarity::cosine, q.row(i), v);
    std::erase_if(wanted, [](const Neighbour& n) { return n.score < 0.3; });
    const auto found = search.nearest(i);
    REQUIRE(found.size() == wanted.size());
    for (size_t n = 0; n < found.size(); ++n) CHECK(found[n].index == wanted[n].index + 7);
  }
}

TEST_CASE("pairs are all pairs, in order, each once; groups are what they connect") {
  const Vectors v = random_vectors(2300, 20, 6);
  for (const double threshold : {1.1, 1.0, 0.8, -2.0}) {
    const size_t rows = threshold < 0 ? 60 : v.rows;
    const ConstMatrix some = v.matrix().slice(0, rows);
    std::vector<VectorPair> wanted;
    std::vector<size_t> color(rows);
    std::vector<double> nearest(rows, -2);
    std::iota(color.begin(), color.end(), size_t{0});
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = i + 1; j < rows; ++j) {
        const double score = similarity(Similarity::cosine, v.row(i), v.row(j));
        if (score < threshold) continue;
        wanted.push_back({i, j, score});
        for (const size_t n : {i, j}) nearest[n] = std::max(nearest[n], score);
        const size_t from = std::max(color[i], color[j]), to = std::min(color[i], color[j]);
        if (from != to) std::replace(color.begin(), color.end(), from, to);
      }
    }
    for (const int threads : {1, 3}) {
      size_t next = 0;
      self_join(source_of(some), threshold, threads, [&](const VectorPair& pair) {
        REQUIRE(next < wanted.size());
        CHECK(pair.first == wanted[next].first);
        CHECK(pair.second == wanted[next].second);
        CHECK(pair.score == wanted[next].score);
        return ++next > 0;
      });
      CHECK(next == wanted.size());
    }
    const VectorGroups groups = group(source_of(some), threshold, 2);
    for (size_t i = 0; i < rows; ++i) {
      CHECK(groups.first[i] == color[i]);
      CHECK(groups.score[i] == (nearest[i] < -1 ? 1 : nearest[i]));
    }
  }
}

TEST_CASE("so many pairs that a block of them is too much to hold") {
  const Vectors v{5000, 2, std::vector<float>(10000, 1.f)};
  uint64_t count = 0, sum = 0;
  self_join(source_of(v.matrix()), 0.5, 2, [&](const VectorPair& pair) {
    ++count;
    sum += pair.first * 3 + pair.second;
    return true;
  });
  CHECK(count == 5000 * 4999 / 2);
  uint64_t wanted = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    for (uint64_t j = i + 1; j < 5000; ++j) wanted += i * 3 + j;
  }
  CHECK(sum == wanted);
}

TEST_CASE("groups of many copies need few comparisons") {
  const size_t rows = 200000;
  Vectors v{rows, 3, std::vector<float>(rows * 3, 1.f)};
  v.data[3] = -1;              // row 1
  v.data[(rows - 1) * 3] = 2;  // the last row is near, but no copy
  const VectorGroups groups = group(source_of(v.matrix()), 0.9, 2);
  CHECK(groups.first[1] == 1);
  CHECK(std::count(groups.first.begin(), groups.first.end(), 0) == rows - 1);
  CHECK(groups.score[rows - 1] == similarity(Similarity::cosine, v.row(0), v.row(rows - 1)));
  CHECK(groups.score[5] == 1);
}

TEST_CASE("vectors in files: npy and bare numbers of each type") {
  const test::TemporaryDirectory directory;
  const auto npy = [&](const std::string& descr, size_t rows, size_t columns, std::string bytes) {
    std::string header = npy_header(rows, columns);
    header.replace(header.find("<f4"), 3, descr);
    const std::string path = directory.path() + "/x.npy";
    write_whole_file(path, header + bytes);
    return MatrixFile::open_vectors(path);
  };
  Buffer scratch;
  const float floats[] = {1, -2, 3, 0.5f, 0, -8};
  const std::string bytes(reinterpret_cast<const char*>(floats), sizeof floats);
  const MatrixFile f4 = npy("<f4", 2, 3, bytes);
  CHECK(f4.rows() == 2);
  CHECK(f4.cols() == 3);
  CHECK(f4.read(1, 1, scratch).row(0)[0] == 0.5f);
  const MatrixFile i1 = npy("|i1", 2, 3, std::string("\x01\xff\x7f\x80\x00\x02", 6));
  CHECK(i1.read(0, 2, scratch).row(0)[1] == -1);
  CHECK(i1.read(0, 2, scratch).row(1)[0] == -128);
  const MatrixFile u1 = npy("|u1", 1, 1, "\x81");
  CHECK(u1.cols() == 8);
  const ConstMatrix bits = u1.read(0, 1, scratch);
  CHECK(bits.row(0)[0] == 1);
  CHECK(bits.row(0)[1] == -1);
  CHECK(bits.row(0)[7] == 1);
  const std::string raw = directory.path() + "/x.f32";
  write_whole_file(raw, bytes);
  CHECK(MatrixFile::open_vectors(raw, RawNumbers{DType::f32, 2}).rows() == 3);
  CHECK_THROWS_AS(MatrixFile::open_vectors(raw, RawNumbers{DType::f32, 4}), Error);
  CHECK_THROWS_AS(MatrixFile::open_vectors(raw), Error);
  CHECK_THROWS_AS(npy("<i4", 2, 3, bytes), Error);
  CHECK_THROWS_AS(npy("<f4", 2, 4, bytes), Error);
  const float large[] = {3e38f, -3e38f};  // finite, but their squares are not
  const std::string large_bytes(reinterpret_cast<const char*>(large), sizeof large);
  CHECK(npy("<f4", 1, 2, large_bytes).read(0, 1, scratch).cols == 2);
  const float nan[] = {1, NAN};
  const MatrixFile bad =
      npy("<f4", 2, 1, std::string(reinterpret_cast<const char*>(nan), sizeof nan));
  CHECK(bad.read(0, 1, scratch).rows == 1);
  CHECK_THROWS_WITH_AS(bad.read(0, 2, scratch), doctest::Contains("row 2"), Error);
  const VectorSource source{
      2, 1, [&](size_t first, size_t count, Buffer& own) { return bad.read(first, count, own); }};
  const auto none = [](const VectorPair&) { return false; };
  CHECK_THROWS_WITH_AS(self_join(source, 0, 2, none), doctest::Contains("row 2"), Error);
  VectorSearch search({floats, 1, 1}, {});
  CHECK_THROWS_AS(search.add(source, 0), Error);
  CHECK_THROWS_WITH_AS(search.add(f4.read(0, 2, scratch), 0), doctest::Contains("wants 1"), Error);
}

TEST_CASE("an index finds what the exact search finds, among copies too") {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() + "/x.f32", path = directory.path() + "/x.idx";
  for (const Vectors& v : {with_copies(1000, 600, 16), random_vectors(700, 24, 8)}) {
    write_whole_file(file, {reinterpret_cast<const char*>(v.data.data()), v.data.size() * 4});
    const MatrixFile vectors = MatrixFile::open_vectors(file, RawNumbers{DType::f32, v.width});
    for (const int threads : {1, 3}) {
      build_index(path, vectors, 0, threads);
      const VectorIndex index = VectorIndex::open(path, vectors, 0);
      const VectorIndex::Recall recall = index.recall(1);
      CHECK(recall.sample == 100);
      CHECK(recall.wanted == 1000);
      CHECK(recall.found >= 990);
      for (const size_t k : {size_t{1}, size_t{10}, size_t{620}}) {
        size_t wrong = 0;
        for (size_t q = 0; q < v.rows; q += 7) {
          const auto wanted = all_sorted(Similarity::cosine, v.row(q), v);
          const auto found = index.nearest(v.row(q), k);
          REQUIRE(found.size() == k);
          for (size_t n = 0; n < k; ++n) {
            wrong += found[n].index != wanted[n].index || found[n].score != wanted[n].score;
          }
        }
        CHECK(wrong <= (k == 620 ? v.rows / 7 * k / 100 : 0));
      }
    }
  }
}

TEST_CASE("an index built by one thread is the same bytes each time") {
  const test::TemporaryDirectory directory;
  const Vectors v = with_copies(300, 50, 8);
  const std::string file = directory.path() + "/x.f32", path = directory.path() + "/x.idx";
  write_whole_file(file, {reinterpret_cast<const char*>(v.data.data()), v.data.size() * 4});
  const MatrixFile vectors = MatrixFile::open_vectors(file, RawNumbers{DType::f32, v.width});
  build_index(path, vectors, 0, 1);
  const std::string first(MappedFile::open(path).text());
  build_index(path, vectors, 0, 1);
  CHECK(MappedFile::open(path).text() == first);
}

TEST_CASE("copies and near copies share a bundle") {
  const Vectors v = with_copies(1000, 600, 16);
  const VectorBundles found = bundle_copies(source_of(v.matrix()));
  // Of the copies two values and the near copies are distinct; a few near copies may be apart.
  CHECK(found.vector_count() == 1000 + 2 + 150);
  CHECK(found.size() >= 1001);
  CHECK(found.size() < 1020);
  CHECK(found.rows_of(found.bundles[500]).size() == 300);
  CHECK(found.rows_of(found.bundles[500])[1] == 503);
}
