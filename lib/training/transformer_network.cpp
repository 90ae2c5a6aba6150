#include "training/transformer_network.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/embedding_gradient.h"
#include "nn/positions.h"
#include "training/encoder.h"

namespace bert::training {
namespace {

// Sites of dropout within a layer.
enum Site : uint64_t { kProbabilities, kAttention, kCrossProbabilities, kCross, kNet, kEmbedding };

/// What the layout calls a tensor of a half.
std::string name_of(const Seq2SeqConfig& config, bool decoder, Role role, Part part) {
  return seq2seq_file_name(config, decoder, tensor_name(role, part));
}

/// The tensor of the output layer.
Role output_table(const Seq2SeqConfig& config) {
  return config.decoder.tie_word_embeddings ? Role::word_embeddings : Role::mlm_decoder;
}

/// One half: word vectors and layers.
struct HalfWeights {
  Matrix words;  ///< [V, H]
  std::vector<LayerWeights> layers;

  HalfWeights(const Layout& layout, const Seq2SeqConfig& config, bool decoder, float* base) {
    const Config& half = decoder ? config.decoder : config.encoder;
    const RoleView view(
        [&](const std::string& name) {
          return layout.find(seq2seq_file_name(config, decoder, name));
        },
        base);
    words = view.matrix(Role::word_embeddings);
    for (size_t l = 0; l < half.num_hidden_layers; ++l) layers.push_back(view.layer(l));
  }
};

/// The layers of one half and what they keep for the way back.
class Half {
 public:
  Half(const TransformerPlan& plan, bool decoder, HalfWeights weights, HalfWeights gradient,
       SublayerScratch& scratch)
      : plan_(plan),
        config_(decoder ? plan.config.decoder : plan.config.encoder),
        first_site_(decoder ? plan.config.encoder.num_hidden_layers + 1 : 0),
        weights_(std::move(weights)),
        gradient_(std::move(gradient)),
        scratch_(scratch),
        positions_(config_.hidden_size, nn::SinusoidOrder::halves),
        layers_(weights_.layers.size()) {}

  /// The last layer's states [T, H] of tokens `ids`. A decoder has the states of its sources; their
  /// tokens are those of `source`. The arguments must live until backward().
  Matrix forward(std::span<const int32_t> ids, std::span<const size_t> cu, ConstMatrix states,
                 std::span<const size_t> source, const Pass& pass);
  /// Adds to the gradient, and to d_states, from d [T, H], which it overwrites.
  void backward(Matrix d, Matrix d_states);

 private:
  struct LayerKept {
    AttentionSublayer attention, cross;
    FeedForwardSublayer net;
    Matrix input, attended, crossed;  ///< [T, H]
  };

  bool decodes() const { return states_.data != nullptr; }
  nn::Dropout dropout_at(float rate, size_t layer, Site site) const {
    const uint64_t key = mix(pass_.key, (first_site_ + layer) * 16 + site);
    return {pass_.learns ? rate : 0, key, decodes() ? pass_.target_0 : pass_.token_0};
  }
  SublayerForm form() const {
    return {{config_.layer_norm_eps}, NormPlace::after, config_.hidden_act};
  }
  /// The plans of layer `l`, from 1.
  nn::AttentionPlan self_plan(size_t l) const {
    return {
        cu_,          cu_, config_.num_attention_heads, decodes(), probabilities(l, kProbabilities),
        scratch_.bf16};
  }
  nn::AttentionPlan cross_plan(size_t l) const {
    return {cu_,
            source_,
            config_.num_attention_heads,
            false,
            probabilities(l, kCrossProbabilities),
            scratch_.bf16};
  }
  nn::Dropout probabilities(size_t l, Site site) const {
    return dropout_at(plan_.dropout.attention, l, site);
  }
  nn::Dropout hidden(size_t l, Site site) const {
    return dropout_at(plan_.dropout.hidden, l, site);
  }
  Matrix embed();
  void embed_backward(Matrix d);

  const TransformerPlan& plan_;
  const Config& config_;
  const size_t first_site_;
  const HalfWeights weights_, gradient_;
  SublayerScratch& scratch_;
  const nn::Sinusoids positions_;
  std::vector<LayerKept> layers_;
  Buffer embedded_;
  std::span<const int32_t> ids_;
  std::span<const size_t> cu_, source_;
  ConstMatrix states_;
  Pass pass_;
};

Matrix Half::embed() {
  const Matrix x = embedded_.matrix(ids_.size(), config_.hidden_size);  // [T, H]
  for (size_t t = 0; t < x.rows; ++t) {
    const float* word = weights_.words.row(static_cast<size_t>(ids_[t]));
    for (size_t i = 0; i < x.cols; ++i) x.row(t)[i] = word[i] * config_.embedding_scale;
  }
  for (size_t s = 0; s + 1 < cu_.size(); ++s) {
    positions_.add(0, x.slice(cu_[s], cu_[s + 1] - cu_[s]));
  }
  dropout(hidden(0, kEmbedding), x);
  return x;
}

Matrix Half::forward(std::span<const int32_t> ids, std::span<const size_t> cu, ConstMatrix states,
                     std::span<const size_t> source, const Pass& pass) {
  ids_ = ids;
  cu_ = cu;
  states_ = states;
  source_ = source;
  pass_ = pass;
  Matrix x = embed();
  const SublayerForm form = this->form();
  for (size_t l = 0; l < layers_.size(); ++l) {
    const LayerWeights& w = weights_.layers[l];
    LayerKept& layer = layers_[l];
    layer.input = x;
    layer.attended = layer.attention.forward(w.attention, self_plan(l + 1), form,
                                             hidden(l + 1, kAttention), x, x, scratch_);
    layer.crossed = layer.attended;
    if (decodes()) {
      layer.crossed = layer.cross.forward(w.cross, cross_plan(l + 1), form, hidden(l + 1, kCross),
                                          layer.attended, states_, scratch_);
    }
    x = layer.net.forward(w.net, form, hidden(l + 1, kNet), layer.crossed, scratch_);
  }
  return x;
}

void Half::backward(Matrix d, Matrix d_states) {
  const SublayerForm form = this->form();
  for (size_t l = layers_.size(); l-- > 0;) {
    const LayerWeights &w = weights_.layers[l], &g = gradient_.layers[l];
    LayerKept& layer = layers_[l];
    layer.net.backward(w.net, form, hidden(l + 1, kNet), layer.crossed, d, g.net, scratch_);
    if (decodes()) {
      layer.cross.backward(w.cross, cross_plan(l + 1), form, hidden(l + 1, kCross), layer.attended,
                           states_, d, d_states, g.cross, scratch_);
    }
    layer.attention.backward(w.attention, self_plan(l + 1), form, hidden(l + 1, kAttention),
                             layer.input, layer.input, d, {}, g.attention, scratch_);
  }
  embed_backward(d);
}

void Half::embed_backward(Matrix d) {
  dropout(hidden(0, kEmbedding), d);
  for (size_t t = 0; t < d.rows; ++t) {
    for (size_t i = 0; i < d.cols; ++i) d.row(t)[i] *= config_.embedding_scale;
  }
  nn::embedding_backward(ids_, d, gradient_.words, config_.pad_token_id);
}

class TransformerLane : public Lane {
 public:
  TransformerLane(const TransformerPlan& plan, const Layout& layout, float* values, float* gradient)
      : plan_(plan),
        encoder_(plan, false, {layout, plan.config, false, values},
                 {layout, plan.config, false, gradient}, scratch_),
        decoder_(plan, true, {layout, plan.config, true, values},
                 {layout, plan.config, true, gradient}, scratch_) {
    const Role table = output_table(plan.config);
    const auto word = name_of(plan.config, true, table, Part::weight);
    const auto bias = name_of(plan.config, true, Role::mlm_bias, Part::bias);
    output_ = {layout.matrix(word, values), layout.matrix(bias, values).data};
    d_output_ = {layout.matrix(word, gradient), nullptr};  // the bias is no parameter
    if (plan.bf16) scratch_.bf16 = &products_;
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override {
    const PackedBatch& target = part.target;
    const Matrix states =
        encoder_.forward(part.batch.input_ids, part.batch.cu_seq_lens, {}, {}, pass);
    inputs_ = shifted(target, plan_.target.start);
    Matrix hidden = decode(part, states, pass);
    if (pass.learns && plan_.target.teacher_forcing < 1) {
      while (read_own_words(target, hidden, pass)) hidden = decode(part, states, pass);
    }
    const Matrix d_hidden = d_hidden_.matrix(hidden.rows, hidden.cols);
    Tally tally = loss_.learn(output_, hidden, target, plan_.target, pass, d_output_, d_hidden);
    tally.input_tokens = part.batch.tokens() + target.tokens();
    if (!pass.learns) return tally;
    const Matrix d_states = d_states_.matrix(states.rows, states.cols);
    for (size_t t = 0; t < d_states.rows; ++t) std::fill_n(d_states.row(t), d_states.cols, 0.f);
    decoder_.backward(d_hidden, d_states);
    encoder_.backward(d_states, {});
    return tally;
  }

 private:
  Matrix decode(const TrainingBatch& part, ConstMatrix states, const Pass& pass) {
    return decoder_.forward(inputs_, part.target.cu_seq_lens, states, part.batch.cu_seq_lens, pass);
  }
  /// Replaces inputs by the decoder's own words, where those are to be read. False if this changes
  /// no input. Word t depends on inputs up to t only, so each call settles at least one more place.
  bool read_own_words(const PackedBatch& target, ConstMatrix hidden, const Pass& pass) {
    loss_.own_words(output_, hidden, words_);
    bool changed = false;
    for (size_t s = 0; s < target.sequences(); ++s) {
      for (size_t t = target.begin(s) + 1; t < target.begin(s) + target.length(s); ++t) {
        if (!reads_own_word(plan_.target, pass, t) || inputs_[t] == words_[t - 1]) continue;
        inputs_[t] = words_[t - 1];
        changed = true;
      }
    }
    return changed;
  }

  const TransformerPlan& plan_;
  SublayerScratch scratch_;
  Half encoder_, decoder_;
  nn::LinearWeights output_, d_output_;
  TargetLoss loss_;
  std::vector<int32_t> inputs_, words_;
  Buffer d_hidden_, d_states_;
  nn::Bf16Products products_;
};

}  // namespace

TransformerNetwork::TransformerNetwork(TransformerPlan plan) : plan_(std::move(plan)) {
  const Seq2SeqConfig& config = plan_.config;
  if (config.kind == Seq2SeqKind::marian) return;
  throw Error(Error::Kind::unsupported, config.path,
              "found an encoder-decoder of two models, which can be run but not trained yet, wants "
              "a model of Marian");
}

Layout TransformerNetwork::layout() const {
  const Seq2SeqConfig& config = plan_.config;
  std::vector<TensorSpec> all;
  for (const bool decoder : {false, true}) {
    for (TensorSpec& spec : trunk_tensors(decoder ? config.decoder : config.encoder)) {
      if (spec.role == Role::position_embeddings) continue;  // sinusoids
      spec.name = seq2seq_file_name(config, decoder, spec.name);
      if (decoder && spec.depth > 0) {
        spec.depth += static_cast<int32_t>(config.encoder.num_hidden_layers);
      }
      all.push_back(std::move(spec));
    }
  }
  if (!config.decoder.tie_word_embeddings) {
    all.push_back(tensor_spec(config.decoder, Role::mlm_decoder));
    all.back().name = name_of(config, true, Role::mlm_decoder, Part::weight);
  }
  TensorSpec bias = tensor_spec(config.decoder, Role::mlm_bias, Part::bias);
  bias.name = name_of(config, true, Role::mlm_bias, Part::bias);
  bias.shape.insert(bias.shape.begin(), 1);  // as transformers has it
  const std::string frozen = bias.name;
  all.push_back(std::move(bias));
  Layout layout(std::move(all));
  for (Parameter& p : layout.parameters()) {
    if (p.name == frozen) p.rate_scale = 0;
  }
  return layout;
}

void TransformerNetwork::load(const Weights& encoder, const Weights& decoder, const Layout& layout,
                              float* base) const {
  const Seq2SeqConfig& config = plan_.config;
  const auto copy = [&](bool of_decoder, const TensorSpec& spec) {
    const Weights& weights = of_decoder ? decoder : encoder;
    const Parameter* p = layout.find(seq2seq_file_name(config, of_decoder, spec.name));
    if (!p) return;
    const std::vector<float> values = weights.floats(spec);
    std::copy(values.begin(), values.end(), base + p->offset);
  };
  for (const TensorSpec& spec : encoder_tensors(config.encoder)) copy(false, spec);
  for (const TensorSpec& spec : encoder_tensors(config.decoder)) copy(true, spec);
  if (!config.decoder.tie_word_embeddings) {
    copy(true, tensor_spec(config.decoder, Role::mlm_decoder));
  }
  const TensorSpec bias = tensor_spec(config.decoder, Role::mlm_bias, Part::bias);
  if (decoder.find(bias.name)) copy(true, bias);
}

std::unique_ptr<Lane> TransformerNetwork::lane(const Layout& layout, float* values,
                                               float* gradient) const {
  return std::make_unique<TransformerLane>(plan_, layout, values, gradient);
}

void TransformerNetwork::check(const TrainingBatch& batch) const {
  const Config &encoder = plan_.config.encoder, &decoder = plan_.config.decoder;
  check_targets(
      batch, {encoder.vocab_size, decoder.vocab_size, encoder.max_tokens(), decoder.max_tokens()},
      plan_.config.path);
}

/// Products grow with the tokens, attention with their square.
double TransformerNetwork::cost(const TrainingBatch& batch, size_t s) const {
  const auto n = static_cast<double>(batch.batch.length(s)),
             m = static_cast<double>(batch.target.length(s));
  const Config &e = plan_.config.encoder, &d = plan_.config.decoder;
  const auto layer = [](const Config& c, double attentions) {
    return attentions * 4 * static_cast<double>(c.hidden_size) +
           2 * static_cast<double>(c.intermediate_size);
  };
  return static_cast<double>(e.num_hidden_layers) * n * (layer(e, 1) + 2 * n) +
         static_cast<double>(d.num_hidden_layers) * m * (layer(d, 2) + 2 * n + 2 * m) +
         m * static_cast<double>(d.vocab_size);
}

size_t TransformerNetwork::pass_floats(size_t tokens, size_t longest) const {
  const auto half = [&](const Config& c, size_t attentions) {
    return c.num_hidden_layers * (attentions * (6 * c.hidden_size + c.num_attention_heads) +
                                  2 * c.intermediate_size + 2 * c.hidden_size);
  };
  const Config &e = plan_.config.encoder, &d = plan_.config.decoder;
  const size_t way_back = 9 * d.hidden_size + std::max(e.intermediate_size, d.intermediate_size);
  return tokens / 2 * (half(e, 1) + half(d, 2)) + tokens * way_back + 2 * longest * longest +
         std::min(TargetLoss::kRows, tokens) * d.vocab_size;
}

}  // namespace bert::training
