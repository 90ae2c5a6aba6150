#include "trainers/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"

namespace bert {
namespace {

constexpr const char* kField = "dev";

[[noreturn]] void none(double share, size_t items) {
  throw Error::of_field(kField,
                        fmt::format("found {:g}%, which holds out none of {} examples that differ",
                                    100 * share, items));
}

/// By origin: a hash of its context, else of its tokens.
std::vector<uint64_t> keys_of(const ExampleSet& set) {
  std::vector<uint64_t> keys(set.origins, 0);
  for (const Example& e : set.examples) {
    if (!set.questions.empty()) {
      keys[e.origin] = xxh64(set.questions[e.origin].context);
      continue;
    }
    const auto* bytes = reinterpret_cast<const char*>(e.input_ids.data());
    keys[e.origin] = mix(keys[e.origin], xxh64({bytes, e.input_ids.size() * sizeof(int32_t)}));
  }
  return keys;
}

/// By origin: its label, if it has one.
std::vector<int32_t> strata_of(const ExampleSet& set, LabelKind kind) {
  std::vector<int32_t> strata(set.origins, 0);
  for (const Example& e : set.examples) {
    if (kind == LabelKind::one && e.token_labels.empty()) strata[e.origin] = e.label;
  }
  return strata;
}

/// The items `origins` of a list with an item for each origin, which may be empty.
template <typename T>
std::vector<T> chosen(std::vector<T>& all, const std::vector<bool>& origins) {
  std::vector<T> some;
  for (size_t i = 0; i < all.size(); ++i) {
    if (origins[i]) some.push_back(std::move(all[i]));
  }
  return some;
}

/// Counts the origins anew, and what is wrong with them.
void number(ExampleSet& set) {
  set.origins = set.cut = set.empty = 0;
  size_t last = static_cast<size_t>(-1), windows = 0;
  for (Example& e : set.examples) {
    windows = e.origin == last ? windows + 1 : 1;
    if (windows == 1) ++set.origins;
    set.cut += e.cut || windows == 2;
    set.empty += e.empty;
    last = std::exchange(e.origin, set.origins - 1);
  }
}

}  // namespace

std::optional<double> held_out_share(const std::vector<std::string>& files) {
  if (files.size() != 1 || !files[0].ends_with('%')) return {};
  const auto percent = to_number<double>(std::string_view(files[0]).substr(0, files[0].size() - 1));
  if (!percent) return {};
  if (*percent > 0 && *percent < 100) return *percent / 100;
  throw Error::of_field(kField,
                        fmt::format("found '{}', wants a share above 0% and below 100%", files[0]));
}

void refuse_share(const std::vector<std::string>& files) {
  if (!held_out_share(files)) return;
  throw Error::of_field(kField, fmt::format("found '{}', but plain text is read as a stream: wants "
                                            "files of held-out text",
                                            files[0]));
}

std::vector<bool> held_out(std::span<const uint64_t> keys, std::span<const int32_t> strata,
                           double share, uint64_t seed) {
  std::unordered_map<uint64_t, int32_t> stratum;  // of a key: that of its smallest
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [at, added] = stratum.emplace(keys[i], strata[i]);
    if (!added) at->second = std::min(at->second, strata[i]);
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&](size_t i) {
    return std::tuple(stratum.at(keys[i]), mix(mix(seed, 0xDE5), keys[i]), keys[i]);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  std::unordered_map<int32_t, size_t> groups;  // of a stratum
  for (const auto& [key, of] : stratum) ++groups[of];
  std::vector<bool> out(keys.size(), false);
  double due = 0;  // items that should have been held out by now, less those that were
  for (size_t first = 0, end; first < order.size(); first = end) {
    const uint64_t key = keys[order[first]];
    for (end = first + 1; end < order.size() && keys[order[end]] == key;) ++end;
    if (groups[stratum.at(key)] < 2) continue;
    const auto size = static_cast<double>(end - first);
    due += share * size;
    if (due < size / 2) continue;
    due -= size;
    for (size_t i = first; i < end; ++i) out[order[i]] = true;
  }
  return out;
}

ExampleSet hold_out(ExampleSet& train, LabelKind kind, double share, uint64_t seed) {
  const std::vector<bool> out = held_out(keys_of(train), strata_of(train, kind), share, seed);
  ExampleSet dev;
  std::vector<Example> rest;
  for (size_t i = 0; i < train.examples.size(); ++i) {
    const bool taken = out[train.examples[i].origin];
    if (taken && !train.encodings.empty()) dev.encodings.push_back(std::move(train.encodings[i]));
    (taken ? dev.examples : rest).push_back(std::move(train.examples[i]));
  }
  if (dev.examples.empty() || rest.empty()) none(share, train.origins);
  train.examples = std::move(rest);
  dev.questions = chosen(train.questions, out);
  dev.sentences = chosen(train.sentences, out);
  dev.texts = chosen(train.texts, out);
  for (const Question& question : dev.questions) dev.unanswered += question.answers.empty();
  train.unanswered -= dev.unanswered;
  for (ExampleSet* set : {&train, &dev}) number(*set);
  train.questions = {}, train.sentences = {}, train.encodings = {},
  train.texts = {};  // they were for the score
  for (Example& e : train.examples) e.words = {};
  return dev;
}

std::vector<TextPair> hold_out(std::vector<TextPair>& train, double share, uint64_t seed) {
  std::vector<uint64_t> keys;
  for (const TextPair& pair : train) keys.push_back(xxh64(pair.source));
  const std::vector<bool> out = held_out(keys, std::vector<int32_t>(keys.size(), 0), share, seed);
  std::vector<TextPair> dev, rest;
  for (size_t i = 0; i < train.size(); ++i) {
    (out[i] ? dev : rest).push_back(std::move(train[i]));
  }
  if (dev.empty() || rest.empty()) none(share, out.size());
  train = std::move(rest);
  return dev;
}

}  // namespace bert
