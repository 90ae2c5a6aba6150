#include "training/distance_gradient.h"

#include <algorithm>

#include "ops/blas.h"
#include "ops/kernels.h"

namespace bert::training {

void DistanceVectors::begin(const ModelWeights& weights, const PackedBatch& batch) {
  rows_ = {};
  if (!weights.distances.data) return;
  size_t longest = 1;
  for (size_t s = 0; s < batch.sequences(); ++s) longest = std::max(longest, batch.length(s));
  const auto n = static_cast<ptrdiff_t>(longest);
  first_ = static_cast<size_t>(positions_.row(1 - n));
  const size_t count = static_cast<size_t>(positions_.row(n - 1)) + 1 - first_;
  const Matrix table = weights.distances.slice(first_, count);
  rows_ = normal_.matrix(count, table.cols);
  if (weights.distance_norm.weight) {
    nn::norm_forward(weights.distance_norm, norm_plan(config_), table, rows_,
                     statistics_.matrix(count, 2));
  } else {
    copy(table, rows_);
  }
  d_rows_ = gradients_.zeros(count, table.cols);
}

void DistanceVectors::finish(const ModelWeights& weights, const ModelWeights& gradient) {
  if (!rows_.data) return;
  if (weights.distance_norm.weight) {
    nn::norm_backward(weights.distance_norm, norm_plan(config_),
                      weights.distances.slice(first_, rows_.rows),
                      statistics_.matrix(rows_.rows, 2), d_rows_, gradient.distance_norm, d_rows_);
  }
  add(d_rows_, gradient.distances.slice(first_, rows_.rows));
}

namespace {

/// The projection of vectors of distances: one of their own, or part `part` of that of content.
nn::LinearWeights projection(const AttentionWeights& w, bool shared, size_t part) {
  if (!shared) return part == 0 ? w.position_query : w.position_key;
  const size_t rows = w.key_width;
  float* bias = w.qkv.bias ? w.qkv.bias + part * rows : w.biases[part];
  return {w.qkv.weight.data ? w.qkv.weight.slice(part * rows, rows) : Matrix(), bias};
}

constexpr size_t kQueryPart = 0, kKeyPart = 1;

}  // namespace

void DistanceTerms::forward(const AttentionWeights& w, const DistanceVectors& vectors,
                            const nn::Dropout& drop) {
  vectors_ = &vectors;
  const ConstMatrix rows = vectors.rows();
  rows_ = rows.rows;
  width_ = w.qkv.weight.rows - 2 * w.key_width;
  const Matrix dropped = dropped_.matrix(rows_, rows.cols);
  copy(rows, dropped);
  dropout(drop, dropped);
  const Disentangled& d = vectors.config().disentangled;
  keys_.used = d.content_to_position;
  queries_.used = d.position_to_content;
  for (const auto& [term, part] : {std::pair(&keys_, kKeyPart), {&queries_, kQueryPart}}) {
    if (!term->used) continue;
    nn::linear_forward(projection(w, d.shared, part), dropped,
                       term->projected.matrix(rows_, width_));
    term->gradient.zeros(rows_, width_);
  }
}

void DistanceTerms::add_term(Term& term, const nn::HeadView& head, ConstMatrix x, bool of_keys,
                             Matrix scores) {
  const Matrix products = term.products.matrix(x.rows, rows_);
  const Matrix own = columns(matrix(term.projected), head.head * head.size, head.size);
  blas_gemm_nt(x.data, x.stride, own.data, own.stride, products.data, products.stride, x.rows,
               rows_, head.size);
  for (size_t i = 0; i < scores.rows; ++i) {
    for (size_t j = 0; j < scores.cols; ++j) {
      const size_t r = vectors_->row(static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(j));
      scores.row(i)[j] += products.row(of_keys ? j : i)[r];
    }
  }
}

void DistanceTerms::add(const nn::HeadView& head, ConstMatrix q, ConstMatrix k, Matrix scores) {
  if (keys_.used) add_term(keys_, head, q, false, scores);
  if (queries_.used) add_term(queries_, head, k, true, scores);
}

void DistanceTerms::add_term_gradient(Term& term, const nn::HeadView& head, ConstMatrix x,
                                      bool of_keys, ConstMatrix d_scores, Matrix dx) {
  const Matrix d = term.products.zeros(x.rows, rows_);
  for (size_t i = 0; i < d_scores.rows; ++i) {
    for (size_t j = 0; j < d_scores.cols; ++j) {
      const size_t r = vectors_->row(static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(j));
      d.row(of_keys ? j : i)[r] += d_scores.row(i)[j];
    }
  }
  const size_t column = head.head * head.size;
  const Matrix own = columns(matrix(term.projected), column, head.size);
  const Matrix d_own = columns(matrix(term.gradient), column, head.size);
  blas_gemm_nn(d.data, d.stride, own.data, own.stride, dx.data, dx.stride, x.rows, head.size, rows_,
               1.f);
  blas_gemm_tn(d.data, d.stride, x.data, x.stride, d_own.data, d_own.stride, rows_, head.size,
               x.rows, 1.f);
}

void DistanceTerms::add_gradient(const nn::HeadView& head, ConstMatrix q, ConstMatrix k,
                                 ConstMatrix d_scores, Matrix dq, Matrix dk) {
  if (keys_.used) add_term_gradient(keys_, head, q, false, d_scores, dq);
  if (queries_.used) add_term_gradient(queries_, head, k, true, d_scores, dk);
}

void DistanceTerms::finish(const AttentionWeights& w, const AttentionWeights& gradient,
                           const nn::Dropout& drop) {
  const bool shared = vectors_->config().disentangled.shared;
  const ConstMatrix dropped(dropped_.data(), rows_, vectors_->rows().cols);
  const Matrix d_dropped = d_dropped_.zeros(rows_, dropped.cols);
  for (const auto& [term, part] : {std::pair(&keys_, kKeyPart), {&queries_, kQueryPart}}) {
    if (!term->used) continue;
    nn::linear_backward(projection(w, shared, part), dropped, matrix(term->gradient),
                        projection(gradient, shared, part), d_dropped, true);
  }
  dropout(drop, d_dropped);
  bert::add(d_dropped, vectors_->gradient());
}

}  // namespace bert::training
