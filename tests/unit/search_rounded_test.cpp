#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/mapped_file.h"
#include "io/matrix_file.h"
#include "io/output_file.h"
#include "search/rounded_vectors.h"
#include "search/vector_search.h"
#include "temporary.h"
#include "vectors.h"

using namespace bert;
using test::random_vectors;
using test::Vectors;

namespace {

/// Around few centres, near enough that rounding changes the order of many.
Vectors clustered(size_t rows, size_t width, float spread) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> centres(8 * width);
  for (float& x : centres) x = normal(random);
  Vectors v{rows, width, {}};
  for (size_t i = 0; i < rows; ++i) {
    const size_t centre = random() % 8 * width;
    for (size_t d = 0; d < width; ++d) {
      v.data.push_back(centres[centre + d] + spread * normal(random));
    }
  }
  return v;
}

/// One large component hides what the others say.
Vectors with_outliers(size_t rows, size_t width) {
  Vectors v = clustered(rows, width, 0.3f);
  for (size_t i = 0; i < rows; ++i) v.data[i * width + i % 3] += i % 2 == 0 ? 1e4f : -50.f;
  return v;
}

/// Vectors in a file, and rounded in another.
struct Files {
  explicit Files(const Vectors& v) : vectors(write(v)) {
    RoundedVectors::build(rounded_path(), vectors, 0, 1);
    rounded.emplace(RoundedVectors::open(rounded_path(), vectors, 0));
  }
  MatrixFile write(const Vectors& v) const {
    const std::string path = directory.path() + "/x.f32";
    write_whole_file(path, {reinterpret_cast<const char*>(v.data.data()), v.data.size() * 4});
    return MatrixFile::open_vectors(path, RawNumbers{DType::f32, v.width});
  }
  std::string rounded_path() const { return directory.path() + "/x.i8"; }

  test::TemporaryDirectory directory;
  MatrixFile vectors;
  std::optional<RoundedVectors> rounded;
};

void check_same(const Files& files, const Vectors& queries, const VectorSearch::Options& options) {
  VectorSearch plain(queries.matrix(), options), quick(queries.matrix(), options);
  plain.add(source_of(files.vectors), 9);
  quick.add(*files.rounded, source_of(files.vectors), 9);
  for (size_t q = 0; q < queries.rows; ++q) {
    const auto wanted = plain.nearest(q), found = quick.nearest(q);
    REQUIRE(found.size() == wanted.size());
    for (size_t n = 0; n < found.size(); ++n) {
      CHECK(found[n].index == wanted[n].index);
      CHECK(found[n].score == wanted[n].score);
    }
  }
}

}  // namespace

TEST_CASE("a search in rounded vectors finds what the plain search finds, to the bit") {
  for (const size_t width : {size_t{1}, size_t{5}, size_t{64}, size_t{65}, size_t{385}}) {
    for (const Vectors& v : {random_vectors(1000, width, 2), clustered(1500, width, 0.01f),
                             clustered(700, width, 1e-5f), with_outliers(600, width)}) {
      const Files files(v);
      const Vectors some{3, width, {v.data.begin(), v.data.begin() + static_cast<long>(3 * width)}};
      for (const Vectors& queries :
           {random_vectors(1, width, 3), random_vectors(21, width, 4), some}) {
        for (const Similarity kind : {Similarity::cosine, Similarity::dot}) {
          CAPTURE(width);
          check_same(files, queries, {.similarity = kind, .k = 1});
          check_same(files, queries, {.similarity = kind, .k = 10, .threads = 3});
          check_same(files, queries, {.similarity = kind, .k = 5000, .threshold = 0.7});
        }
      }
    }
  }
}

TEST_CASE("products of rounded vectors are off by no more than they say, and that is little") {
  for (const size_t width : {size_t{3}, size_t{64}, size_t{100}, size_t{384}}) {
    for (const Vectors& v : {random_vectors(333, width, 6), clustered(333, width, 0.1f)}) {
      const Files files(v);
      const Vectors queries = clustered(5, width, 0.5f);
      Vectors units = queries;
      for (size_t q = 0; q < units.rows; ++q) {
        const double length = std::sqrt(dot_in_doubles(queries.row(q), queries.row(q)));
        for (size_t d = 0; d < width; ++d) units.data[q * width + d] /= static_cast<float>(length);
      }
      const Int8Rows rows(units.matrix());
      Buffer scratch;
      RoundedVectors::Facts facts;
      const ConstMatrix products = files.rounded->products(rows, 16, v.rows - 16, scratch, facts);
      for (size_t t = 0; t < products.rows; ++t) {
        const auto exact = v.row(16 + t);
        const double length = std::sqrt(dot_in_doubles(exact, exact));
        if (!(length > 1e-12 && length < 1e12)) {
          CHECK(std::isnan(facts.errors[t]));
          continue;
        }
        CHECK(facts.lengths[t] == doctest::Approx(length));
        CHECK(facts.errors[t] < 0.03 * length);
        for (size_t q = 0; q < units.rows; ++q) {
          const double product = dot_in_doubles(units.row(q), exact);
          CHECK(std::abs(static_cast<double>(products.row(t)[q]) - product) <= facts.errors[t]);
        }
      }
    }
  }
}

TEST_CASE("a search in rounded vectors reads few others") {
  const Vectors v = clustered(20000, 96, 0.7f), query = random_vectors(1, 96, 1);
  const Files files(v);
  std::atomic<size_t> reads{0};
  const VectorSource counted{v.rows, v.width, [&](size_t first, size_t count, Buffer&) {
                               reads += count;
                               return v.matrix().slice(first, count);
                             }};
  VectorSearch search(query.matrix(), {.k = 10});
  search.add(*files.rounded, counted, 0);
  CHECK(search.nearest(0).size() == 10);
  CHECK(reads >= 10);
  CHECK(reads < 1000);
}

TEST_CASE(
    "a file of rounded vectors is the same bytes for any threads, and refused if it is damaged") {
  const Vectors v = random_vectors(3000, 70, 8);
  const Files files(v);
  const std::string good(MappedFile::open(files.rounded_path()).text());
  RoundedVectors::build(files.rounded_path(), files.vectors, 0, 3);
  CHECK(MappedFile::open(files.rounded_path()).text() == good);
  CHECK(RoundedVectors::begins_as_one(files.rounded_path()));
  const auto fails = [&](std::string bytes, const char* why) {
    write_whole_file(files.rounded_path(), bytes);
    CHECK_THROWS_WITH_AS(RoundedVectors::open(files.rounded_path(), files.vectors, 0),
                         doctest::Contains(why), Error);
  };
  const auto with = [&](size_t at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] + 1);
    return bytes;
  };
  fails(good.substr(0, 100), "is cut");
  fails(good.substr(0, good.size() - 9), "damaged");
  fails(good + "x", "damaged");
  fails(with(0), "another version");
  fails(with(8), "build it again");
  for (const size_t at : {size_t{128}, good.size() / 2, good.size() - 9, good.size() - 1}) {
    fails(with(at), "damaged");
  }
}

TEST_CASE("vectors that are not finite are refused when they are rounded") {
  Vectors v = random_vectors(40, 8, 9);
  v.data[33 * 8 + 2] = NAN;
  CHECK_THROWS_WITH_AS(Files{v}, doctest::Contains("row 34"), Error);
}
