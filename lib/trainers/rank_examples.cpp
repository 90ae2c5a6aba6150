#include "trainers/rank_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "trainers/example_fields.h"
#include "trainers/example_records.h"
#include "trainers/held_out.h"

namespace bert {
namespace {

using Pair = RankExamples::Pair;

/// Reads pairs and keeps those of a query together, queries in the order of their first pair.
class Reader {
 public:
  Reader(const ExampleOptions& options, const Tokenizer& tokenizer, nn::RankLoss loss,
         bool keep_texts)
      : options_(options), tokenizer_(tokenizer), loss_(loss), keep_texts_(keep_texts) {}

  RankExamples read() {
    ExampleFields fields(options_);
    for_each_record(options_, nullptr, &fields, true, [&](const Record& record) { add(record); });
    if (lists_.empty()) {
      throw Error(Error::Kind::data, options_.files.empty() ? "-" : options_.files.front(),
                  "has no examples to learn from");
    }
    set_.lists = nn::compares_texts(loss_);
    const bool leads = loss_ == nn::RankLoss::margin || loss_ == nn::RankLoss::ranking;
    for (auto& [text, pairs] : lists_) {
      const auto best =
          std::max_element(pairs.begin(), pairs.end(),
                           [](const Pair& a, const Pair& b) { return a.label < b.label; });
      if (leads) std::rotate(pairs.begin(), best, best + 1);
      const size_t first = set_.pairs.size();
      std::move(pairs.begin(), pairs.end(), std::back_inserter(set_.pairs));
      set_.queries.push_back({std::move(text), first, set_.pairs.size()});
    }
    return std::move(set_);
  }

 private:
  void add(const Record& record) {
    const std::string_view text = record.extra[0];
    const auto label = number_of(text);
    if (!label) {
      record.fail(Error::Kind::data,
                  fmt::format("has the label '{}', wants a number{}", printable(text),
                              header_hint(record, options_.has_names())));
    }
    if (loss_ == nn::RankLoss::binary && !(*label >= 0 && *label <= 1)) {
      record.fail(Error::Kind::data,
                  fmt::format("has the label {}, wants 0 to 1 for this `loss`", printable(text)));
    }
    encoding_.clear();
    tokenizer_.encode_pair(record.text, record.text_pair, options_.encode, encoding_, scratch_);
    set_.cut += encoding_.dropped > 0;
    set_.counts.add(encoding_, tokenizer_.unk_id());
    set_.counts.end_text();
    const auto [at, is_new] = numbers_.try_emplace(std::string(record.text), lists_.size());
    if (is_new) lists_.emplace_back(record.text, std::vector<Pair>());
    lists_[at->second].second.push_back(
        {encoding_.input_ids, encoding_.token_type_ids, static_cast<float>(*label), record.number,
         keep_texts_ ? std::string(record.text_pair) : std::string()});
  }

  const ExampleOptions& options_;
  const Tokenizer& tokenizer_;
  const nn::RankLoss loss_;
  const bool keep_texts_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
  std::map<std::string, size_t> numbers_;  // of the queries
  std::vector<std::pair<std::string, std::vector<Pair>>> lists_;
  RankExamples set_;
};

}  // namespace

std::pair<size_t, size_t> RankExamples::range(uint32_t example) const {
  if (!lists) return {example, example + 1};
  return {queries[example].first, queries[example].end};
}

uint64_t RankExamples::hash() const {
  uint64_t hash = mix(pairs.size(), queries.size());
  for (const Pair& pair : pairs) {
    const auto* ids = reinterpret_cast<const char*>(pair.input_ids.data());
    hash = mix(hash, xxh64({ids, pair.input_ids.size() * sizeof pair.input_ids[0]}));
    hash = mix(hash, xxh64({reinterpret_cast<const char*>(&pair.label), sizeof pair.label}));
  }
  for (const Query& query : queries) hash = mix(hash, query.end);
  return hash;
}

void RankExamples::fill(std::span<const uint32_t> examples, training::TrainingBatch& batch) const {
  batch.clear();
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto [first, end] = range(examples[i]);
    for (size_t p = first; p < end; ++p) {
      batch.batch.append(pairs[p].input_ids, pairs[p].token_type_ids);
      batch.values.push_back(pairs[p].label);
      batch.sequence_labels.push_back(lists ? static_cast<int32_t>(i) : 0);
    }
  }
}

RankExamples read_rank_examples(const ExampleOptions& options, const Tokenizer& tokenizer,
                                nn::RankLoss loss, bool keep_texts) {
  return Reader(options, tokenizer, loss, keep_texts).read();
}

bool DrawnTexts::has_text(const RankExamples::Query& query, const std::string& text) const {
  for (size_t p = query.first; p < query.end; ++p) {
    if (set_.pairs[p].text == text) return true;
  }
  return false;
}

void DrawnTexts::fill(std::span<const uint32_t> examples, training::TrainingBatch& batch) {
  batch.clear();
  uint64_t key = seed_;
  for (const uint32_t example : examples) key = mix(key, example);
  std::vector<size_t> others;
  const auto add = [&](std::span<const int32_t> ids, std::span<const int32_t> types, float label,
                       size_t query) {
    batch.batch.append(ids, types);
    batch.values.push_back(label);
    batch.sequence_labels.push_back(static_cast<int32_t>(query));
  };
  for (size_t i = 0; i < examples.size(); ++i) {
    const RankExamples::Query& query = set_.queries[examples[i]];
    for (size_t p = query.first; p < query.end; ++p) {
      add(set_.pairs[p].input_ids, set_.pairs[p].token_type_ids, set_.pairs[p].label, i);
    }
    others.clear();
    for (const uint32_t other : examples) {
      const RankExamples::Query& from = set_.queries[other];
      for (size_t p = from.first; other != examples[i] && p < from.end; ++p) {
        if (!has_text(query, set_.pairs[p].text)) others.push_back(p);
      }
    }
    for (size_t n = 0; n < std::min(count_, others.size()); ++n) {
      std::swap(others[n], others[n + mix(mix(key, i), n) % (others.size() - n)]);
      encoding_.clear();
      tokenizer_.encode_pair(query.text, set_.pairs[others[n]].text, encode_, encoding_, scratch_);
      add(encoding_.input_ids, encoding_.token_type_ids, set_.pairs[query.first].label - 1, i);
    }
  }
}

RankExamples hold_out(RankExamples& train, double share, uint64_t seed) {
  std::vector<uint64_t> keys;
  for (const auto& query : train.queries) keys.push_back(xxh64(query.text));
  const std::vector<bool> out = held_out(keys, std::vector<int32_t>(keys.size(), 0), share, seed);
  RankExamples parts[2];
  for (size_t q = 0; q < out.size(); ++q) {
    RankExamples& part = parts[out[q]];
    RankExamples::Query& query = train.queries[q];
    const size_t first = part.pairs.size();
    for (size_t p = query.first; p < query.end; ++p) {
      part.pairs.push_back(std::move(train.pairs[p]));
    }
    part.queries.push_back({std::move(query.text), first, part.pairs.size()});
  }
  if (parts[0].pairs.empty() || parts[1].pairs.empty()) {
    throw Error::of_field("dev", fmt::format("found {:.6g}%, of {} queries: nothing is held out",
                                             100 * share, out.size()));
  }
  for (RankExamples& part : parts) part.lists = train.lists;
  parts[0].cut = train.cut, parts[0].counts = train.counts;
  train = std::move(parts[0]);
  return std::move(parts[1]);
}

int64_t relevance_of(const RankExamples& set, const RankExamples::Query& query, size_t pair,
                     nn::RankLoss loss) {
  if (loss == nn::RankLoss::margin) return pair == query.first;
  return static_cast<int64_t>(std::floor(set.pairs[pair].label));
}

}  // namespace bert
