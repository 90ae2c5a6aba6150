#include "nn/rank_loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

namespace bert::nn {
namespace {

using Values = std::vector<double>;

/// A query's texts.
struct List {
  Values scores, labels;
  std::span<float> d_scores;  ///< empty: no gradient is wanted

  size_t size() const { return scores.size(); }
  void add(size_t text, double d) const {
    if (!d_scores.empty()) d_scores[text] += static_cast<float>(d);
  }
};

/// Calls use(list) for each query.
template <typename Use>
void for_each_list(const RankLists& lists, std::span<float> d_scores, Use use) {
  size_t first = 0;
  for (const size_t end : lists.ends) {
    List list;
    for (size_t i = first; i < end; ++i) {
      list.scores.push_back(static_cast<double>(lists.scores[i]));
      list.labels.push_back(static_cast<double>(lists.labels[i]));
    }
    if (!d_scores.empty()) list.d_scores = d_scores.subspan(first, end - first);
    use(list);
    first = end;
  }
}

/// exp(x) / sum(exp(x)), in place; returns log(sum(exp(x))).
double softmax(Values& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& value : x) sum += value = std::exp(value - largest);
  for (double& value : x) value /= sum;
  return largest + std::log(sum);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// log(1 + exp(x))
double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }

double pointwise(RankLoss loss, const List& list, double share) {
  double sum = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const double score = list.scores[i], label = list.labels[i];
    if (loss == RankLoss::binary) {
      sum += softplus(score) - label * score;
      list.add(i, share * (sigmoid(score) - label));
    } else {
      sum += (score - label) * (score - label);
      list.add(i, share * 2 * (score - label));
    }
  }
  return share * sum;
}

double listnet(const List& list, double share) {
  Values wanted = list.labels, found = list.scores;
  softmax(wanted);
  const double log_sum = softmax(found);
  double loss = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    loss += wanted[i] * (log_sum - list.scores[i]);
    list.add(i, share * (found[i] - wanted[i]));
  }
  return share * loss;
}

double margins(const List& list, double share) {
  double loss = 0;
  for (size_t i = 1; i < list.size(); ++i) {
    const double more = list.scores[0] - list.scores[i] - (list.labels[0] - list.labels[i]);
    loss += share * more * more;
    list.add(0, share * 2 * more);
    list.add(i, share * -2 * more);
  }
  return loss;
}

double ranking(const List& list, double scale, double share) {
  Values x = list.scores;
  for (double& value : x) value = scale * sigmoid(value);
  const double first = x[0], log_sum = softmax(x);
  for (size_t i = 0; i < list.size(); ++i) {
    const double p = sigmoid(list.scores[i]);
    list.add(i, share * (x[i] - (i == 0 ? 1 : 0)) * scale * p * (1 - p));
  }
  return share * (log_sum - first);
}

/// 1 / log2(1 + place), places from 1: what a text there is worth.
double discount(size_t place) { return 1 / std::log2(1 + static_cast<double>(place)); }

/// The list's texts by score, and their shares of the best nDCG.
struct Ranked {
  std::vector<size_t> order;
  Values gains;  ///< in the order of `order`

  explicit Ranked(const List& list) : order(list.size()) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return list.scores[a] > list.scores[b]; });
    Values best = list.labels;
    std::sort(best.begin(), best.end(), std::greater<>());
    double most = 0;
    for (size_t i = 0; i < best.size(); ++i) most += gain(best[i]) * discount(i + 1);
    for (const size_t text : order) {
      gains.push_back(gain(list.labels[text]) / std::max(most, 1e-10));
    }
  }
  static double gain(double label) { return std::exp2(std::max(label, 0.)) - 1; }

  /// What it costs that the texts at places i and j are in the wrong order.
  double weight(size_t i, size_t j) const {
    constexpr double kMu = 10;  // how much the distance of the places counts
    const size_t apart = i > j ? i - j : j - i;
    const double by_distance = discount(apart) - discount(apart + 1);
    const double by_place = std::abs(discount(i + 1) - discount(j + 1));
    return (kMu * by_distance + by_place) * std::abs(gains[i] - gains[j]);
  }
};

size_t ordered_pairs(const List& list) {
  size_t count = 0;
  for (const double a : list.labels) {
    for (const double b : list.labels) count += a > b;
  }
  return count;
}

double lambda(const List& list, double share) {
  const Ranked ranked(list);
  double loss = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < list.size(); ++j) {
      const size_t better = ranked.order[i], worse = ranked.order[j];
      if (!(list.labels[better] > list.labels[worse])) continue;
      const double more = list.scores[better] - list.scores[worse];
      const double weight = share * ranked.weight(i, j) / std::numbers::ln2;
      loss += weight * softplus(-more);
      list.add(better, -weight * sigmoid(-more));
      list.add(worse, weight * sigmoid(-more));
    }
  }
  return loss;
}

/// How many losses the mean is of.
size_t count(RankLoss loss, const RankLists& lists) {
  if (!compares_texts(loss)) return lists.scores.size();
  if (loss == RankLoss::margin) return lists.scores.size() - lists.ends.size();
  if (loss != RankLoss::lambda) return lists.ends.size();
  size_t pairs = 0;
  for_each_list(lists, {}, [&](const List& list) { pairs += ordered_pairs(list); });
  return pairs;
}

}  // namespace

double rank_loss(RankLoss loss, const RankLists& lists, std::span<float> d_scores) {
  const double share = 1 / static_cast<double>(std::max<size_t>(count(loss, lists), 1));
  double sum = 0;
  for_each_list(lists, d_scores, [&](const List& list) {
    switch (loss) {
      case RankLoss::listnet:
        sum += listnet(list, share);
        break;
      case RankLoss::lambda:
        sum += lambda(list, share);
        break;
      case RankLoss::margin:
        sum += margins(list, share);
        break;
      case RankLoss::ranking:
        sum += ranking(list, static_cast<double>(lists.scale), share);
        break;
      default:
        sum += pointwise(loss, list, share);
    }
  });
  return sum;
}

}  // namespace bert::nn
