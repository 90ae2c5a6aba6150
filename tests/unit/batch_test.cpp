#include <doctest/doctest.h>

#include "batch/packed_batch.h"

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

}  // namespace bert
