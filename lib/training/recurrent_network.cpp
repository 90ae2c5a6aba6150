#include "training/recurrent_network.h"

#include <algorithm>

#include "base/random.h"
#include "nn/embedding_gradient.h"
#include "nn/recurrent_decoder.h"

namespace bert::training {
namespace {

using namespace recurrent_names;

/// Sites of dropout and of other draws.
enum Site : uint64_t { kSourceEmbedding, kTargetEmbedding, kOutputs };

/// All tensors of a pair in one of its arrays.
struct PairWeights {
  Matrix source_words, target_words;
  std::vector<nn::CellWeights> encoder, decoder;
  nn::ScoreWeights score;
  nn::LinearWeights output;

  PairWeights(const RecurrentConfig& config, const Layout& layout, float* base)
      : source_words(layout.matrix(kSourceWords, base)),
        target_words(layout.matrix(kTargetWords, base)) {
    const auto cell = [&](std::string_view module, size_t layer, bool reverse) {
      const CellNames names = CellNames::of(module, layer, reverse);
      const auto at = [&](const std::string& name) { return layout.matrix(name, base); };
      return nn::CellWeights{{at(names.weight_ih), at(names.bias_ih).data},
                             {at(names.weight_hh), at(names.bias_hh).data}};
    };
    for (size_t l = 0; l < config.num_layers; ++l) {
      for (size_t d = 0; d < config.directions(); ++d) encoder.push_back(cell(kEncoder, l, d == 1));
      decoder.push_back(cell(kDecoder, l, false));
    }
    score.query.weight = layout.matrix(kQuery, base);
    score.key.weight = layout.matrix(kKey, base);
    score.v = layout.matrix(kScore, base).data;
    output = {layout.matrix(kOutput, base), layout.matrix(kOutputBias, base).data};
  }
  nn::RecurrentDecoderWeights decoder_weights() const { return {decoder, score}; }
};

std::optional<nn::Score> score_of(RecurrentAttention attention) {
  if (attention == RecurrentAttention::none) return std::nullopt;
  return attention == RecurrentAttention::dot ? nn::Score::dot : nn::Score::additive;
}

/// A state [S, H] for each layer of the decoder; the encoder's directions write their columns.
struct States {
  std::vector<Buffer> buffers;
  std::vector<nn::RecurrentState> decoder, encoder;

  void begin(const RecurrentConfig& config, size_t sequences) {
    const bool has_memory = config.cell == Cell::lstm;
    buffers.resize(2 * config.num_layers);
    decoder.clear();
    encoder.clear();
    for (size_t l = 0; l < config.num_layers; ++l) {
      const auto make = [&](Buffer& buffer) {
        return buffer.matrix(sequences, config.hidden_size);
      };
      decoder.push_back({make(buffers[2 * l]), has_memory ? make(buffers[2 * l + 1]) : Matrix()});
      const size_t width = config.encoder_hidden_size();
      for (size_t d = 0; d < config.directions(); ++d) {
        const auto part = [&](Matrix m) {
          return m.data ? Matrix(m.data + d * width, m.rows, width, m.stride) : m;
        };
        encoder.push_back({part(decoder[l].hidden), part(decoder[l].memory)});
      }
    }
  }
};

class RecurrentLane : public Lane {
 public:
  RecurrentLane(const RecurrentConfig& config, const RecurrentTraining& training,
                const Layout& layout, float* values, float* gradient)
      : config_(config),
        training_(training),
        plan_{config.decoder_start_token_id, static_cast<float>(training.label_smoothing),
              training.teacher_forcing, training.unknown},
        weights_(config, layout, values),
        gradient_(config, layout, gradient),
        encoder_({config.cell, config.embedding_size, config.encoder_hidden_size(),
                  config.num_layers, config.bidirectional}),
        decoder_({config.cell, config.embedding_size + config.context_size(), config.hidden_size,
                  config.num_layers},
                 score_of(config.attention)) {
    for (const nn::CellWeights& w : weights_.encoder) products_.push_back(nn::CellProducts::of(w));
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override;

 private:
  nn::Dropout dropout(const Pass& pass, Site site) const {
    return {pass.learns ? static_cast<float>(training_.dropout) : 0, mix(pass.key, site),
            site == kSourceEmbedding ? pass.token_0 : pass.target_0};
  }
  /// Dropout of rows in time-major order, the first of which is row `first`.
  void drop_targets(const Pass& pass, Site site, size_t first, Matrix rows) const {
    const nn::Dropout drop = dropout(pass, site);
    if (!drop.active()) return;
    const auto tokens = decoder_.time().token_of().subspan(first);
    for (size_t r = 0; r < rows.rows; ++r) {
      nn::dropout_row(drop, drop.row_0 + tokens[r], rows.row(r), rows.cols);
    }
  }
  ConstMatrix keys(const PackedBatch& source) const {
    return {keys_.data(), source.tokens(), config_.hidden_size};
  }
  /// Whether the decoder may read its own words.
  bool samples(const Pass& pass) const { return pass.learns && plan_.teacher_forcing < 1; }
  void encode(const PackedBatch& source, const Pass& pass);
  void decode(const TrainingBatch& part, const Pass& pass);
  int32_t input_of(const PackedBatch& target, const Pass& pass, size_t step, size_t row) const;
  Tally losses(const PackedBatch& target, const Pass& pass, Matrix d_hidden);

  const RecurrentConfig& config_;
  const RecurrentTraining& training_;
  const TargetPlan plan_;
  const PairWeights weights_, gradient_;
  nn::RecurrentStack encoder_;
  nn::RecurrentDecoder decoder_;
  std::vector<nn::CellProducts> products_;
  States states_, d_states_;
  Buffer source_rows_, keys_, d_keys_, d_source_rows_, outputs_, d_outputs_, d_hidden_,
      d_target_rows_;
  TargetLoss loss_;
  std::vector<int32_t> inputs_;     ///< [T] in time-major order: what the decoder read
  std::vector<int32_t> likeliest_;  ///< [B]: what it would have written at the step before
};

void RecurrentLane::encode(const PackedBatch& source, const Pass& pass) {
  const Matrix x = source_rows_.matrix(source.tokens(), config_.embedding_size);  // [Ts, E]
  std::fill_n(x.data, x.rows * x.cols, 0.f);
  nn::embedding_forward(weights_.source_words, source.input_ids, x);
  nn::dropout(dropout(pass, kSourceEmbedding), x);
  const Matrix keys = keys_.matrix(source.tokens(), config_.hidden_size);  // [Ts, H]
  states_.begin(config_, source.sequences());
  encoder_.forward(products_, source.cu_seq_lens, x, {}, keys, states_.encoder);
}

/// What the decoder reads for row `row` of a step: the true token before, or its own.
int32_t RecurrentLane::input_of(const PackedBatch& target, const Pass& pass, size_t step,
                                size_t row) const {
  if (step == 0) return config_.decoder_start_token_id;
  const size_t token = decoder_.time().token_of()[decoder_.time().begin(step) + row];
  const bool own = samples(pass) && reads_own_word(plan_, pass, token);
  return own ? likeliest_[row] : target.input_ids[token - 1];
}

void RecurrentLane::decode(const TrainingBatch& part, const Pass& pass) {
  decoder_.begin(weights_.decoder_weights(), part.target.cu_seq_lens, keys(part.batch),
                 part.batch.cu_seq_lens, states_.decoder);
  const nn::TimeMajor& time = decoder_.time();
  inputs_.clear();
  for (size_t step = 0; step < time.steps(); ++step) {
    const Matrix input = decoder_.input(step);  // [B, E]
    for (size_t i = 0; i < input.rows; ++i) {
      inputs_.push_back(input_of(part.target, pass, step, i));
      const float* row = weights_.target_words.row(static_cast<size_t>(inputs_.back()));
      std::copy_n(row, input.cols, input.row(i));
    }
    drop_targets(pass, kTargetEmbedding, time.begin(step), input);
    const ConstMatrix hidden = decoder_.advance(step);
    if (samples(pass)) loss_.own_words(weights_.output, hidden, likeliest_);
  }
}

/// The losses of all target tokens; d_hidden [T, H] receives the gradient of the outputs.
Tally RecurrentLane::losses(const PackedBatch& target, const Pass& pass, Matrix d_hidden) {
  const nn::TimeMajor& time = decoder_.time();
  const size_t tokens = d_hidden.rows, h = d_hidden.cols;
  const Matrix outputs = outputs_.matrix(tokens, h);      // [T, H] in the order of the tokens
  const Matrix d_outputs = d_outputs_.matrix(tokens, h);  // [T, H]
  time.scatter(decoder_.hidden(), outputs);
  nn::dropout(dropout(pass, kOutputs), outputs);
  const Tally tally =
      loss_.learn(weights_.output, outputs, target, plan_, pass, gradient_.output, d_outputs);
  if (!pass.learns) return tally;
  nn::dropout(dropout(pass, kOutputs), d_outputs);
  time.gather(d_outputs, d_hidden);
  return tally;
}

Tally RecurrentLane::learn(const TrainingBatch& part, const Pass& pass) {
  encode(part.batch, pass);
  decode(part, pass);
  const size_t tokens = part.target.tokens(), sources = part.batch.tokens();
  const size_t h = config_.hidden_size, e = config_.embedding_size;
  const Matrix d_hidden = d_hidden_.matrix(tokens, h);
  Tally tally = losses(part.target, pass, d_hidden);
  tally.input_tokens = sources + tokens;
  if (!pass.learns) return tally;

  const Matrix d_keys = d_keys_.matrix(sources, h), d_target = d_target_rows_.matrix(tokens, e),
               d_source = d_source_rows_.matrix(sources, e);
  std::fill_n(d_keys.data, sources * h, 0.f);
  std::fill_n(d_source.data, sources * e, 0.f);
  d_states_.begin(config_, part.sequences());
  decoder_.backward(d_hidden, gradient_.decoder_weights(), d_target, d_keys, d_states_.decoder);
  drop_targets(pass, kTargetEmbedding, 0, d_target);
  nn::embedding_backward(inputs_, d_target, gradient_.target_words);
  encoder_.backward(weights_.encoder, d_keys, d_states_.encoder, gradient_.encoder, d_source, {});
  nn::dropout(dropout(pass, kSourceEmbedding), d_source);
  nn::embedding_backward(part.batch.input_ids, d_source, gradient_.source_words);
  return tally;
}

}  // namespace

Layout RecurrentNetwork::layout() const { return Layout(recurrent_tensors(config_)); }

std::unique_ptr<Lane> RecurrentNetwork::lane(const Layout& layout, float* values,
                                             float* gradient) const {
  return std::make_unique<RecurrentLane>(config_, training_, layout, values, gradient);
}

void RecurrentNetwork::check(const TrainingBatch& batch) const {
  check_targets(batch, {config_.vocab_size, config_.vocab_size}, config_.path);
}

/// Cells and the output layer for each token, and attention for each pair of tokens.
double RecurrentNetwork::cost(const TrainingBatch& batch, size_t s) const {
  const auto source = static_cast<double>(batch.batch.length(s)),
             target = static_cast<double>(batch.target.length(s));
  const auto h = static_cast<double>(config_.hidden_size),
             e = static_cast<double>(config_.embedding_size),
             g = static_cast<double>(gates_of(config_.cell) * config_.num_layers);
  const double cell = g * h * (h + e);
  return source * cell + target * (2 * cell + h * static_cast<double>(config_.vocab_size)) +
         (config_.context_size() > 0 ? source * target * 2 * h : 0);
}

size_t RecurrentNetwork::pass_floats(size_t tokens, size_t longest) const {
  const size_t h = config_.hidden_size, e = config_.embedding_size;
  const size_t cells = config_.num_layers * (4 * gates_of(config_.cell) + 6) * h;
  return tokens * (cells + 4 * (e + h) + longest + 2 * config_.attention_size) +
         std::min(tokens, TargetLoss::kRows) * config_.vocab_size;
}

}  // namespace bert::training
