#include "training/bert_network.h"

#include <algorithm>
#include <set>

#include "encoder/batch_check.h"
#include "model/layers.h"
#include "model/names.h"
#include "training/masked_lm_head.h"

namespace bert::training {
namespace {

std::vector<ModelWeights> views(const BertNetwork& network, const Layout& layout, float* base) {
  std::vector<ModelWeights> all;
  for (const HeadPlan& head : network.heads()) {
    all.push_back(ModelWeights::view(layout, network.config(), base, head.prefix()));
  }
  return all;
}

class BertLane : public Lane {
 public:
  BertLane(const BertNetwork& network, const Layout& layout, float* values, float* gradient,
           bool bf16)
      : plans_(network.heads()),
        weights_(views(network, layout, values)),
        gradients_(views(network, layout, gradient)),
        encoder_(network.config(), weights_[0], bf16) {
    for (size_t i = 0; i < plans_.size(); ++i) {
      heads_.push_back(Head::make(plans_[i], weights_[i], bf16));
      const Config& config = plans_[i].config;
      if (plans_[i].objective == Objective::tokens && config.bilstm) {
        layers_.resize(plans_.size());
        layers_[i] = LayerExpression::parse(config.bilstm.layers, config.num_hidden_layers);
      }
    }
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override {
    const DropoutRates& rates = plans_[part.head].dropout;
    const DropoutPlan dropout{rates.hidden, rates.attention, rates.classifier,
                              pass.key,     pass.token_0,    pass.sequence_0};
    if (!pass.learns) {
      return heads_[part.head]->learn({part, encoder_.forward(part.batch, {})});
    }
    ModelWeights gradient = gradients_[part.head];
    // A decoder that is the word table is frozen with it; its bias is not.
    const bool tied = gradient.decoder.weight.data == gradient.word.data;
    if (pass.lowest > 0 && tied) gradient.decoder.weight = {};
    const ConstMatrix hidden = encoder_.forward(part.batch, dropout);
    const Matrix d_hidden = d_hidden_.matrix(hidden.rows, hidden.cols);
    pass.turn.reach(kHeadStage);
    const Tally tally = heads_[part.head]->learn(
        {part, read_by(part.head, hidden), pass.scale, dropout, &gradient, d_hidden});
    encoder_.backward(d_hidden, gradient, pass.lowest, pass.turn);
    return tally;
  }

 private:
  /// What the head reads: the last hidden states, or those that its BiLSTM wants.
  ConstMatrix read_by(size_t head, ConstMatrix hidden) {
    if (layers_.empty() || layers_[head].layers.empty()) return hidden;
    const Matrix combined = combined_.matrix(hidden.rows, layers_[head].width(plans_[0].config));
    for (const size_t layer : std::set(layers_[head].layers.begin(), layers_[head].layers.end())) {
      layers_[head].add(layer, encoder_.layer(layer), combined);
    }
    return combined;
  }

  const std::vector<HeadPlan>& plans_;
  const std::vector<ModelWeights> weights_, gradients_;  // one for each head
  Encoder encoder_;
  std::vector<std::unique_ptr<Head>> heads_;
  std::vector<LayerExpression> layers_;  // of each head, or empty
  Buffer d_hidden_, combined_;
};

}  // namespace

BertNetwork::BertNetwork(std::vector<HeadPlan> heads, bool bf16)
    : heads_(std::move(heads)), bf16_(bf16) {
  if (heads_[0].low_rank.rank == 0) return;
  Layout layout = bert_layout(config(), heads_);
  low_rank_ = LowRank(heads_[0].low_rank, file_tensors(layout), layout);
}

Layout BertNetwork::layout() const {
  Layout layout = bert_layout(config(), heads_);
  if (!low_rank_.empty()) LowRank(heads_[0].low_rank, file_tensors(layout), layout);
  return layout;
}

std::unique_ptr<Lane> BertNetwork::lane(const Layout& layout, float* values,
                                        float* gradient) const {
  return std::make_unique<BertLane>(*this, layout, values, gradient, bf16_);
}

void BertNetwork::check(const TrainingBatch& batch) const { check_batch(batch.batch, config()); }

Tally BertNetwork::count(const TrainingBatch& batch) const {
  const ModelWeights none;
  return Head::make(heads_[batch.head], none)->count(batch);
}

/// The work for a sequence of n tokens: products grow with n, attention with n^2.
double BertNetwork::cost(const TrainingBatch& batch, size_t s) const {
  const Config& c = config();
  const auto length = static_cast<double>(batch.batch.length(s));
  return length * (static_cast<double>(4 * c.hidden_size + 2 * c.intermediate_size) + 2 * length);
}

size_t BertNetwork::pass_floats(size_t tokens, size_t longest) const {
  const Config& c = config();
  const size_t h = c.hidden_size, i = c.intermediate_size;
  const size_t kept =
      c.num_hidden_layers * (8 * h + 2 * i + c.num_attention_heads);  // see EncoderLayer
  const size_t way_back = 9 * h + i + 3 * c.embedding_size;
  size_t floats = tokens * (kept + way_back) + 2 * longest * longest;
  for (const HeadPlan& head : heads_) {
    if (head.objective != Objective::pretrain && head.objective != Objective::masked_lm) continue;
    const size_t predicted = tokens / 6;
    floats += predicted * (2 * h + 5 * c.embedding_size) +
              std::min(predicted, MaskedLmHead::kDecoderRows) * c.vocab_size;
  }
  return floats;
}

/// Matrices in kernel order, and a workspace for each thread.
size_t BertNetwork::evaluation_floats(size_t threads, size_t longest) const {
  const Config& c = config();
  const size_t h = c.hidden_size, i = c.intermediate_size;
  return c.num_hidden_layers * (4 * h * h + 2 * h * i) +
         threads * std::max<size_t>(512, longest) * (8 * h + i);
}

/// Unless a head's decoder is tied to the word table: then each row has a gradient.
bool BertNetwork::sparse_table(const Layout& layout) const {
  return std::none_of(heads_.begin(), heads_.end(), [&](const HeadPlan& head) {
    const std::string decoder = tensor_name(Role::mlm_decoder);
    const bool of_words =
        head.objective == Objective::pretrain || head.objective == Objective::masked_lm;
    return of_words && !layout.find(head.prefix() + decoder) && !layout.find(decoder);
  });
}

/// Unless a tensor has sums of two stages: of layers that share it, or of a head and the word
/// table.
bool BertNetwork::takes_turns(const Layout& layout) const {
  return config().stored_layers() == config().num_hidden_layers && sparse_table(layout);
}

void BertNetwork::finish_gradient(const float* values, float* gradient, Team& team) const {
  low_rank_.derive(values, gradient, team);
}

namespace {

/// The parameters that a tensor of the file has, one behind the other by rows.
FileTensor joined(const Layout& layout, const std::string& name,
                  const std::vector<std::string>& parts) {
  FileTensor tensor{name, {}, {}};
  for (const std::string& part : parts) {
    const Parameter& p = *layout.find(part);
    const size_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    tensor.shape = p.shape;
    tensor.shape[0] += rows;
    tensor.pieces.push_back({p.offset, p.size});
  }
  return tensor;
}

/// The same with a head's rows of each part before the next head's.
FileTensor by_heads(FileTensor tensor, size_t heads) {
  const std::vector<FileTensor::Piece> parts = std::move(tensor.pieces);
  tensor.pieces.clear();
  for (size_t head = 0; head < heads; ++head) {
    for (const auto& [offset, size] : parts) {
      tensor.pieces.push_back({offset + head * (size / heads), size / heads});
    }
  }
  return tensor;
}

}  // namespace

std::vector<FileTensor> BertNetwork::file_tensors(const Layout& layout) const {
  const Config& c = config();
  std::vector<FileTensor> tensors;
  std::set<std::string> joined_names;
  for (const Parameter& p : layout.parameters()) {
    if (is_low_rank(p.name)) continue;
    const bool named = !head_prefix(p.name).empty();
    const std::string whole = named ? "" : joined_file_name(p.name, c);
    const std::string heads = named ? "" : by_heads_file_name(p.name, c);
    if (!whole.empty()) {
      if (!joined_names.insert(whole).second) continue;
      tensors.push_back(joined(layout, whole, joined_file_parts(p.name, c)));
    } else if (!heads.empty()) {
      if (!joined_names.insert(heads).second) continue;
      const size_t layer = static_cast<size_t>(p.depth) - 1;
      std::vector<std::string> parts;
      for (const Role role : kQueryKeyValue)
        parts.push_back(tensor_name(role, Part::weight, layer));
      tensors.push_back(by_heads(joined(layout, heads, parts), c.num_attention_heads));
    } else {
      tensors.push_back({file_name(p.name, c), p.shape, {{p.offset, p.size}}});
    }
    // If the decoder is not tied, transformers reads its own bias instead.
    if (p.name == tensor_name(Role::mlm_bias, Part::bias) && c.family->saves_decoder_bias &&
        !c.tie_word_embeddings) {
      const std::string bias = tensor_name(Role::mlm_decoder, Part::bias);
      tensors.push_back({file_name(bias, c), p.shape, {{p.offset, p.size}}});
    }
  }
  return tensors;
}

std::vector<FileTensor> BertNetwork::checkpoint_tensors(const Layout& layout) const {
  std::vector<FileTensor> tensors = file_tensors(layout);
  for (const Parameter& p : layout.parameters()) {
    if (is_low_rank(p.name)) tensors.push_back({p.name, p.shape, {{p.offset, p.size}}});
  }
  return tensors;
}

}  // namespace bert::training
