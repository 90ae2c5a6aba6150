#include "nn/maxsim_loss.h"

#include <algorithm>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"

namespace bert::nn {
namespace {

/// The products [N, M] of all rows of two matrices.
Matrix all_products(ConstMatrix q, ConstMatrix d, Buffer& buffer) {
  const Matrix products = buffer.matrix(q.rows, d.rows);
  blas_gemm_nt(q.data, q.stride, d.data, d.stride, products.data, products.stride, q.rows, d.rows,
               q.cols);
  return products;
}

/// Texts of records, by the rows of their tokens.
struct Texts {
  std::span<const size_t> ends;
  size_t columns;

  size_t records() const { return (ends.size() - 1) / columns; }
  size_t others() const { return records() * (columns - 1); }
  /// The text that column j of the scores is of: column by column.
  size_t other(size_t j) const { return j % records() * columns + 1 + j / records(); }
  size_t query(size_t r) const { return r * columns; }
  size_t begin(size_t text) const { return ends[text]; }
  size_t length(size_t text) const { return ends[text + 1] - ends[text]; }
};

float factor_of(const VectorLossPlan& plan, size_t tokens) {
  const bool mean = plan.mean_of_tokens && tokens > 0;
  return mean ? plan.scale / static_cast<float>(tokens) : plan.scale;
}

/// The scores [others] of one query; `best` [others, N] gets the rows that they come from.
void score_query(const VectorLossPlan& plan, const Texts& texts, ConstMatrix x, size_t query,
                 float* scores, uint32_t* best, Buffer& buffer) {
  const size_t first = texts.begin(query), n = texts.length(query);
  std::fill_n(scores, texts.others(), 0.f);
  if (n == 0) return;
  const Matrix products = all_products(x.slice(first, n), x, buffer);
  for (size_t j = 0; j < texts.others(); ++j) {
    const size_t begin = texts.begin(texts.other(j)), m = texts.length(texts.other(j));
    double sum = 0;
    for (size_t i = 0; m > 0 && i < n; ++i) {
      const float* row = products.row(i) + begin;
      const auto at = static_cast<size_t>(std::max_element(row, row + m) - row);
      best[j * n + i] = static_cast<uint32_t>(begin + at);
      sum += static_cast<double>(row[at]);
    }
    scores[j] = static_cast<float>(static_cast<double>(factor_of(plan, n)) * sum);
  }
}

/// The way back of score_query().
void score_query_backward(const VectorLossPlan& plan, const Texts& texts, ConstMatrix x,
                          size_t query, const float* d_scores, const uint32_t* best, Matrix dx) {
  const size_t first = texts.begin(query), n = texts.length(query);
  const auto axpy = gradient_kernels().axpy;
  for (size_t j = 0; j < texts.others(); ++j) {
    const float d = d_scores[j] * factor_of(plan, n);
    if (d == 0 || texts.length(texts.other(j)) == 0) continue;
    for (size_t i = 0; i < n; ++i) {
      const size_t at = best[j * n + i];
      axpy(d, x.row(at), x.cols, dx.row(first + i));
      axpy(d, x.row(first + i), x.cols, dx.row(at));
    }
  }
}

}  // namespace

double maxsim(ConstMatrix q, ConstMatrix d, Buffer& buffer) {
  if (d.rows == 0 || q.rows == 0) return 0;
  const Matrix products = all_products(q, d, buffer);
  double sum = 0;
  for (size_t i = 0; i < products.rows; ++i) {
    sum += static_cast<double>(*std::max_element(products.row(i), products.row(i) + d.rows));
  }
  return sum;
}

double maxsim_loss(const VectorLossPlan& plan, ConstMatrix x, std::span<const size_t> ends,
                   float weight, Matrix dx, size_t& right, MaxSimBuffers& buffers) {
  const Texts texts{ends, plan.columns};
  const Matrix scores = buffers.scores.matrix(texts.records(), texts.others());
  std::vector<size_t> places{0};  // in `best`, of each query
  for (size_t r = 0; r < texts.records(); ++r) {
    places.push_back(places.back() + texts.length(texts.query(r)) * texts.others());
  }
  buffers.best.resize(places.back());
  for (size_t r = 0; r < texts.records(); ++r) {
    score_query(plan, texts, x, texts.query(r), scores.row(r), buffers.best.data() + places[r],
                buffers.products);
  }
  const double loss = ranking_entropy(plan, scores, weight, dx.data, right, buffers.columns);
  for (size_t r = 0; dx.data && r < texts.records(); ++r) {
    score_query_backward(plan, texts, x, texts.query(r), scores.row(r),
                         buffers.best.data() + places[r], dx);
  }
  return loss;
}

}  // namespace bert::nn
