#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bert {

/// Sequences end to end, without padding: the joint between the text arm and the number arm.
///
///   input_ids, token_type_ids, position_ids   [T]
///   cu_seq_lens                               [S + 1]: sequence s is tokens [cu_seq_lens[s],
///   cu_seq_lens[s + 1])
struct PackedBatch {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> token_type_ids;
  std::vector<int32_t> position_ids;
  std::vector<size_t> cu_seq_lens{0};
  /// [S] How many tokens of each sequence, its first, all of its tokens attend to; empty: all.
  std::vector<size_t> attended;

  size_t tokens() const { return input_ids.size(); }           ///< T
  size_t sequences() const { return cu_seq_lens.size() - 1; }  ///< S
  size_t begin(size_t s) const { return cu_seq_lens[s]; }
  size_t length(size_t s) const { return cu_seq_lens[s + 1] - cu_seq_lens[s]; }
  bool empty() const { return sequences() == 0; }

  void clear() {
    input_ids.clear();
    token_type_ids.clear();
    position_ids.clear();
    cu_seq_lens.assign(1, 0);
    attended.clear();
  }

  /// Positions count from 0 in each sequence.
  void append(std::span<const int32_t> ids, std::span<const int32_t> types) {
    for (size_t i = 0; i < ids.size(); ++i) position_ids.push_back(static_cast<int32_t>(i));
    input_ids.insert(input_ids.end(), ids.begin(), ids.end());
    token_type_ids.insert(token_type_ids.end(), types.begin(), types.end());
    cu_seq_lens.push_back(input_ids.size());
  }
};

}  // namespace bert
