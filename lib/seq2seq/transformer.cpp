#include "seq2seq/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "encoder/model.h"
#include "heads/transform.h"
#include "io/safetensors.h"
#include "seq2seq/attention_collector.h"
#include "seq2seq/decoder_stack.h"
#include "seq2seq/halves.h"
#include "seq2seq/pair_cache.h"

namespace bert {
namespace {

constexpr size_t kTokensAtOnce = 512;  ///< tokens of sources that go through the encoder at once

/// The projection of the encoder's states to the decoder's width.
Linear load_projection(const Halves& halves, Precision precision) {
  const size_t out = halves.config.decoder.hidden_size, in = halves.config.encoder.hidden_size;
  const auto require = [&](const char* part, std::vector<size_t> shape) -> const TensorView& {
    const std::string name = std::string(kStatesProjection) + part;
    const TensorView* tensor = halves.find(name);
    if (tensor && tensor->shape == shape && is_float(tensor->dtype) && !tensor->blocked) {
      return *tensor;
    }
    throw Error(Error::Kind::data, halves.files.path,
                fmt::format("tensor {} is {}, wants floats of {}", name,
                            tensor ? shape_text(tensor->shape) : "missing", shape_text(shape)));
  };
  const TensorView& weight = require(".weight", {out, in});
  return Linear(WeightRef{weight.data, weight.dtype, out, in}, require(".bias", {out}).floats(),
                precision);
}

OutputLayer load_output(const Config& config, const Weights& weights, Precision precision) {
  const bool own = weights.find(Role::mlm_decoder) || !config.tie_word_embeddings;
  const TensorSpec spec = tensor_spec(config, own ? Role::mlm_decoder : Role::word_embeddings);
  std::vector<float> bias;
  if (weights.find(Role::mlm_bias, Part::bias)) {
    bias = weights.floats(tensor_spec(config, Role::mlm_bias, Part::bias));
  }
  return {weights.matrix(spec.name, spec.shape[0], spec.shape[1]), std::move(bias), precision};
}

}  // namespace

struct Transformer::State {
  Halves halves;  // its encoder's weights move to the encoder
  GenerationConfig generation;
  Precision precision = Precision::f32;
  std::optional<Model> encoder;
  Linear projection;  ///< projection [Hd, He] of the encoder's states, or none
  DecoderStack stack;
  HeadTransform transform;  ///< before the output layer, or none
  OutputLayer output;

  const Config& config() const { return halves.config.decoder; }
  size_t width() const { return config().hidden_size; }
  /// Encodes sources [first, last) of the batch, and reads them.
  std::shared_ptr<const SourcePairs> read(const PackedBatch& batch, size_t first, size_t last,
                                          Workspace& workspace) const;
  /// What the output layer reads of the last layer's states.
  void finish(ConstMatrix hidden, Matrix out, LinearScratch& scratch) const;
};

std::shared_ptr<const SourcePairs> Transformer::State::read(const PackedBatch& batch, size_t first,
                                                            size_t last,
                                                            Workspace& workspace) const {
  PackedBatch some;
  for (size_t s = first; s < last; ++s) {
    const std::vector<int32_t> types(batch.length(s), 0);
    some.append(std::span(batch.input_ids).subspan(batch.begin(s), batch.length(s)), types);
  }
  ConstMatrix states = encoder->forward(some, workspace);  // [T, He]
  Buffer projected;
  if (projection) {
    const Matrix to = projected.matrix(states.rows, width());
    projection(states, to, Activation::none, workspace.linear);
    states = to;
  }
  return stack.read(states, some.cu_seq_lens, workspace.linear);
}

void Transformer::State::finish(ConstMatrix hidden, Matrix out, LinearScratch& scratch) const {
  if (transform) return transform(hidden, out, scratch);
  copy(hidden, out);
  const float scale = halves.config.output_scale;
  if (scale == 1) return;
  for (size_t row = 0; row < out.rows; ++row) {
    for (float& value : std::span(out.row(row), out.cols)) value *= scale;
  }
}

/// Hypotheses whose keys and values are cached.
class Transformer::Cached : public Decoding {
 public:
  explicit Cached(const State& state)
      : state_(state), pair_(state.stack.pair_width()), cache_(state.stack.layers() * pair_) {}

  void add(const PackedBatch& sources) override;
  size_t rows() const override { return hypotheses_.size(); }
  void step(std::span<const int32_t> tokens, Matrix hidden) override;
  void select(std::span<const size_t> rows) override;
  void use_team(Team* team) override { workspace_.linear.team = scratch_.linear.team = team; }

 private:
  struct Hypothesis {
    std::shared_ptr<const SourcePairs> sources;
    size_t source = 0;  ///< number among these sources
    std::vector<uint32_t> slots;
  };
  /// Keys and values that the rows have made in `layer`.
  void keep(size_t layer, ConstMatrix pairs);

  const State& state_;
  const size_t pair_;  ///< 2AD
  PairCache cache_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<size_t> positions_;
  Workspace workspace_;  ///< buffers of the encoder
  Buffer hidden_, embedding_;
  DecoderScratch scratch_;
};

void Transformer::Cached::add(const PackedBatch& sources) {
  for (size_t first = 0; first < sources.sequences();) {
    size_t last = first + 1;
    while (last < sources.sequences() &&
           sources.cu_seq_lens[last + 1] - sources.begin(first) <= kTokensAtOnce) {
      ++last;
    }
    const auto made = state_.read(sources, first, last, workspace_);
    for (size_t s = 0; s < last - first; ++s) hypotheses_.push_back({made, s, {}});
    first = last;
  }
}

void Transformer::Cached::keep(size_t layer, ConstMatrix pairs) {
  for (size_t row = 0; row < pairs.rows; ++row) {
    std::copy_n(pairs.row(row), pair_, cache_.slot(hypotheses_[row].slots.back()) + layer * pair_);
  }
}

void Transformer::Cached::step(std::span<const int32_t> tokens, Matrix hidden) {
  positions_.resize(tokens.size());
  for (size_t row = 0; row < tokens.size(); ++row) {
    positions_[row] = hypotheses_[row].slots.size();
  }
  const Matrix states = hidden_.matrix(tokens.size(), state_.width());  // [R, H]
  state_.stack.embed(tokens, positions_, states, embedding_, scratch_.linear);
  for (Hypothesis& hypothesis : hypotheses_) hypothesis.slots.push_back(cache_.take());
  for (size_t l = 0; l < state_.stack.layers(); ++l) {
    DecoderLayer::Rows rows;
    rows.keep = [&](ConstMatrix pairs) { keep(l, pairs); };
    rows.own = [&](size_t row, std::vector<const float*>& keys) {
      for (const uint32_t slot : hypotheses_[row].slots) {
        keys.push_back(cache_.slot(slot) + l * pair_);
      }
    };
    rows.source = [&](size_t row, std::vector<const float*>& keys) {
      hypotheses_[row].sources->places(l, hypotheses_[row].source, keys);
    };
    state_.stack.run(l, states, rows, scratch_);
  }
  state_.stack.finish(states);
  state_.finish(states, hidden, scratch_.linear);
}

void Transformer::Cached::select(std::span<const size_t> rows) {
  std::vector<Hypothesis> chosen;
  chosen.reserve(rows.size());
  for (const size_t row : rows) {
    chosen.push_back(hypotheses_[row]);
    cache_.share(chosen.back().slots);
  }
  for (const Hypothesis& hypothesis : hypotheses_) cache_.release(hypothesis.slots);
  hypotheses_ = std::move(chosen);
}

Transformer::Transformer() : state_(std::make_unique<State>()) {}
Transformer::~Transformer() = default;

std::unique_ptr<Transformer> Transformer::open(const ModelDirectory& directory,
                                               std::optional<Precision> precision) {
  std::unique_ptr<Transformer> model(new Transformer);
  State& state = *model->state_;
  state.halves = Halves::open(directory);
  state.precision = precision.value_or(state.halves.decoder->precision());
  const Config& config = state.config();
  const Weights& weights = *state.halves.decoder;
  state.generation = directory.generation_config(config.max_tokens(), config.vocab_size);
  state.encoder = Model::of({state.halves.config.encoder, std::move(*state.halves.encoder), ""},
                            state.precision);
  if (state.halves.config.projects()) {
    state.projection = load_projection(state.halves, state.precision);
  }
  state.stack = DecoderStack::load(config, weights, state.precision);
  if (state.halves.config.transforms()) {
    state.transform = HeadTransform::load_mlm(config, weights, state.precision);
  }
  state.output = load_output(config, weights, state.precision);
  return model;
}

const GenerationConfig& Transformer::generation() const { return state_->generation; }
Precision Transformer::precision() const { return state_->precision; }
size_t Transformer::max_source_tokens() const { return state_->halves.config.encoder.max_tokens(); }
size_t Transformer::max_target_tokens() const { return state_->config().max_tokens(); }
size_t Transformer::source_vocab_size() const { return state_->halves.config.encoder.vocab_size; }
const OutputLayer& Transformer::output() const { return state_->output; }
size_t Transformer::attention_layers() const { return state_->stack.layers(); }
size_t Transformer::attention_heads() const { return state_->config().num_attention_heads; }
std::unique_ptr<Decoding> Transformer::start() const { return std::make_unique<Cached>(*state_); }
void Transformer::ablate(std::span<const HeadPlace> heads) {
  for (const auto& [layer, head] : heads) state_->stack.ablate(layer, head);
}
void Transformer::hold() const {
  for (MappedFile& file : state_->halves.files.files) file.hold();
}

const std::string& Transformer::path() const { return state_->halves.files.path; }
std::vector<NonFinite> Transformer::non_finite() const {
  return bert::non_finite(state_->halves.files);
}

void Transformer::teach(const PackedBatch& sources, const PackedBatch& targets, Matrix hidden,
                        Team* team, const AttentionTrace* trace) const {
  const State& state = *state_;
  Workspace workspace;
  DecoderScratch scratch;
  workspace.linear.team = scratch.linear.team = team;
  const auto made = state.read(sources, 0, sources.sequences(), workspace);
  Buffer buffer;
  const Matrix states = buffer.matrix(targets.tokens(), state.width());
  std::optional<AttentionCollector> collector;
  if (trace) collector.emplace(sources, targets, *trace, state.config().head_size());
  state.stack.teach(*made, targets, states, scratch, collector ? &*collector : nullptr);
  if (trace) collector->show();
  state.finish(states, hidden, scratch.linear);
}

}  // namespace bert
