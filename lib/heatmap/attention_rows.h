#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/record.h"

namespace bert {

/// What one head of one record pays attention to.
struct HeatHead {
  struct Cell {
    uint32_t from, to;  ///< places in HeatRecord::from and ::to
    float weight;       ///< 0 up
  };
  uint64_t layer = 0, head = 0;
  std::vector<Cell> cells;  ///< by from, then to; a pair without a row has no cell
  float largest = 0;        ///< the largest weight
};

/// A token that attends, or is attended to.
struct HeatToken {
  uint64_t index;
  std::string text;
  bool operator==(const HeatToken&) const = default;
};

/// The rows of one record.
struct HeatRecord {
  uint64_t number = 0;
  std::vector<HeatToken> from, to;  ///< by index
  std::vector<HeatHead> heads;      ///< by layer, then head

  bool words = false;  ///< HeatRows::words: one head, one token it is from

  /// Whether the tokens look at each other, so that there is one text and not two.
  bool is_self_attention() const { return from == to; }
};

/// What a row holds, where no header says it.
///   pairs    one weight: record layer head from to weight from_token to_token ..., as attend(1)
///            writes, or the same without record
///   queries  all weights of a query, w1 .. wm, as attention-pool(1) writes
///   heads    the same of one head: query, head, w1 .. wm
///   words    a word and its logarithm: record, index, word, .., logarithm, as mlm-score(1) writes;
///            its weight is the surprisal, minus that. A table that has minus already is taken too.
enum class HeatRows { pairs, queries, heads, words };

/// Puts rows of attention weights together. Where a header names the columns, they may stand in any
/// order; of pairs only from, to and weight are wanted then, of queries those from w1 on. Rows of
/// queries are one record for each file. Memory: that of one record.
class AttentionRows {
 public:
  AttentionRows(HeatRows rows, bool header) : rows_(rows), header_(header) {}

  /// Takes the next line; returns the record before it once that is complete. A line of --meta at
  /// the start of a file is left out. Throws Error(data) naming the line.
  std::optional<HeatRecord> add(const Record& line);
  /// The last record, at the end.
  std::optional<HeatRecord> finish();

 private:
  enum Column {
    kRecord,
    kLayer,
    kHead,
    kFrom,
    kTo,
    kWeight,
    kFromToken,
    kToToken,
    kColumns,
    kFirstWeight = kColumns,  ///< the first of a query's weights
  };
  struct Pair {
    uint64_t from, to;
    float weight;
    uint64_t line;
  };
  using Tokens = std::unordered_map<uint64_t, std::string>;

  void read_header(const Record& line);
  void find_weights();
  void place_columns(const Record& line, size_t fields);
  void place_words(const Record& line, size_t fields);
  bool are_queries() const { return places_[kFirstWeight] != SIZE_MAX; }
  std::optional<HeatRecord> add_pair(const Record& line);
  void add_query(const Record& line);
  void add_token(const Record& line, Tokens& tokens, uint64_t index, std::string_view text) const;
  HeatHead head_of(uint64_t layer, uint64_t head, std::vector<Pair>& pairs,
                   const std::vector<HeatToken>& from, const std::vector<HeatToken>& to) const;

  const HeatRows rows_;
  const bool header_;
  size_t places_[kFirstWeight + 1] = {};  ///< places of the columns in a line; SIZE_MAX: none
  size_t weights_ = 0;                    ///< number of a query's weights
  size_t least_fields_ = 0;               ///< 0: no line was read yet
  std::vector<std::string_view> fields_;
  const std::string* file_ = nullptr;
  uint64_t queries_ = 0;  ///< queries read from this file
  uint64_t number_ = 0;
  Tokens from_, to_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Pair>> heads_;
};

}  // namespace bert
