#include "encoder/model.h"

#include <algorithm>

#include "encoder/batch_check.h"
#include "encoder/embedding.h"
#include "encoder/input_factors.h"
#include "encoder/layer.h"
#include "encoder/position_bias.h"

namespace bert {

struct Model::State {
  std::string directory;
  Config config;
  Weights weights;
  Precision precision;
  std::vector<float> position_bias;  // [A, 2P - 1], or empty
  Embedding embedding;
  std::vector<Layer> layers;
  Linear pooler;
};

Model::Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const std::string& directory, std::optional<Precision> wanted,
                  const HeadChoice& head, bool many_rows) {
  return make(directory, Checkpoint::open(directory, head), wanted, many_rows);
}

Model Model::of(Checkpoint checkpoint) {
  return make("", std::move(checkpoint), Precision::f32, false);
}

Model Model::make(const std::string& directory, Checkpoint checkpoint,
                  std::optional<Precision> wanted, bool many_rows) {
  auto& [config, weights, name] = checkpoint;
  Precision precision = wanted.value_or(weights.precision());
  const Precision encoder = precision == Precision::f32 ? Precision::split : precision;
  if (many_rows) precision = encoder;
  if (encoder == Precision::int8 && weights.precision() != Precision::int8) {
    weights.use_input_factors(input_factors(directory, name));
  }
  Embedding embedding = Embedding::load(config, weights, encoder);
  std::vector<float> bias = load_position_bias(config, weights);
  const size_t heads = config.num_attention_heads, distances = bias.size() / heads;
  const ConstMatrix position_bias(bias.empty() ? nullptr : bias.data(), heads, distances);
  std::vector<Layer> layers;
  for (size_t i = 0; i < config.num_hidden_layers; ++i) {
    layers.push_back(Layer::load(config, weights, i, encoder, position_bias));
  }
  Linear pooler;
  if (weights.find(Role::pooler)) {
    // The pooler is one row a sequence and feeds decisions: it stays f32 in every precision.
    pooler = weights.linear(config, Role::pooler, Precision::f32);
  }
  Model model;
  model.state_.reset(new State{directory, std::move(config), std::move(weights), precision,
                               std::move(bias), std::move(embedding), std::move(layers),
                               std::move(pooler)});
  return model;
}

const Config& Model::config() const { return state_->config; }
const Weights& Model::weights() const { return state_->weights; }
Precision Model::precision() const { return state_->precision; }
const std::string& Model::directory() const { return state_->directory; }
bool Model::has_pooler() const { return static_cast<bool>(state_->pooler); }
void Model::word_vector(int32_t id, std::span<float> out) const {
  state_->embedding.word_vector(id, out);
}

Matrix Model::forward(const PackedBatch& batch, Workspace& workspace,
                      const ForwardOptions& options) const {
  check_batch(batch, state_->config);
  const Matrix hidden =
      workspace.hidden.matrix(batch.tokens(), state_->config.hidden_size);  // [T, H]
  state_->embedding(batch, hidden, workspace.embedding, workspace.linear);
  const Trace* trace = options.trace.request.empty() ? nullptr : &options.trace;
  LayerTrace(trace, 0).show(Traced::hidden, hidden);
  const size_t last = std::min(options.last_layer, state_->layers.size());
  for (size_t i = 0; i < last; ++i) {
    state_->layers[i].forward(batch, hidden, workspace, LayerTrace(trace, i + 1));
  }
  return hidden;
}

Matrix Model::forward_rows(const PackedBatch& batch, std::span<const size_t> rows,
                           Workspace& workspace) const {
  check_batch(batch, state_->config);
  const Matrix hidden =
      workspace.hidden.matrix(batch.tokens(), state_->config.hidden_size);  // [T, H]
  state_->embedding(batch, hidden, workspace.embedding, workspace.linear);
  if (state_->layers.empty()) return keep_rows(hidden, rows);
  workspace.alike.find(batch);
  for (size_t i = 0; i + 1 < state_->layers.size(); ++i) {
    const bool share = i == 0 && workspace.alike.many() && !state_->embedding.has_padding(batch);
    state_->layers[i].forward(batch, hidden, workspace, {}, share ? &workspace.alike : nullptr);
  }
  return state_->layers.back().forward_rows(batch, hidden, rows, workspace);
}

Matrix gather_first_tokens(const PackedBatch& batch, ConstMatrix hidden, Buffer& buffer) {
  const Matrix first = buffer.matrix(batch.sequences(), hidden.cols);  // [S, H]
  for (size_t s = 0; s < batch.sequences(); ++s) {
    std::copy_n(hidden.row(batch.begin(s)), hidden.cols, first.row(s));
  }
  return first;
}

Matrix Model::pooled_output(const PackedBatch& batch, ConstMatrix hidden,
                            Workspace& workspace) const {
  const Matrix first = gather_first_tokens(batch, hidden, workspace.rows);        // [S, H]
  const Matrix pooled = workspace.pooled.matrix(batch.sequences(), hidden.cols);  // [S, H]
  state_->pooler(first, pooled, Activation::tanh, workspace.linear);
  return pooled;
}

}  // namespace bert
