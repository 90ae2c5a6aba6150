#include "training/vector_network.h"

#include <algorithm>
#include <utility>

#include "directory/file_names.h"
#include "nn/maxsim_loss.h"
#include "ops/kernels.h"
#include "training/pooling_gradient.h"

namespace bert::training {
namespace {

/// Vectors of all tokens [T, D] to and from rows of texts, in which each token has its place.
void give_tokens(const PackedBatch& batch, ConstMatrix tokens, Matrix texts) {
  for (size_t s = 0; s < batch.sequences(); ++s) {
    copy(tokens.slice(batch.begin(s), batch.length(s)),
         Matrix(texts.row(s), batch.length(s), tokens.cols));
  }
}
void take_tokens(const PackedBatch& batch, ConstMatrix texts, Matrix tokens) {
  for (size_t s = 0; s < batch.sequences(); ++s) {
    copy(ConstMatrix(texts.row(s), batch.length(s), tokens.cols),
         tokens.slice(batch.begin(s), batch.length(s)));
  }
}

class VectorLane : public Lane {
 public:
  VectorLane(const VectorNetwork& network, const Layout& layout, float* values, float* gradient,
             bool bf16)
      : network_(network),
        weights_(ModelWeights::view(layout, network.config(), values)),
        gradient_(ModelWeights::view(layout, network.config(), gradient)),
        encoder_(network.config(), weights_, bf16),
        token_layers_(network.task().token_layers, layout, values, gradient),
        dense_(network.task().dense, layout, values, gradient) {}

  void vectors(const TrainingBatch& part, const Pass& pass, Matrix out) override {
    const DropoutRates& rates = network_.heads()[0].dropout;
    const DropoutPlan dropout{rates.hidden, rates.attention, 0, pass.key, pass.token_0};
    part_ = part;  // its tokens must live until the way back
    key_ = pass.key;
    first_ = pass.sequence_0;
    hidden_ = encoder_.forward(part_.batch, pass.learns ? dropout : DropoutPlan());
    const ConstMatrix states = states_ = token_layers_.forward(hidden_);
    ConstMatrix x = dense_.forward(of_tokens() ? states : pooled(states));
    if (network_.task().normalize) {
      const Matrix unit = unit_.matrix(x.rows, x.cols);
      nn::unit_forward(x, unit, lengths_.matrix(x.rows, 1));
      x = unit;
    }
    if (of_tokens()) {
      give_tokens(part_.batch, x, out);
    } else {
      copy(x, out);
    }
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override {
    // The last pass of vectors() may be this one.
    if (key_ != pass.key || first_ != pass.sequence_0 || part_.sequences() != part.sequences()) {
      vectors(part, pass, again_.matrix(pass.d_vectors.rows, pass.d_vectors.cols));
    }
    Matrix d = pass.d_vectors;
    if (of_tokens()) {
      d = d_tokens_.matrix(hidden_.rows, network_.width());
      take_tokens(part_.batch, pass.d_vectors, d);
    }
    if (network_.task().normalize) {
      const Matrix d_x = d_unit_.zeros(d.rows, d.cols);
      nn::unit_backward(unit_.matrix(d.rows, d.cols), lengths_.matrix(d.rows, 1), d, d_x);
      d = d_x;
    }
    pass.turn.reach(kHeadStage);
    d = dense_.backward(d);
    d = token_layers_.backward(of_tokens() ? d : unpooled(d));
    encoder_.backward(d, gradient_, pass.lowest, pass.turn);
    Tally tally;
    tally.input_tokens = part.batch.tokens();
    return tally;
  }

 private:
  bool of_tokens() const { return network_.task().longest > 0; }
  ConstMatrix tokens(size_t s) const {
    return states_.slice(part_.batch.begin(s), part_.batch.length(s));
  }
  size_t begin(size_t s) const {
    return part_.starts.empty() ? 0 : static_cast<size_t>(part_.starts[s]);
  }

  /// states [T, F] -> [S, F poolings]
  Matrix pooled(ConstMatrix states) {
    const auto& poolings = network_.task().poolings;
    const size_t width = states.cols;
    const Matrix pooled = pooled_.matrix(part_.batch.sequences(), width * poolings.size());
    for (size_t s = 0; s < pooled.rows; ++s) {
      for (size_t i = 0; i < poolings.size(); ++i) {
        pool(poolings[i], tokens(s), {pooled.row(s) + i * width, width}, begin(s));
      }
    }
    return pooled;
  }
  Matrix unpooled(ConstMatrix d) {
    const auto& poolings = network_.task().poolings;
    const size_t width = states_.cols;
    const Matrix d_states = d_states_.zeros(states_.rows, width);
    for (size_t s = 0; s < d.rows; ++s) {
      const Matrix to = d_states.slice(part_.batch.begin(s), part_.batch.length(s));
      for (size_t i = 0; i < poolings.size(); ++i) {
        pool_backward(poolings[i], tokens(s), d.row(s) + i * width, begin(s), to);
      }
    }
    return d_states;
  }

  const VectorNetwork& network_;
  const ModelWeights weights_, gradient_;
  Encoder encoder_;
  ModuleStack token_layers_, dense_;
  TrainingBatch part_;  ///< what the last vectors() read
  uint64_t key_ = 0;
  size_t first_ = SIZE_MAX;
  ConstMatrix hidden_, states_;
  Buffer pooled_, unit_, lengths_, again_, d_tokens_, d_unit_, d_states_;
};

}  // namespace

size_t VectorTask::width(size_t hidden_size) const {
  if (!dense.empty()) return dense.back().layer.out_features;
  const size_t features =
      token_layers.empty() ? hidden_size : token_layers.back().layer.out_features;
  return features * std::max<size_t>(poolings.size(), 1);
}

VectorNetwork::VectorNetwork(HeadPlan trunk, VectorTask task, bool bf16)
    : BertNetwork({std::move(trunk)}, bf16), task_(std::move(task)) {}

Layout VectorNetwork::layout() const {
  Layout layout = BertNetwork::layout();
  const auto depth = static_cast<int32_t>(config().stored_layers()) + 1;
  for (const auto* modules : {&task_.token_layers, &task_.dense}) {
    for (TensorSpec& spec : module_tensors(*modules, depth)) layout.add(std::move(spec));
  }
  return layout;
}

std::unique_ptr<Lane> VectorNetwork::lane(const Layout& layout, float* values,
                                          float* gradient) const {
  return std::make_unique<VectorLane>(*this, layout, values, gradient, bf16());
}

std::vector<FileTensor> VectorNetwork::file_tensors(const Layout& layout) const {
  std::vector<FileTensor> tensors = BertNetwork::file_tensors(layout);
  std::erase_if(tensors, [](const FileTensor& t) { return is_module_tensor(t.name); });
  return tensors;
}

std::vector<FileTensor> VectorNetwork::checkpoint_tensors(const Layout& layout) const {
  std::vector<FileTensor> tensors = BertNetwork::checkpoint_tensors(layout);
  std::erase_if(tensors, [](const FileTensor& t) { return is_module_tensor(t.name); });
  for (const Parameter& p : layout.parameters()) {
    if (is_module_tensor(p.name)) tensors.push_back({p.name, p.shape, {{p.offset, p.size}}});
  }
  return tensors;
}

std::vector<Network::OtherFile> VectorNetwork::other_files(const Layout& layout) const {
  std::vector<OtherFile> files;
  for (const auto* modules : {&task_.token_layers, &task_.dense}) {
    for (const ModulePlan& plan : *modules) {
      files.push_back({plan.folder + "/" + std::string(file_names::kSafetensors),
                       module_file_tensors(plan, layout)});
    }
  }
  return files;
}

Tally VectorNetwork::count(const TrainingBatch& batch) const {
  const size_t texts = batch.texts.empty() ? batch.sequences() : batch.texts.size();
  Tally tally;
  tally.sequences = tally.labelled =
      static_cast<double>(texts) / static_cast<double>(task_.loss.columns);
  return tally;
}

Tally VectorNetwork::judge(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const {
  if (task_.longest > 0) return judge_tokens(batch, vectors, gradient);
  if (batch.texts.empty()) return judge_texts(batch, vectors, gradient);
  Buffer all, d_all;
  const size_t count = batch.texts.size();
  const Matrix x = all.matrix(count, vectors.cols);
  const Matrix d = gradient.data ? d_all.zeros(count, vectors.cols) : Matrix();
  for (size_t i = 0; i < count; ++i) {
    copy(vectors.slice(static_cast<size_t>(batch.texts[i]), 1), x.slice(i, 1));
  }
  const Tally tally = judge_texts(batch, x, d);
  for (size_t i = 0; d.data && i < count; ++i) {
    add(d.slice(i, 1), gradient.slice(static_cast<size_t>(batch.texts[i]), 1));
  }
  return tally;
}

void VectorNetwork::gather(const TrainingBatch& batch, ConstMatrix vectors, Tokens& tokens) const {
  const PackedBatch& packed = batch.batch;
  tokens.ends.assign(1, 0);
  tokens.rows.clear();
  for (size_t s = 0; s < packed.sequences(); ++s) {
    for (size_t t = packed.begin(s); t < packed.begin(s) + packed.length(s); ++t) {
      if (batch.token_labels.empty() || batch.token_labels[t] != 0) tokens.rows.push_back(t);
    }
    tokens.ends.push_back(tokens.rows.size());
  }
  const size_t width = this->width();
  tokens.x = tokens.buffer.matrix(tokens.rows.size(), width);
  for (size_t s = 0; s < packed.sequences(); ++s) {
    for (size_t i = tokens.ends[s]; i < tokens.ends[s + 1]; ++i) {
      const float* from = vectors.row(s) + (tokens.rows[i] - packed.begin(s)) * width;
      std::copy_n(from, width, tokens.x.row(i));
    }
  }
}

Tally VectorNetwork::judge_tokens(const TrainingBatch& batch, ConstMatrix vectors,
                                  Matrix gradient) const {
  Tally tally = count(batch);
  Tokens tokens;
  gather(batch, vectors, tokens);
  Buffer buffer;
  nn::MaxSimBuffers buffers;
  const Matrix d = gradient.data ? buffer.zeros(tokens.x.rows, tokens.x.cols) : Matrix();
  const double loss =
      nn::maxsim_loss(task_.loss, tokens.x, tokens.ends, 1, d, tally.sequences_right, buffers);
  tally.sequence_loss = loss * tally.sequences;
  for (size_t s = 0; d.data && s < vectors.rows; ++s) {
    for (size_t i = tokens.ends[s]; i < tokens.ends[s + 1]; ++i) {
      const size_t place = tokens.rows[i] - batch.batch.begin(s);
      add(d.slice(i, 1), {gradient.row(s) + place * d.cols, 1, d.cols});
    }
  }
  return tally;
}

Tally VectorNetwork::judge_texts(const TrainingBatch& batch, ConstMatrix vectors,
                                 Matrix gradient) const {
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
