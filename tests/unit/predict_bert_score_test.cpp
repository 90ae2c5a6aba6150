#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "predict/bert_score.h"

namespace bert {
namespace {

/// A text of one token whose vector has `bytes` bytes, with the weight's.
SharedText text_of(size_t bytes) {
  auto text = std::make_shared<ScoredText>();
  text->vectors.assign((bytes - sizeof(double)) / sizeof(float), 1.0F);
  text->weights = {1};
  return text;
}

}  // namespace

TEST_CASE("the cache of scored texts keeps those that were used last, within its bytes") {
  ScoredTextCache cache(300);
  const std::vector<int32_t> first = {1, 2}, second = {1, 2, 3}, third = {2, 1}, large = {9};
  CHECK(cache.find(first) == nullptr);
  const SharedText text = text_of(100);
  cache.keep(first, text);
  cache.keep(second, text_of(100));
  cache.keep(first, text_of(100));  // which is there
  CHECK(cache.find(first) == text);
  cache.keep(third, text_of(104));  // second was used the longest ago
  CHECK(cache.find(first) == text);
  CHECK(cache.find(second) == nullptr);
  CHECK(cache.find(third) != nullptr);
  cache.keep(large, text_of(400));  // more than all of it
  CHECK(cache.find(large) == nullptr);
  CHECK(cache.find(first) == nullptr);
  cache.keep(second, text);
  CHECK(cache.find(second) == text);
}

}  // namespace bert
