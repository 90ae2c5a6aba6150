#include "encoder/model.h"

#include <algorithm>
#include <map>

#include "encoder/batch_check.h"
#include "encoder/convolution.h"
#include "encoder/embedding.h"
#include "encoder/input_factors.h"
#include "encoder/layer.h"
#include "encoder/position_bias.h"

namespace bert {

struct Model::State {
  ModelDirectory directory;
  Config config;
  std::optional<Weights> weights;  // there once the model is
  Precision precision = Precision::f32;
  std::unique_ptr<const AttentionBias> position_bias;
  std::vector<std::unique_ptr<const BucketBias>> layer_biases;  // of layers with a table
  std::unique_ptr<const RelativePositions> relative_positions;
  Embedding embedding;
  std::vector<Layer> layers;             // those that are stored: ALBERT's run several times
  std::vector<size_t> of_pass;           // [L] which of them each layer of a pass is
  std::vector<std::vector<size_t>> off;  // [L] heads that are off in each layer of a pass
  Convolution convolution;               // behind the first
  Norm final_norm;
  Linear pooler;
  std::unique_ptr<const StatesReader> reader;

  void load_layers(const Config& from, const Weights& tensors, Precision encoder);
  const Layer& layer(size_t index) const { return layers[of_pass[index]]; }
  /// Runs layer `index` of a pass: hidden [T, H] in place.
  void run(size_t index, const PackedBatch& batch, Matrix hidden, Workspace& workspace,
           const LayerTrace& trace, const AlikeTokens* alike = nullptr) const;
};

void Model::State::run(size_t index, const PackedBatch& batch, Matrix hidden, Workspace& workspace,
                       const LayerTrace& trace, const AlikeTokens* alike) const {
  const bool convolves = index == 0 && convolution;
  if (convolves) {
    const Matrix before = workspace.convolved.matrix(hidden.rows, hidden.cols);  // [T, H]
    std::copy_n(hidden.data, hidden.rows * hidden.cols, before.data);
  }
  layer(index).forward(batch, hidden, workspace,
                       {.trace = trace, .alike = alike, .off = off[index]});
  if (convolves) {
    const ConstMatrix before(workspace.convolved.data(), hidden.rows, hidden.cols);
    convolution(batch, before, hidden, workspace.windows, workspace.linear);
  }
  if (index + 1 == config.num_hidden_layers && final_norm) final_norm(hidden, hidden);
  trace.show(Traced::hidden, hidden);
}

Model::Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const ModelDirectory& directory, std::optional<Precision> wanted,
                  const HeadChoice& head, bool many_rows) {
  return make(directory, Checkpoint::open(directory, head), wanted, many_rows);
}

Model Model::of(Checkpoint checkpoint, std::optional<Precision> precision) {
  return make({}, std::move(checkpoint), precision, false);
}

Model Model::make(const ModelDirectory& directory, Checkpoint checkpoint,
                  std::optional<Precision> wanted, bool many_rows) {
  auto& [config, weights, name] = checkpoint;
  Precision precision = wanted.value_or(weights.precision());
  const Precision encoder = precision == Precision::f32 ? Precision::split : precision;
  if (many_rows) precision = encoder;
  if (!directory.empty() && encoder == Precision::int8 && weights.precision() != Precision::int8) {
    weights.use_input_factors(input_factors(directory, name));
  }
  auto state = std::make_unique<State>();
  state->embedding = Embedding::load(config, weights, encoder);
  state->position_bias = load_position_bias(config, weights);
  if (has_module(config, Role::relative_embeddings)) {
    state->relative_positions =
        std::make_unique<const RelativePositions>(RelativePositions::load(config, weights));
  }
  state->load_layers(config, weights, encoder);
  if (has_module(config, Role::convolution)) {
    state->convolution = Convolution::load(config, weights);
  }
  if (has_module(config, Role::final_norm)) {
    state->final_norm = Norm::load(config, weights, Role::final_norm);
  }
  if (weights.find(Role::pooler)) {
    // The pooler is one row a sequence and feeds decisions: it stays f32 in every precision.
    state->pooler = weights.linear(config, Role::pooler, Precision::f32);
  }
  state->directory = directory;
  state->precision = precision;
  state->config = std::move(config);
  state->weights.emplace(std::move(weights));
  Model model;
  model.state_ = std::move(state);
  return model;
}

void Model::State::load_layers(const Config& from, const Weights& tensors, Precision encoder) {
  LayerContext context{position_bias.get(), relative_positions.get()};
  std::map<size_t, size_t> places;  // of stored layers
  for (size_t i = 0; i < from.num_hidden_layers; ++i) {
    if (has_module(from, Role::distance_bias, i)) {
      layer_biases.push_back(
          std::make_unique<const BucketBias>(BucketBias::load(from, tensors, i)));
      context.bias = layer_biases.back().get();
    }
    const auto [place, is_new] = places.try_emplace(from.stored_layer(i), layers.size());
    if (is_new) layers.push_back(Layer::load(from, tensors, i, encoder, context));
    of_pass.push_back(place->second);
  }
  off.resize(of_pass.size());
}

void Model::ablate(std::span<const HeadPlace> heads) {
  for (const auto& [layer, head] : heads) {
    std::vector<size_t>& off = state_->off.at(layer);
    if (std::find(off.begin(), off.end(), head) == off.end()) off.push_back(head);
  }
}

void Model::read_with(std::unique_ptr<const StatesReader> reader) {
  state_->reader = std::move(reader);
}
bool Model::has_reader() const { return static_cast<bool>(state_->reader); }

const Config& Model::config() const { return state_->config; }
const Weights& Model::weights() const { return *state_->weights; }
Precision Model::precision() const { return state_->precision; }
const ModelDirectory& Model::directory() const { return state_->directory; }
bool Model::has_pooler() const { return state_->pooler || !state_->config.pooler_dense; }
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
  const size_t last = std::min(options.last_layer, state_->of_pass.size());
  for (size_t i = 0; i < last; ++i) {
    state_->run(i, batch, hidden, workspace, LayerTrace(trace, i + 1));
  }
  if (state_->of_pass.empty() && state_->final_norm) state_->final_norm(hidden, hidden);
  if (state_->reader && last == state_->of_pass.size()) {
    state_->reader->read(batch, hidden, workspace);
  }
  return hidden;
}

Matrix Model::forward_rows(const PackedBatch& batch, std::span<const size_t> rows,
                           Workspace& workspace) const {
  if (state_->reader) return keep_rows(forward(batch, workspace), rows);
  check_batch(batch, state_->config);
  const Matrix hidden =
      workspace.hidden.matrix(batch.tokens(), state_->config.hidden_size);  // [T, H]
  state_->embedding(batch, hidden, workspace.embedding, workspace.linear);
  const size_t layers = state_->of_pass.size();
  if (layers == 0 && state_->final_norm) state_->final_norm(hidden, hidden);
  // A convolution behind the last layer would read its other rows.
  const size_t whole = layers == 0 || (layers == 1 && state_->convolution) ? layers : layers - 1;
  workspace.alike.find(batch);
  for (size_t i = 0; i < whole; ++i) {
    const bool share = i == 0 && workspace.alike.many() && state_->embedding.is_plain(batch);
    state_->run(i, batch, hidden, workspace, {}, share ? &workspace.alike : nullptr);
  }
  if (whole == layers) return keep_rows(hidden, rows);
  const Matrix kept = state_->layer(whole).forward_rows(batch, hidden, rows, workspace,
                                                        {.off = state_->off[whole]});
  if (state_->final_norm) state_->final_norm(kept, kept);
  return kept;
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
  const Matrix first = gather_first_tokens(batch, hidden, workspace.rows);  // [S, H]
  if (!state_->pooler) return first;
  const Matrix pooled = workspace.pooled.matrix(batch.sequences(), hidden.cols);  // [S, H]
  state_->pooler(first, pooled, state_->config.pooler_act, workspace.linear);
  return pooled;
}

}  // namespace bert
