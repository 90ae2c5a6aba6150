#include "training/vector_network.h"

#include <algorithm>
#include <utility>

#include "ops/kernels.h"
#include "training/pooling_gradient.h"

namespace bert::training {
namespace {

class VectorLane : public Lane {
 public:
  VectorLane(const VectorNetwork& network, const Layout& layout, float* values, float* gradient,
             bool bf16)
      : network_(network),
        weights_(ModelWeights::view(layout, network.config(), values)),
        gradient_(ModelWeights::view(layout, network.config(), gradient)),
        encoder_(network.config(), weights_, bf16) {}

  void vectors(const TrainingBatch& part, const Pass& pass, Matrix out) override {
    const DropoutRates& rates = network_.heads()[0].dropout;
    const DropoutPlan dropout{rates.hidden, rates.attention, 0, pass.key, pass.token_0};
    part_ = part;  // its tokens must live until the way back
    key_ = pass.key;
    first_ = pass.sequence_0;
    hidden_ = encoder_.forward(part_.batch, pass.learns ? dropout : DropoutPlan());
    const VectorTask& task = network_.task();
    const Matrix pooled = pooled_.matrix(out.rows, out.cols);
    for (size_t s = 0; s < out.rows; ++s) {
      for (size_t i = 0; i < task.poolings.size(); ++i) {
        pool(task.poolings[i], tokens(s), {pooled.row(s) + i * hidden_.cols, hidden_.cols},
             begin(s));
      }
    }
    if (task.normalize) {
      nn::unit_forward(pooled, out, lengths_.matrix(out.rows, 1));
      copy(out, unit_.matrix(out.rows, out.cols));
    } else {
      copy(pooled, out);
    }
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override {
    const Matrix d = pass.d_vectors;
    // The last pass of vectors() may be this one.
    if (key_ != pass.key || first_ != pass.sequence_0 || part_.sequences() != part.sequences()) {
      vectors(part, pass, again_.matrix(d.rows, d.cols));
    }
    const VectorTask& task = network_.task();
    Matrix d_pooled = d;
    if (task.normalize) {
      d_pooled = d_pooled_.zeros(d.rows, d.cols);
      nn::unit_backward(unit_.matrix(d.rows, d.cols), lengths_.matrix(d.rows, 1), d, d_pooled);
    }
    const Matrix d_hidden = d_hidden_.zeros(hidden_.rows, hidden_.cols);
    for (size_t s = 0; s < d.rows; ++s) {
      const Matrix to = d_hidden.slice(part_.batch.begin(s), part_.batch.length(s));
      for (size_t i = 0; i < task.poolings.size(); ++i) {
        pool_backward(task.poolings[i], tokens(s), d_pooled.row(s) + i * hidden_.cols, begin(s),
                      to);
      }
    }
    encoder_.backward(d_hidden, gradient_, pass.lowest, pass.turn);
    Tally tally;
    tally.input_tokens = part.batch.tokens();
    return tally;
  }

 private:
  ConstMatrix tokens(size_t s) const {
    return hidden_.slice(part_.batch.begin(s), part_.batch.length(s));
  }
  size_t begin(size_t s) const {
    return part_.starts.empty() ? 0 : static_cast<size_t>(part_.starts[s]);
  }

  const VectorNetwork& network_;
  const ModelWeights weights_, gradient_;
  Encoder encoder_;
  TrainingBatch part_;  ///< what the last vectors() read
  uint64_t key_ = 0;
  size_t first_ = SIZE_MAX;
  ConstMatrix hidden_;
  Buffer pooled_, unit_, lengths_, again_, d_pooled_, d_hidden_;
};

}  // namespace

VectorNetwork::VectorNetwork(HeadPlan trunk, VectorTask task, bool bf16)
    : BertNetwork({std::move(trunk)}, bf16), task_(std::move(task)) {}

std::unique_ptr<Lane> VectorNetwork::lane(const Layout& layout, float* values,
                                          float* gradient) const {
  return std::make_unique<VectorLane>(*this, layout, values, gradient, bf16());
}

Tally VectorNetwork::count(const TrainingBatch& batch) const {
  Tally tally;
  tally.sequences = tally.labelled =
      static_cast<double>(batch.sequences()) / static_cast<double>(task_.loss.columns);
  return tally;
}

Tally VectorNetwork::judge(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const {
  Tally tally = count(batch);
  nn::VectorLossBuffers buffers;
  const size_t width = batch.values.size() / std::max<size_t>(vectors.rows, 1);
  double loss = 0;
  if (task_.dims.empty()) {
    loss = nn::vector_loss(task_.loss, vectors, batch.values, width, 1, gradient,
                           tally.sequences_right, buffers);
  }
  Buffer unit, lengths, d_unit;
  for (const size_t dims : task_.dims) {
    const Matrix cut = unit.matrix(vectors.rows, dims), d_cut = d_unit.zeros(vectors.rows, dims);
    nn::unit_forward(columns(vectors, 0, dims), cut, lengths.matrix(vectors.rows, 1));
    size_t right = 0;
    loss += nn::vector_loss(task_.loss, cut, batch.values, width, 1,
                            gradient.data ? d_cut : Matrix(), right, buffers);
    if (dims == task_.dims.front()) tally.sequences_right += right;
    if (!gradient.data) continue;
    nn::unit_backward(cut, lengths.matrix(vectors.rows, 1), d_cut, columns(gradient, 0, dims));
  }
  tally.sequence_loss = loss * tally.sequences;
  return tally;
}

}  // namespace bert::training
