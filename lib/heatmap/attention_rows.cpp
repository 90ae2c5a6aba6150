#include "heatmap/attention_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"

namespace bert {
namespace {

constexpr const char* kNames[] = {"record", "layer",  "head",       "from",
                                  "to",     "weight", "from_token", "to_token"};
constexpr size_t kNone = SIZE_MAX;

uint64_t number(const Record& line, std::string_view field, const char* name) {
  if (const auto found = to_number<uint64_t>(field)) return *found;
  line.fail(Error::Kind::data,
            fmt::format("{}: found '{}', wants a whole number", name, printable(field)));
}

float weight(const Record& line, std::string_view field) {
  const auto found = to_number<double>(field);  // also what is nearly 0 and no float
  const auto value = static_cast<float>(found.value_or(-1));
  if (std::isfinite(value) && value >= 0) return value;
  line.fail(Error::Kind::data,
            fmt::format("weight: found '{}', wants a number from 0 up", printable(field)));
}

/// Minus a logarithm, or what is no logarithm as it is; nothing for NaN.
std::optional<float> surprisal(const Record& line, std::string_view field) {
  const auto value = static_cast<float>(to_number<double>(field).value_or(HUGE_VAL));
  if (std::isnan(value)) return std::nullopt;
  if (std::isfinite(value)) return std::abs(value);
  line.fail(Error::Kind::data, fmt::format("found '{}', wants a logarithm", printable(field)));
}

std::vector<HeatToken> sorted(std::unordered_map<uint64_t, std::string>& tokens) {
  std::vector<HeatToken> list;
  list.reserve(tokens.size());
  for (auto& [index, text] : tokens) list.push_back({index, std::move(text)});
  std::sort(list.begin(), list.end(),
            [](const HeatToken& a, const HeatToken& b) { return a.index < b.index; });
  tokens.clear();
  return list;
}

uint32_t place(const std::vector<HeatToken>& tokens, uint64_t index) {
  const auto found =
      std::lower_bound(tokens.begin(), tokens.end(), index,
                       [](const HeatToken& token, uint64_t i) { return token.index < i; });
  return static_cast<uint32_t>(found - tokens.begin());
}

}  // namespace

void AttentionRows::read_header(const Record& line) {
  fields_ = split(line.body(), '\t');
  least_fields_ = 0;
  for (size_t c = 0; c < kColumns; ++c) {
    const auto found = std::find(fields_.begin(), fields_.end(), kNames[c]);
    places_[c] = found == fields_.end() ? kNone : static_cast<size_t>(found - fields_.begin());
    if (places_[c] != kNone) least_fields_ = std::max(least_fields_, places_[c] + 1);
  }
  find_weights();
  if (are_queries()) return;
  for (const Column wanted : {kFrom, kTo, kWeight}) {
    if (places_[wanted] == kNone) {
      line.fail(Error::Kind::data, fmt::format("found no column '{}'", kNames[wanted]));
    }
  }
}

/// The columns w1, w2, ..., of the header in fields_.
void AttentionRows::find_weights() {
  const auto first = std::find(fields_.begin(), fields_.end(), "w1");
  places_[kFirstWeight] = kNone;
  if (places_[kWeight] != kNone || first == fields_.end()) return;
  places_[kFirstWeight] = static_cast<size_t>(first - fields_.begin());
  weights_ = 1;
  for (auto next = first + 1; next != fields_.end(); ++next) {
    if (*next != fmt::format("w{}", weights_ + 1)) break;
    ++weights_;
  }
  least_fields_ = std::max(least_fields_, places_[kFirstWeight] + weights_);
}

/// Without a header the number of fields says what they are.
void AttentionRows::place_columns(const Record& line, size_t fields) {
  std::fill(std::begin(places_), std::end(places_), kNone);
  if (rows_ == HeatRows::words) return place_words(line, fields);
  if (rows_ != HeatRows::pairs) {
    const size_t before = rows_ == HeatRows::heads ? 2 : 0;
    if (fields <= before) {
      line.fail(Error::Kind::data,
                fmt::format("found {} field{}, wants a query, a head and weights", fields,
                            fields == 1 ? "" : "s"));
    }
    if (before > 0) places_[kRecord] = 0, places_[kHead] = 1;
    places_[kFirstWeight] = before;
    weights_ = fields - before;
    least_fields_ = fields;
    return;
  }
  if (fields < kColumns - 1) {
    line.fail(Error::Kind::data,
              fmt::format("found {} field{}, wants 8: record, layer, head, from, to, weight, "
                          "from_token, to_token (as of attend), or 7, without the record",
                          fields, fields == 1 ? "" : "s"));
  }
  const bool numbered = fields >= kColumns;
  for (size_t c = 0; c < kColumns; ++c) places_[c] = numbered ? c : c - 1;
  if (!numbered) places_[kRecord] = kNone;
  least_fields_ = numbered ? kColumns : kColumns - 1;
}

void AttentionRows::place_words(const Record& line, size_t fields) {
  if (fields < 4) {
    line.fail(Error::Kind::data,
              fmt::format("found {} field{}, wants record, index, word and, last, its logarithm",
                          fields, fields == 1 ? "" : "s"));
  }
  places_[kRecord] = 0, places_[kTo] = 1, places_[kToToken] = 2;
  places_[kWeight] = fields - 1;
  least_fields_ = fields;
}

std::optional<HeatRecord> AttentionRows::add(const Record& line) {
  std::optional<HeatRecord> complete;
  if (line.number_in_file <= 1) {
    complete = finish();
    least_fields_ = 0;
    queries_ = 0;
  }
  if (least_fields_ == 0) {
    if (line.number_in_file <= 1 && line.line.starts_with("# ")) return complete;
    if (header_) {
      if (rows_ == HeatRows::words) {
        place_columns(line, split(line.body(), '\t').size());
      } else {
        read_header(line);
      }
      return complete;
    }
  }
  fields_ = split(line.body(), '\t');
  if (least_fields_ == 0) place_columns(line, fields_.size());
  if (fields_.size() < least_fields_) {
    line.fail(Error::Kind::data, fmt::format("found {} field{}, wants {}", fields_.size(),
                                             fields_.size() == 1 ? "" : "s", least_fields_));
  }
  if (are_queries()) {
    add_query(line);
    return complete;
  }
  std::optional<HeatRecord> before = add_pair(line);
  return complete ? std::move(complete) : std::move(before);
}

/// All weights of one query, which are numbered as they come if no column does.
void AttentionRows::add_query(const Record& line) {
  if (fields_.size() > least_fields_ && !header_) {
    line.fail(Error::Kind::data,
              fmt::format("found {} fields, wants {}", fields_.size(), least_fields_));
  }
  ++queries_;
  const auto read = [&](Column c, uint64_t otherwise) {
    return places_[c] == kNone ? otherwise : number(line, fields_[places_[c]], kNames[c]);
  };
  const uint64_t query = read(kRecord, queries_), head = read(kHead, 1);
  number_ = 1;
  file_ = line.file;
  std::vector<Pair>& pairs = heads_[{1, head}];
  add_token(line, from_, query, std::to_string(query));
  for (size_t i = 0; i < weights_; ++i) {
    add_token(line, to_, i + 1, std::to_string(i + 1));
    const float w = weight(line, fields_[places_[kFirstWeight] + i]);
    pairs.push_back({query, i + 1, w, line.number_in_file});
  }
}

std::optional<HeatRecord> AttentionRows::add_pair(const Record& line) {
  std::optional<HeatRecord> complete;
  const auto read = [&](Column c) {
    return places_[c] == kNone ? 1 : number(line, fields_[places_[c]], kNames[c]);
  };
  const uint64_t record = read(kRecord), layer = read(kLayer), head = read(kHead);
  const uint64_t from = read(kFrom), to = read(kTo);
  const std::string_view field = fields_[places_[kWeight]];
  const std::optional<float> value =
      rows_ == HeatRows::words ? surprisal(line, field) : weight(line, field);
  if (record != number_ && !heads_.empty()) complete = finish();
  number_ = record;
  file_ = line.file;
  const auto text = [&](Column c, uint64_t index) {
    return places_[c] == kNone ? std::to_string(index) : std::string(fields_[places_[c]]);
  };
  add_token(line, from_, from, text(kFromToken, from));
  add_token(line, to_, to, text(kToToken, to));
  std::vector<Pair>& pairs = heads_[{layer, head}];
  if (value) pairs.push_back({from, to, *value, line.number_in_file});
  return complete;
}

void AttentionRows::add_token(const Record& line, Tokens& tokens, uint64_t index,
                              std::string_view text) const {
  const auto [found, is_new] = tokens.try_emplace(index, text);
  if (is_new || found->second == text) return;
  line.fail(Error::Kind::data, fmt::format("token {} of record {} is '{}', and was '{}'", index,
                                           number_, printable(text), printable(found->second)));
}

std::optional<HeatRecord> AttentionRows::finish() {
  if (heads_.empty()) return std::nullopt;
  HeatRecord record{number_, sorted(from_), sorted(to_), {}, rows_ == HeatRows::words};
  for (auto& [place, pairs] : heads_) {
    record.heads.push_back(head_of(place.first, place.second, pairs, record.from, record.to));
  }
  heads_.clear();
  return record;
}

HeatHead AttentionRows::head_of(uint64_t layer, uint64_t head, std::vector<Pair>& pairs,
                                const std::vector<HeatToken>& from,
                                const std::vector<HeatToken>& to) const {
  const auto key = [](const Pair& p) { return std::pair(p.from, p.to); };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [key](const Pair& a, const Pair& b) { return key(a) < key(b); });
  HeatHead out{layer, head, {}, 0};
  out.cells.reserve(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Pair& p = pairs[i];
    if (i > 0 && key(pairs[i - 1]) == key(p)) {
      Record line;
      line.file = file_;
      line.number_in_file = p.line;
      line.fail(Error::Kind::data,
                fmt::format("token {} looks at token {} in layer {}, head {} for the second time",
                            p.from, p.to, layer, head));
    }
    out.cells.push_back({place(from, p.from), place(to, p.to), p.weight});
    out.largest = std::max(out.largest, p.weight);
  }
  pairs = {};
  return out;
}

}  // namespace bert
