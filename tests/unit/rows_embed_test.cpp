#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "heads/pooling.h"
#include "io/npy.h"
#include "predict/head_list.h"

using bert::Error;
using bert::LayerExpression;

TEST_CASE("a layer expression names layers from either end") {
  CHECK(LayerExpression::parse("0", 12).layers == std::vector<size_t>{0});
  CHECK(LayerExpression::parse("-1", 12).layers == std::vector<size_t>{12});
  CHECK(LayerExpression::parse("-13", 12).layers == std::vector<size_t>{0});
  CHECK(LayerExpression::parse("sum:9-12", 12).layers == std::vector<size_t>{9, 10, 11, 12});
  CHECK(LayerExpression::parse("concat:-4--1", 12).layers == std::vector<size_t>{9, 10, 11, 12});
  CHECK(LayerExpression::parse("mean:2,7,-1", 12).layers == std::vector<size_t>{2, 7, 12});
  CHECK(LayerExpression::parse("word", 12).is_static());
  CHECK(LayerExpression::parse("word", 12).last_layer() == 0);
  CHECK(LayerExpression::parse("concat:7,2", 12).last_layer() == 7);
}

TEST_CASE("a layer expression that makes no sense is refused") {
  for (const char* text : {"", "13", "-14", "1-3", "max:1", "sum:", "sum:3-1", "sum:1;2", "1x"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(LayerExpression::parse(text, 12), Error);
  }
}

TEST_CASE("pooling equals its definition") {
  // tokens [3, 2]
  const float tokens[] = {1, -1, 2, 0, 6, 4};
  const bert::ConstMatrix m(tokens, 3, 2);
  const auto pooled = [&](const char* name, size_t skip = 0) {
    std::vector<float> out(2);
    bert::pool(bert::pooling_from_name(name), m, out, skip);
    return out;
  };
  CHECK(pooled("cls") == std::vector<float>{1, -1});
  CHECK(pooled("lasttoken") == std::vector<float>{6, 4});
  CHECK(pooled("mean") == std::vector<float>{3, 1});
  CHECK(pooled("sum") == std::vector<float>{9, 3});
  CHECK(pooled("max") == std::vector<float>{6, 4});
  CHECK(pooled("mean", 1) == std::vector<float>{4, 2});
  CHECK(pooled("weightedmean")[0] == doctest::Approx((1 + 4 + 18) / 6.0));
  CHECK(pooled("mean_sqrt_len_tokens")[0] == doctest::Approx(9 / std::sqrt(3.0)));
  CHECK_THROWS_AS(bert::pooling_from_name("avg"), Error);
}

TEST_CASE("a zero vector has no length to divide by") {
  std::vector<float> zero(4, 0.0f);
  bert::normalize_l2(zero);
  CHECK(zero == std::vector<float>(4, 0.0f));
  CHECK(bert::cosine(zero, zero) == 0.0);
}

TEST_CASE("an npy header has 128 bytes whatever the shape") {
  for (const size_t rows : {size_t{0}, size_t{7}, size_t{123456789012}}) {
    const std::string header = bert::npy_header(rows, 384);
    CHECK(header.size() == 128);
    CHECK(header.back() == '\n');
    CHECK(header.find("(" + std::to_string(rows) + ", 384)") != std::string::npos);
  }
}
