#include "attention_pool/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>

#include "attention_pool/pool_loss.h"
#include "base/error.h"
#include "base/random.h"

namespace bert {
namespace {

using Vector = std::vector<double>;

double dot_of(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
}

/// The function that is minimised: of the numbers of the parameters that are fitted.
class Objective {
 public:
  Objective(const LearnData& data, const PoolForm& form, PoolParameters& parameters,
            const std::vector<std::string>& fit)
      : loss_(form, data), parameters_(parameters), gradient_(parameters) {
    for (size_t i = 0; i < parameters.tensors().size(); ++i) {
      const std::string& name = parameters.tensors()[i].name;
      if (std::find(fit.begin(), fit.end(), name) != fit.end()) fitted_.push_back(i);
    }
  }

  Vector point() const {
    Vector x;
    for (const size_t i : fitted_) {
      const auto& values = parameters_.tensors()[i].values;
      x.insert(x.end(), values.begin(), values.end());
    }
    return x;
  }

  /// Sets the parameters to x.
  double operator()(const Vector& x, Vector& gradient) {
    size_t next = 0;
    for (const size_t i : fitted_) {
      for (float& value : parameters_.tensors()[i].values) value = static_cast<float>(x[next++]);
    }
    for (PoolTensor& tensor : gradient_.tensors()) {
      std::fill(tensor.values.begin(), tensor.values.end(), 0.f);
    }
    const double loss = loss_(parameters_, gradient_);
    gradient.clear();
    for (const size_t i : fitted_) {
      const auto& values = gradient_.tensors()[i].values;
      gradient.insert(gradient.end(), values.begin(), values.end());
    }
    return loss;
  }

 private:
  PoolLoss loss_;
  PoolParameters& parameters_;
  PoolParameters gradient_;
  std::vector<size_t> fitted_;
};

/// L-BFGS (Nocedal and Wright 2006, algorithm 7.4): a step along -H g, where H is made of the last
/// steps, to a point that satisfies the weak Wolfe conditions, found by bisection.
class Minimiser {
 public:
  explicit Minimiser(Objective& objective) : objective_(objective), x_(objective.point()) {
    f_ = objective_(x_, g_);
  }

  double value() const { return f_; }

  /// One step; false if there is no lower point.
  bool step() {
    Vector direction = descent();
    double slope = dot_of(direction, g_);
    if (!(slope < 0)) {  // rounding has spoilt the memory
      memory_.clear();
      direction = descent();
      slope = dot_of(direction, g_);
    }
    const double size = std::sqrt(dot_of(g_, g_));
    if (!(slope < 0) || size < 1e-12) return false;
    const double first = memory_.empty() ? std::min(1., 1 / size) : 1.;
    return search(direction, slope, first);
  }

  /// Puts the parameters at the best point.
  void finish() {
    Vector unused;
    objective_(x_, unused);
  }

 private:
  struct Pair {
    Vector s, y;
    double rho;
  };

  Vector descent() const {
    Vector q = g_;
    std::vector<double> alpha(memory_.size());
    for (size_t i = memory_.size(); i-- > 0;) {
      alpha[i] = memory_[i].rho * dot_of(memory_[i].s, q);
      for (size_t j = 0; j < q.size(); ++j) q[j] -= alpha[i] * memory_[i].y[j];
    }
    if (!memory_.empty()) {
      const Pair& last = memory_.back();
      const double gamma = 1 / (last.rho * dot_of(last.y, last.y));
      for (double& value : q) value *= gamma;
    }
    for (size_t i = 0; i < memory_.size(); ++i) {
      const double beta = memory_[i].rho * dot_of(memory_[i].y, q);
      for (size_t j = 0; j < q.size(); ++j) q[j] += (alpha[i] - beta) * memory_[i].s[j];
    }
    for (double& value : q) value = -value;
    return q;
  }

  bool search(const Vector& direction, double slope, double step) {
    constexpr double kDecrease = 1e-4, kCurvature = 0.9;
    constexpr int kTries = 40;
    double low = 0, high = INFINITY;
    Vector x(x_.size()), g;
    for (int i = 0; i < kTries; ++i) {
      for (size_t j = 0; j < x.size(); ++j) x[j] = x_[j] + step * direction[j];
      const double f = objective_(x, g);
      if (!(f <= f_ + kDecrease * step * slope)) {  // also NaN
        high = step;
      } else if (dot_of(g, direction) < kCurvature * slope && i + 1 < kTries) {
        low = step;
      } else {
        remember(x, g);
        const bool lower = f < f_;
        x_ = x;
        g_ = g;
        f_ = f;
        return lower;
      }
      step = std::isinf(high) ? 2 * low : (low + high) / 2;
    }
    return false;
  }

  void remember(const Vector& x, const Vector& g) {
    constexpr size_t kPairs = 10;
    Pair pair{x, g, 0};
    for (size_t j = 0; j < x.size(); ++j) {
      pair.s[j] -= x_[j];
      pair.y[j] -= g_[j];
    }
    const double curvature = dot_of(pair.s, pair.y);
    if (!(curvature > 1e-16 * dot_of(pair.y, pair.y))) return;
    pair.rho = 1 / curvature;
    memory_.push_back(std::move(pair));
    if (memory_.size() > kPairs) memory_.pop_front();
  }

  Objective& objective_;
  Vector x_, g_;
  double f_ = 0;
  std::deque<Pair> memory_;
};

/// Near the identity: with random numbers of a tenth of Glorot and Bengio's (2010), which make rows
/// that are alike differ.
void fill_matrix(PoolTensor& tensor, uint64_t seed) {
  const auto cells = static_cast<double>(tensor.rows + tensor.cols);
  const double bound = 0.1 * std::sqrt(6 / cells);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const auto words = philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0},
                                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const double uniform = words[0] / 4294967296. * 2 - 1;
    const bool diagonal = i / tensor.cols == i % tensor.cols;
    tensor.values[i] = static_cast<float>(bound * uniform + (diagonal ? 1 : 0));
  }
}

/// The parameters at the start.
class Start {
 public:
  Start(const LearnData& data, const LearnOptions& options)
      : data_(data), options_(options), parameters_(options.start) {}

  PoolParameters make(const std::vector<std::string>& fit) {
    uint64_t number = 0;
    for (const std::string& name : fit) {
      ++number;
      if (!parameters_.has(name)) add(name, mix(options_.seed, number));
    }
    return parameters_;
  }

 private:
  size_t multiple(size_t size) const {
    const size_t heads = options_.form.heads;
    return (size + heads - 1) / heads * heads;
  }
  size_t hidden() const {
    for (const char* name : {"W_k", "W_q", "W", "W1"}) {
      if (const PoolTensor* tensor = parameters_.find(name)) return tensor->rows;
    }
    return options_.hidden > 0 ? options_.hidden : multiple(data_.keys.cols);
  }
  size_t mixed() const {
    const PoolTensor* value = parameters_.find("W_v");
    return value ? value->rows : multiple(data_.values.cols);
  }

  void add(const std::string& name, uint64_t seed) {
    const size_t q = data_.queries.cols, k = data_.keys.cols;
    if (name == "width") {
      parameters_.add(name, 1, 1).values[0] = 1;
    } else if (name == "b1") {
      parameters_.add(name, 1, hidden());
    } else if (name == "w_v") {
      auto& values = parameters_.add(name, 1, hidden()).values;
      std::fill(values.begin(), values.end(), 1.f);
    } else if (name == "W" || name == "W1") {
      add_joint(name, q, k, seed);
    } else if (name == "W_q" || name == "W_k") {
      fill_matrix(parameters_.add(name, hidden(), name == "W_q" ? q : k), seed);
    } else if (name == "W_v") {
      fill_matrix(parameters_.add(name, mixed(), data_.values.cols), seed);
    } else {
      fill_matrix(parameters_.add(name, data_.targets.cols, mixed()), seed);
    }
  }

  /// [I I], about
  void add_joint(const std::string& name, size_t q, size_t k, uint64_t seed) {
    PoolTensor left{"", hidden(), q, std::vector<float>(hidden() * q)};
    PoolTensor right{"", hidden(), k, std::vector<float>(hidden() * k)};
    fill_matrix(left, mix(seed, 1));
    fill_matrix(right, mix(seed, 2));
    PoolTensor& joint = parameters_.add(name, left.rows, q + k);
    for (size_t i = 0; i < joint.rows; ++i) {
      std::copy_n(&left.values[i * q], q, &joint.values[i * (q + k)]);
      std::copy_n(&right.values[i * k], k, &joint.values[i * (q + k) + q]);
    }
  }

  const LearnData& data_;
  const LearnOptions& options_;
  PoolParameters parameters_;
};

/// The parameters that are fitted if the user names none.
std::vector<std::string> default_fit(const LearnData& data, const PoolForm& form,
                                     const PoolParameters& start) {
  std::vector<std::string> fit;
  for (const std::string& name : PoolParameters::names_of(form.score)) {
    const bool projection = name == "W_q" || name == "W_k", output = name == "W_v" || name == "W_o";
    const bool wanted = output       ? form.heads > 1 || data.values.cols != data.targets.cols
                        : projection ? form.score != nn::Score::gauss
                                     : true;
    if (wanted || start.has(name)) fit.push_back(name);
  }
  return fit;
}

void check_fit(const std::vector<std::string>& fit, const PoolForm& form) {
  const std::vector<std::string> known = PoolParameters::names_of(form.score);
  for (const std::string& name : fit) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error::of_field(
        "fit", fmt::format("found '{}', wants some of {}, which '{}' has", printable(name),
                           fmt::join(known, ","), score_name(form.score)));
  }
}

void check_sizes(const LearnData& data, const PoolParameters& parameters, const PoolSizes& sizes,
                 const PoolNames& names, const std::string& targets) {
  if (sizes.queries != data.queries.cols) {
    throw Error(Error::Kind::data, names.queries,
                fmt::format("{}, wants {}, as {}", found_columns(data.queries.cols), sizes.queries,
                            queries_fit(parameters, names)));
  }
  if (data.targets.rows != data.queries.rows) {
    throw Error(Error::Kind::data, targets,
                fmt::format("found {} row{}, wants {}, as {} has", data.targets.rows,
                            data.targets.rows == 1 ? "" : "s", data.queries.rows, names.queries));
  }
  if (data.targets.cols != sizes.output) {
    throw Error(Error::Kind::data, targets,
                fmt::format("{}, wants {}, the output of {}", found_columns(data.targets.cols),
                            sizes.output, names.values));
  }
}

}  // namespace

LearnResult learn_attention(const LearnData& data, const LearnOptions& options,
                            const PoolNames& names, const std::string& targets_name) {
  check_fit(options.fit, options.form);
  const std::vector<std::string> fit =
      options.fit.empty() ? default_fit(data, options.form, options.start) : options.fit;
  LearnResult result;
  result.parameters = Start(data, options).make(fit);
  const auto sizes =
      PoolSizes::of(options.form, result.parameters, data.keys.cols, data.values.cols, names);
  check_sizes(data, result.parameters, sizes, names, targets_name);
  Objective objective(data, options.form, result.parameters, fit);
  Minimiser minimiser(objective);
  result.count = objective.point().size();
  result.before = minimiser.value();
  if (!std::isfinite(result.before)) {
    throw Error(
        Error::Kind::data, targets_name,
        "the mean squared error of the outputs at the start is no finite number: the scores "
        "or the targets are too large");
  }
  // Ends when ten steps together lower the error by less than a millionth.
  double checked = result.before;
  while (result.steps < options.max_steps && minimiser.step()) {
    if (++result.steps % 10 != 0) continue;
    if (checked - minimiser.value() < 1e-6 * checked) break;
    checked = minimiser.value();
  }
  minimiser.finish();
  result.after = minimiser.value();
  for (PoolTensor& tensor : result.parameters.tensors()) {
    // Its sign has no effect.
    if (tensor.name == "width") tensor.values[0] = std::abs(tensor.values[0]);
  }
  return result;
}

}  // namespace bert
