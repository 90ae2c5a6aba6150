#include "nn/logistic_regression.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>

namespace bert::nn {
namespace {

using Values = std::vector<double>;
/// The value at a point, and the gradient there.
using Function = std::function<double(const Values& point, Values& gradient)>;

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(double factor, const Values& x, Values& to) {
  for (size_t i = 0; i < x.size(); ++i) to[i] += factor * x[i];
}

/// A step and how the gradient changed over it.
struct Change {
  Values step, gradient;
  double product = 0;
};

/// -H^-1 gradient, where H is the curvature that the last changes tell (Nocedal 1980).
Values direction(const Values& gradient, const std::deque<Change>& changes) {
  Values d = gradient;
  std::vector<double> alphas;
  for (auto c = changes.rbegin(); c != changes.rend(); ++c) {
    alphas.push_back(dot(c->step, d) / c->product);
    add(-alphas.back(), c->gradient, d);
  }
  if (!changes.empty()) {
    const Change& last = changes.back();
    const double scale = last.product / dot(last.gradient, last.gradient);
    for (double& value : d) value *= scale;
  }
  for (const Change& c : changes) {
    add(alphas.back() - dot(c.gradient, d) / c.product, c.step, d);
    alphas.pop_back();
  }
  for (double& value : d) value = -value;
  return d;
}

/// The minimum of a convex function, by L-BFGS.
Values minimum(const Function& f, Values point) {
  constexpr size_t kChanges = 10, kSteps = 1000;
  constexpr double kFlat = 1e-7;
  Values gradient(point.size()), next_gradient(point.size());
  double value = f(point, gradient);
  std::deque<Change> changes;
  for (size_t step = 0; step < kSteps; ++step) {
    const double steepest =
        std::abs(*std::max_element(gradient.begin(), gradient.end(),
                                   [](double a, double b) { return std::abs(a) < std::abs(b); }));
    if (steepest < kFlat) break;
    const Values d = direction(gradient, changes);
    double length = changes.empty() ? 1 / std::max(1., std::sqrt(dot(d, d))) : 1;
    const double slope = dot(d, gradient);
    Values next;
    double next_value = 0;
    for (int tries = 0; tries < 60; ++tries, length /= 2) {
      next = point;
      add(length, d, next);
      next_value = f(next, next_gradient);
      if (next_value <= value + 1e-4 * length * slope) break;
    }
    if (!(next_value < value)) break;  // no number in double is lower
    Change change{next, next_gradient};
    add(-1, point, change.step);
    add(-1, gradient, change.gradient);
    change.product = dot(change.step, change.gradient);
    if (change.product > 0) changes.push_back(std::move(change));
    if (changes.size() > kChanges) changes.pop_front();
    point = std::move(next);
    gradient = next_gradient;
    value = next_value;
  }
  return point;
}

/// The loss of `rows` vectors w, side by side in `point` [rows, D + 1], the bias last.
class Loss {
 public:
  Loss(ConstMatrix x, std::span<const int32_t> labels, size_t rows)
      : x_(x), labels_(labels), rows_(rows) {}

  double operator()(const Values& point, Values& gradient) const {
    const size_t width = x_.cols + 1;
    double loss = 0;
    std::fill(gradient.begin(), gradient.end(), 0.);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t i = 0; i < x_.cols; ++i) {
        const double w = point[r * width + i];
        loss += w * w / 2;
        gradient[r * width + i] = w;
      }
    }
    Values logits(rows_);
    for (size_t n = 0; n < x_.rows; ++n) {
      for (size_t r = 0; r < rows_; ++r) {
        const double* w = point.data() + r * width;
        logits[r] = w[x_.cols];
        for (size_t i = 0; i < x_.cols; ++i) logits[r] += w[i] * static_cast<double>(x_.row(n)[i]);
      }
      loss += rows_ == 1 ? two(labels_[n], logits[0]) : several(labels_[n], logits);
      for (size_t r = 0; r < rows_; ++r) {
        double* g = gradient.data() + r * width;
        g[x_.cols] += logits[r];
        for (size_t i = 0; i < x_.cols; ++i) g[i] += logits[r] * static_cast<double>(x_.row(n)[i]);
      }
    }
    return loss;
  }

 private:
  /// The loss of one logit, which becomes its gradient.
  static double two(int32_t label, double& logit) {
    const double sign = label == 1 ? 1 : -1, margin = sign * logit;
    const double loss = std::max(-margin, 0.) + std::log1p(std::exp(-std::abs(margin)));
    logit = -sign / (1 + std::exp(margin));
    return loss;
  }
  static double several(int32_t label, Values& logits) {
    const auto own = static_cast<size_t>(label);
    const double largest = *std::max_element(logits.begin(), logits.end()), right = logits[own];
    double sum = 0;
    for (double& logit : logits) sum += logit = std::exp(logit - largest);
    for (double& logit : logits) logit /= sum;
    logits[own] -= 1;
    return largest + std::log(sum) - right;
  }

  const ConstMatrix x_;
  const std::span<const int32_t> labels_;
  const size_t rows_;
};

}  // namespace

LinearClassifier fit_logistic(ConstMatrix x, std::span<const int32_t> labels, size_t classes) {
  const size_t rows = classes == 2 ? 1 : classes, width = x.cols + 1;
  const Values found = minimum(Loss(x, labels, rows), Values(rows * width));
  LinearClassifier classifier{classes, x.cols, {}, {}};
  for (size_t c = 0; c < classes; ++c) {
    const double* w = found.data() + (rows == 1 ? 0 : c * width);
    const double factor = rows > 1 ? 1 : c == 0 ? -0.5 : 0.5;
    for (size_t i = 0; i < x.cols; ++i) classifier.weights.push_back(factor * w[i]);
    classifier.biases.push_back(factor * w[x.cols]);
  }
  return classifier;
}

}  // namespace bert::nn
