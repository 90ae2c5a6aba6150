#include "metrics/entities.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace bert {
namespace {

constexpr std::string_view kPrefixes = "BIESLUM";
constexpr std::string_view kNoType = "_";  // as seqeval and CoNLL's own columns write it

bool is_prefix(char c) { return kPrefixes.find(c) != kPrefixes.npos; }
bool begins(char prefix) { return prefix == 'B' || prefix == 'S' || prefix == 'U'; }
bool ends(char prefix) {
  return prefix == 'E' || prefix == 'S' || prefix == 'L' || prefix == 'U' || prefix == 'O';
}

}  // namespace

TagScheme::TagScheme(std::span<const std::string> labels) {
  bool inside = false;  // a label begins with B or I
  for (const std::string& label : labels) {
    const bool in_brackets = label.starts_with('[') && label.ends_with(']');
    if (label.empty() || label == "O" || label == "X" || in_brackets) continue;
    if (!is_prefix(label[0]) || (label.size() > 1 && label[1] != '-')) return;
    inside |= label[0] == 'B' || label[0] == 'I';
  }
  bare_ = inside;
}

TagScheme::Tag TagScheme::parse(std::string_view tag) const {
  if (tag.empty() || tag == "O") return {};
  if (!is_prefix(tag[0])) return {'I', tag};
  if (tag.size() > 2 && tag[1] == '-') return {tag[0], tag.substr(2)};
  return bare_ && tag.size() == 1 ? Tag{tag[0], kNoType} : Tag{'I', tag};
}

std::vector<EntitySpan> TagScheme::entities(std::span<const std::string_view> tags) const {
  std::vector<EntitySpan> found;
  Tag previous;
  for (size_t i = 0; i < tags.size(); ++i) {
    const Tag tag = parse(tags[i]);
    if (tag.prefix != 'O') {
      const bool goes_on =
          !begins(tag.prefix) && !ends(previous.prefix) && tag.type == previous.type;
      if (!goes_on) found.push_back({i, i, tag.type});
      found.back().end = i + 1;
    }
    previous = tag;
  }
  return found;
}

void EntityMetrics::add(std::span<const std::string_view> gold,
                        std::span<const std::string_view> predicted) {
  const std::vector<EntitySpan> truth = scheme_.entities(gold), guess = scheme_.entities(predicted);
  const std::lock_guard lock(mutex_);
  Sentence sentence{gold.size()};
  const auto counts = [&](std::string_view type) -> std::array<uint64_t, 3>& {
    const auto found = sentence.types.find(type);
    return found != sentence.types.end() ? found->second : sentence.types[std::string(type)];
  };
  for (const EntitySpan& e : truth) ++counts(e.type)[2];
  for (const EntitySpan& e : guess) {
    ++counts(e.type)[1];
    counts(e.type)[0] += std::binary_search(truth.begin(), truth.end(), e);
  }
  for (const auto& [type, found] : sentence.types)
    types_[type] += LabelCounts{found[0], found[1], found[2]};
  ++sentences_;
  words_ += gold.size();
  for (size_t i = 0; i < gold.size(); ++i) {
    sentence.right += gold[i] == predicted[i];
    if (gold[i] == predicted[i] || labels_.empty() || gold[i] == "O") continue;
    if (std::find(labels_.begin(), labels_.end(), gold[i]) == labels_.end()) {
      ++unknown_[std::string(gold[i])];
    }
  }
  right_ += sentence.right;
  ++kinds_[std::move(sentence)];
}

std::string EntityMetrics::unknown() const {
  constexpr size_t kShown = 5;
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  std::string names;
  size_t shown = 0;
  for (const auto& [name, words] : unknown_) {
    count += words;
    if (++shown > kShown) continue;
    names += fmt::format("{}'{}' {}", names.empty() ? "" : ", ", printable(name), words);
  }
  if (count == 0) return {};
  if (shown > kShown) names += fmt::format(" and {} more", shown - kShown);
  return fmt::format("{} of {} true labels are none of the model's: {}", count, words_, names);
}

double EntityMetrics::f1() const {
  const std::lock_guard lock(mutex_);
  LabelCounts sum;
  for (const auto& [type, counts] : types_) sum += counts;
  return sum.f1();
}

/// The types and their counts, side by side.
EntityMetrics::Columns EntityMetrics::columns() const {
  Columns columns;
  for (const auto& [type, count] : types_) {
    columns.types.push_back(type);
    columns.counts.push_back(count);
  }
  return columns;
}

double EntityMetrics::accuracy() const {
  return words_ == 0 ? 0 : static_cast<double>(right_) / static_cast<double>(words_);
}

std::string EntityMetrics::report() const {
  const std::lock_guard lock(mutex_);
  const auto [types, counts] = columns();
  return fmt::format(
             "sentences\t{}\nwords\t{}\naccuracy\t{:.6g}\ntype\tprecision\trecall\tf1\tsupport\n",
             sentences_, words_, accuracy()) +
         label_table(types, counts);
}

std::string EntityMetrics::json(const Doubt& doubt) const {
  const std::lock_guard lock(mutex_);
  const auto [types, counts] = columns();
  std::string text;
  JsonRow json(text);
  json.object().count("sentences", sentences_).count("words", words_);
  json.number("accuracy", accuracy());
  add_label_table(json, "types", "type", types, counts);
  doubt.add_to(json);
  json.end_object();
  return text;
}

Doubt EntityMetrics::doubt(const Resampling& how) const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> types = columns().types;
  std::vector<uint64_t> records;
  std::vector<const Sentence*> kinds;
  std::vector<std::vector<std::pair<size_t, LabelCounts>>> counts_of;  // [kinds] by type
  for (const auto& [sentence, count] : kinds_) {
    records.push_back(count);
    kinds.push_back(&sentence);
    counts_of.emplace_back();
    for (const auto& [type, n] : sentence.types) {
      const auto at = std::lower_bound(types.begin(), types.end(), type) - types.begin();
      counts_of.back().push_back({static_cast<size_t>(at), {n[0], n[1], n[2]}});
    }
  }
  const auto measure = [&, sums = std::vector<LabelCounts>(types.size())](auto times,
                                                                          auto values) mutable {
    std::fill(sums.begin(), sums.end(), LabelCounts{});
    uint64_t right = 0, words = 0;
    for (size_t k = 0; k < kinds.size(); ++k) {
      right += times[k] * kinds[k]->right;
      words += times[k] * kinds[k]->words;
      for (const auto& [type, n] : counts_of[k])
        sums[type] += {times[k] * n.true_positives, times[k] * n.predicted, times[k] * n.gold};
    }
    const LabelMeans means = label_means(sums);
    values[0] = words == 0 ? 0 : static_cast<double>(right) / static_cast<double>(words);
    values[1] = means.macro_f1;
    values[2] = means.micro_f1;
  };
  const std::vector<Interval> found = bootstrap(records, 3, how, measure);
  return {{{"accuracy", found[0]}, {"macro_f1", found[1]}, {"micro_f1", found[2]}}};
}

}  // namespace bert
