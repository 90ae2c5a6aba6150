#include "predict/bert_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "heads/pooling.h"
#include "io/mapped_file.h"
#include "ops/kernels.h"

namespace bert {
namespace {

double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

/// The mean of the values with these weights; NaN if the weights are 0.
double weighted_mean(std::span<const float> values, std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double mean = 0;
  for (size_t i = 0; i < values.size(); ++i)
    mean += static_cast<double>(values[i]) * weights[i] / sum;
  return mean;
}

/// The three numbers behind the layer in a line; nothing if it is not that layer's.
std::optional<BertScore> baseline_in(std::string_view line, size_t layer) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::vector<std::string_view> cells = split(line, ',');
  if (cells.size() != 4 || to_number<size_t>(cells[0]) != layer) return {};
  const auto p = to_number<double>(cells[1]), r = to_number<double>(cells[2]),
             f = to_number<double>(cells[3]);
  if (!p || !r || !f) return {};
  return BertScore{*p, *r, *f};
}

}  // namespace

BertScore BertScore::best(const BertScore& a, const BertScore& b) {
  return {larger(a.precision, b.precision), larger(a.recall, b.recall), larger(a.f1, b.f1)};
}

BertScore BertScore::rescaled(const BertScore& baseline) const {
  return {(precision - baseline.precision) / (1 - baseline.precision),
          (recall - baseline.recall) / (1 - baseline.recall),
          (f1 - baseline.f1) / (1 - baseline.f1)};
}

BertScore read_baseline(const std::string& path, size_t layer) {
  const MappedFile file = MappedFile::open(path);
  for (const std::string_view line : split(file.text(), '\n')) {
    if (const auto found = baseline_in(line, layer)) return *found;
  }
  throw Error(Error::Kind::data, path,
              fmt::format("has no line '{},P,R,F' with the baseline of layer {}", layer, layer));
}

void TokenIdf::add(std::span<const int32_t> ids) {
  std::vector<int32_t> different(ids.begin(), ids.end());
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  const std::lock_guard lock(mutex_);
  ++texts_;
  for (const int32_t id : different) ++texts_with_[id];
}

double TokenIdf::weight(int32_t id) const {
  const auto found = texts_with_.find(id);
  const uint64_t with = found == texts_with_.end() ? 0 : found->second;
  return std::log(static_cast<double>(texts_ + 1) / static_cast<double>(with + 1));
}

BertScore bert_score(const ScoredText& candidate, const ScoredText& reference) {
  if (candidate.empty || reference.empty) return {};
  const size_t width = candidate.vectors.size() / candidate.tokens();
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  std::vector<float> of_candidate(candidate.tokens(), kNone);
  std::vector<float> of_reference(reference.tokens(), kNone);
  for (size_t i = 0; i < candidate.tokens(); ++i) {
    for (size_t j = 0; j < reference.tokens(); ++j) {
      const float cosine = dot(&candidate.vectors[i * width], &reference.vectors[j * width], width);
      if (!(cosine <= of_candidate[i])) of_candidate[i] = cosine;  // NaN too
      if (!(cosine <= of_reference[j])) of_reference[j] = cosine;
    }
  }
  BertScore score{weighted_mean(of_candidate, candidate.weights),
                  weighted_mean(of_reference, reference.weights), 0};
  score.f1 = 2 * score.precision * score.recall / (score.precision + score.recall);
  if (std::isnan(score.f1)) score.f1 = 0;
  return score;
}

namespace {

std::string_view key_of(std::span<const int32_t> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

size_t bytes_of(const ScoredText& text) {
  return text.vectors.size() * sizeof(float) + text.weights.size() * sizeof(double);
}

}  // namespace

SharedText ScoredTextCache::find(std::span<const int32_t> ids) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key_of(ids));
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->text;
}

void ScoredTextCache::keep(std::span<const int32_t> ids, SharedText text) {
  const std::lock_guard lock(mutex_);
  if (places_.contains(key_of(ids))) return;
  bytes_ += bytes_of(*text);
  entries_.push_front({std::string(key_of(ids)), std::move(text)});
  places_.emplace(entries_.front().key, entries_.begin());
  while (bytes_ > most_) {
    bytes_ -= bytes_of(*entries_.back().text);
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

double ScoredTexts::weight(int32_t id) const {
  if (idf_) return idf_->weight(id);
  const Frame& frame = predictor_.tokenizer().frame();
  const auto has = [id](const std::vector<FrameToken>& tokens) {
    return std::any_of(tokens.begin(), tokens.end(),
                       [id](const FrameToken& token) { return token.id == id; });
  };
  return has(frame.before) || has(frame.after) ? 0 : 1;
}

SharedText ScoredTexts::text_of(const Encoding& encoding, ConstMatrix states) const {
  auto text = std::make_shared<ScoredText>();
  text->empty = encoding.range(0).size() == 0;
  text->vectors.assign(states.data, states.data + states.rows * states.cols);
  for (size_t t = 0; t < encoding.size(); ++t) {
    normalize_l2({&text->vectors[t * states.cols], states.cols});
    text->weights.push_back(weight(encoding.input_ids[t]));
  }
  return text;
}

void ScoredTexts::read_new() {
  new_texts_.assign(new_.size(), nullptr);
  predictor_.for_each_batch(
      new_, scratch_, [&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
        for (size_t s = 0; s < batch.sequences(); ++s) {
          const Encoding& encoding = new_[first + s];
          SharedText text = text_of(encoding, states.slice(batch.begin(s), batch.length(s)));
          cache_.keep(encoding.input_ids, text);
          new_texts_[first + s] = std::move(text);
        }
      });
}

std::span<const SharedText> ScoredTexts::make(const Sequences& sequences, size_t count) {
  static const SharedText none = std::make_shared<ScoredText>();
  texts_.assign(count, none);
  wait_.assign(count, SIZE_MAX);
  new_.clear();
  for (size_t s = 0; s < sequences.size(); ++s) {
    const size_t text = sequences.texts()[s];
    if (SharedText known = cache_.find(sequences[s].input_ids)) {
      texts_[text] = std::move(known);
      continue;
    }
    size_t same = 0;
    while (same < new_.size() && new_[same].input_ids != sequences[s].input_ids) ++same;
    if (same == new_.size()) new_.add(same) = sequences[s];
    wait_[text] = same;
  }
  read_new();
  for (size_t t = 0; t < count; ++t) {
    if (wait_[t] != SIZE_MAX) texts_[t] = new_texts_[wait_[t]];
  }
  return texts_;
}

}  // namespace bert
