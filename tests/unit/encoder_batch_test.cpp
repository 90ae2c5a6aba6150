#include <doctest/doctest.h>

#include "encoder/alike.h"
#include "encoder/packed_batch.h"

namespace bert {

TEST_CASE("a packed batch holds sequences end to end, positions from 0 in each") {
  PackedBatch batch;
  CHECK(batch.empty());
  CHECK(batch.tokens() == 0);
  const std::vector<int32_t> ids{2, 7, 3}, types{0, 0, 1}, other_ids{2, 3}, other_types{0, 0};
  batch.append(ids, types);
  batch.append(other_ids, other_types);
  CHECK(batch.tokens() == 5);
  CHECK(batch.sequences() == 2);
  CHECK(batch.input_ids == std::vector<int32_t>{2, 7, 3, 2, 3});
  CHECK(batch.token_type_ids == std::vector<int32_t>{0, 0, 1, 0, 0});
  CHECK(batch.position_ids == std::vector<int32_t>{0, 1, 2, 0, 1});
  CHECK(batch.cu_seq_lens == std::vector<size_t>{0, 3, 5});
  CHECK(batch.begin(1) == 3);
  CHECK(batch.length(0) == 3);
  CHECK(batch.length(1) == 2);
}

TEST_CASE("a cleared batch is as new") {
  PackedBatch batch;
  const std::vector<int32_t> ids{2, 3}, types{0, 0};
  batch.append(ids, types);
  batch.clear();
  CHECK(batch.empty());
  CHECK(batch.tokens() == 0);
  batch.append(ids, types);
  CHECK(batch.cu_seq_lens == std::vector<size_t>{0, 2});
  CHECK(batch.position_ids == std::vector<int32_t>{0, 1});
}

TEST_CASE("alike tokens: those of the sequence before with the same id, type and position") {
  PackedBatch batch;
  const std::vector<int32_t> a{2, 7, 8, 3}, b{2, 4, 8, 3}, c{2, 7, 4, 3, 3}, types{0, 0, 0, 0, 0},
      other_types{0, 0, 0, 0, 1};
  const auto append = [&](const std::vector<int32_t>& ids, const std::vector<int32_t>& t) {
    batch.append(ids, {t.data(), ids.size()});
  };
  append(a, types);
  append(b, types);
  append(c, types);
  append(c, other_types);
  AlikeTokens alike;
  alike.find(batch);
  CHECK(alike.kind == std::vector<size_t>{0, 1, 2, 3, 0, 4, 2, 3, 0, 5, 6, 3, 7, 0, 5, 6, 3, 8});
  CHECK(alike.first == std::vector<size_t>{0, 1, 2, 3, 5, 9, 10, 12, 17});
  CHECK(alike.many());
  batch.clear();
  append(a, types);
  alike.find(batch);
  CHECK_FALSE(alike.many());
}

}  // namespace bert
