#include "metrics/rank_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

/// The cells of a line, which any blanks separate.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end;
  }
  return cells;
}

double gain_at(size_t rank, int64_t relevance) {
  return relevance <= 0 ? 0
                        : static_cast<double>(relevance) / std::log2(static_cast<double>(rank) + 1);
}

/// The gain of the first k relevances.
double gain_of(std::span<const int64_t> relevances, size_t k) {
  double gain = 0;
  for (size_t i = 0; i < std::min(k, relevances.size()); ++i) gain += gain_at(i + 1, relevances[i]);
  return gain;
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// The mean of the queries' values of each measure, query q `times[q]` times.
template <typename Times>
void means(const std::vector<std::vector<double>>& values, const Times& times,
           std::span<double> out) {
  double count = 0;
  std::fill(out.begin(), out.end(), 0.0);
  for (size_t q = 0; q < values.size(); ++q) {
    count += static_cast<double>(times(q));
    for (size_t m = 0; m < out.size(); ++m) out[m] += static_cast<double>(times(q)) * values[q][m];
  }
  for (double& value : out) value /= count;
}

}  // namespace

Qrels Qrels::read(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  Qrels qrels;
  size_t number = 0;
  for (const std::string_view line : split(file.text(), '\n')) {
    ++number;
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.empty()) continue;
    const auto relevance = cells.size() == 4 ? to_number<int64_t>(cells[3]) : std::nullopt;
    if (!relevance) {
      throw Error(Error::Kind::data, fmt::format("{}: line {}", path, number),
                  fmt::format("found '{}', wants QUERY 0 RECORD RELEVANCE", printable(line)));
    }
    qrels.queries_[std::string(cells[0])][std::string(cells[2])] = *relevance;
  }
  return qrels;
}

const std::map<std::string, int64_t>& Qrels::of(const std::string& query) const {
  static const std::map<std::string, int64_t> none;
  const auto found = queries_.find(query);
  return found == queries_.end() ? none : found->second;
}

void RankMetrics::add(const std::string& query, uint64_t order, double score, int64_t relevance) {
  const std::lock_guard lock(mutex_);
  Query& own = queries_[query];
  own.judged = true;
  own.first = std::min(own.first, order);
  if (relevance > 0) own.relevant.push_back(relevance);
  if (!std::isnan(score)) own.found.push_back({static_cast<float>(score), "", order, relevance});
}

void RankMetrics::add(const std::string& query, const std::string& text, double score,
                      const Qrels& qrels) {
  const std::lock_guard lock(mutex_);
  const std::map<std::string, int64_t>& judged = qrels.of(query);
  Query& own = queries_[query];
  if (!own.judged) {
    for (const auto& [name, relevance] : judged) {
      own.judged = true;
      if (relevance > 0) own.relevant.push_back(relevance);
    }
  }
  const auto found = judged.find(text);
  const int64_t relevance = found == judged.end() ? 0 : found->second;
  if (!std::isnan(score)) own.found.push_back({static_cast<float>(score), text, 0, relevance});
}

void RankMetrics::judge(const Qrels& qrels) {
  const std::lock_guard lock(mutex_);
  std::map<uint64_t, Query*> in_order;
  for (auto& [text, query] : queries_) in_order[query.first] = &query;
  size_t number = 0;
  for (auto& [first, query] : in_order) {
    const std::map<std::string, int64_t>& judged = qrels.of(std::to_string(++number));
    query->judged = !judged.empty();
    query->relevant.clear();
    for (const auto& [name, relevance] : judged) {
      if (relevance > 0) query->relevant.push_back(relevance);
    }
    for (Found& text : query->found) {
      text.name = std::to_string(text.order);
      const auto found = judged.find(text.name);
      text.relevance = found == judged.end() ? 0 : found->second;
    }
  }
}

std::vector<std::string> RankMetrics::names() const {
  std::vector<std::string> names = {"mrr", "map"};
  for (const char* name : {"ndcg", "recall", "precision"}) {
    for (const size_t k : cutoffs_) names.push_back(fmt::format("{}@{}", name, k));
  }
  return names;
}

std::vector<double> RankMetrics::measure(const Query& query) const {
  std::vector<Found> found = query.found;
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.name != b.name ? a.name > b.name : a.order > b.order;
  });
  std::vector<int64_t> ranked, best = query.relevant;
  for (const Found& text : found) ranked.push_back(text.relevance);
  std::sort(best.rbegin(), best.rend());
  const auto relevant = static_cast<double>(best.size());
  double first = 0, sum = 0, hits = 0;
  std::vector<double> hits_at;  // [ranked + 1]
  hits_at.push_back(0);
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i] > 0) {
      ++hits;
      sum += hits / static_cast<double>(i + 1);
      if (first == 0) first = 1 / static_cast<double>(i + 1);
    }
    hits_at.push_back(hits);
  }
  std::vector<double> values = {first, ratio(sum, relevant)};
  const auto hits_in = [&](size_t k) { return hits_at[std::min(k, ranked.size())]; };
  for (const size_t k : cutoffs_) values.push_back(ratio(gain_of(ranked, k), gain_of(best, k)));
  for (const size_t k : cutoffs_) values.push_back(ratio(hits_in(k), relevant));
  for (const size_t k : cutoffs_) values.push_back(hits_in(k) / static_cast<double>(k));
  return values;
}

std::vector<std::vector<double>> RankMetrics::all() const {
  std::vector<std::vector<double>> values;
  for (const auto& [name, query] : queries_) {
    if (query.judged) values.push_back(measure(query));
  }
  return values;
}

std::vector<double> RankMetrics::means_of(const std::vector<std::vector<double>>& values,
                                          size_t measures) {
  std::vector<double> mean(measures);
  means(
      values, [](size_t) { return 1; }, mean);
  return mean;
}

double RankMetrics::mean(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names = this->names();
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  return means_of(all(), names.size()).at(static_cast<size_t>(at));
}

std::string RankMetrics::report() const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names = this->names();
  const std::vector<std::vector<double>> values = all();
  const std::vector<double> mean = means_of(values, names.size());
  std::string text = fmt::format("queries\t{}\n", values.size());
  for (size_t m = 0; m < names.size(); ++m)
    text += fmt::format("{}\t{}\n", names[m], number_text(mean[m]));
  return text;
}

std::string RankMetrics::json(const Doubt& doubt) const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names = this->names();
  const std::vector<std::vector<double>> values = all();
  const std::vector<double> mean = means_of(values, names.size());
  std::string text;
  JsonRow json(text);
  json.object().count("queries", values.size());
  for (size_t m = 0; m < names.size(); ++m) json.number(names[m], mean[m]);
  doubt.add_to(json);
  json.end_object();
  return text;
}

Doubt RankMetrics::doubt(const Resampling& how) const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names = this->names();
  const std::vector<std::vector<double>> values = all();
  const std::vector<uint64_t> queries(values.size(), 1);
  const std::vector<Interval> found =
      bootstrap(queries, names.size(), how, [&](auto times, auto out) {
        means(
            values, [&](size_t q) { return times[q]; }, out);
      });
  Doubt doubt;
  for (size_t m = 0; m < names.size(); ++m) doubt.intervals.push_back({names[m], found[m]});
  return doubt;
}

}  // namespace bert
