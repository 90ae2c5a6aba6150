#include "model/head_tensors.h"

#include <utility>

#include "model/layers.h"
#include "model/recurrent_config.h"

namespace bert {

std::vector<TensorSpec> bilstm_tensors(const Config& config) {
  const BilstmConfig& net = config.bilstm;
  const size_t width = LayerExpression::parse(net.layers, config.num_hidden_layers).width(config);
  std::vector<TensorSpec> list;
  for (size_t layer = 0; layer < net.num_layers; ++layer) {
    for (const bool reverse : {false, true}) {
      add_cell_tensors(CellNames::of(module_name(Role::bilstm), layer, reverse), Cell::lstm,
                       layer == 0 ? width : 2 * net.hidden_size, net.hidden_size,
                       static_cast<int32_t>(config.stored_layers()) + 1, list);
    }
  }
  for (TensorSpec& spec : list) spec.role = Role::bilstm;
  return list;
}

namespace {

/// The tensors of a head, as they are wanted.
class HeadTensors {
 public:
  HeadTensors(const Config& config, HeadKind kind) : config_(config), kind_(kind) {}

  void want(Role role, bool required = true) {
    if (!has_module(config_, role)) return;
    for (TensorSpec& spec : module_tensors(config_, role)) {
      list_.push_back(std::move(spec));
      list_.back().required = required;
    }
  }
  void want_masked() {
    if (config_.family->mlm_transform) {
      want(Role::mlm_dense);
      want(Role::mlm_norm);
    }
    want(Role::mlm_decoder, !config_.tie_word_embeddings);
    want(Role::mlm_rest);
    want(Role::mlm_bias);
  }
  /// Those of labels of a text, of tokens, or of answers.
  void want_labels() {
    const bool bilstm = kind_ == HeadKind::tokens && config_.bilstm;
    if (text_head() == TextHead::transform && !bilstm) {
      want(Role::head_dense);
      want(Role::head_norm);
    }
    if (kind_ == HeadKind::classify) want_text_labels();
    if (bilstm) {
      list_ = bilstm_tensors(config_);
      want(Role::bilstm_classifier);
    } else if (kind_ == HeadKind::tokens) {
      want(Role::classifier);
    }
    if (kind_ == HeadKind::spans) want(Role::qa_outputs);
  }
  std::vector<TensorSpec> take() { return std::move(list_); }

 private:
  TextHead text_head() const { return config_.family->text_head; }
  void want_text_labels() {
    if (text_head() == TextHead::score) {
      want(Role::score);
    } else if (text_head() == TextHead::two_layers) {
      want(Role::classifier_dense);
      want(Role::classifier_output);
    } else {
      want(Role::classifier);
    }
  }

  const Config& config_;
  HeadKind kind_;
  std::vector<TensorSpec> list_;
};

}  // namespace

std::vector<TensorSpec> head_tensors(const Config& config, HeadKind kind) {
  const bool pooled = config.family->text_head == TextHead::pooled;
  const bool next_sentence = kind == HeadKind::next_sentence ||
                             (kind == HeadKind::pretrain && config.family->next_sentence);
  if (kind == HeadKind::open_entities) return open_entity_tensors(config);
  HeadTensors tensors(config, kind);
  if (kind == HeadKind::classify && config.pooling.hops > 0) {
    tensors.want(Role::pooling_hidden);
    tensors.want(Role::pooling_hops);
    tensors.want(Role::pooling_classifier);
    return tensors.take();
  }
  if (next_sentence || (pooled && kind == HeadKind::classify)) tensors.want(Role::pooler);
  if (kind == HeadKind::pretrain || kind == HeadKind::masked_lm) tensors.want_masked();
  if (next_sentence) tensors.want(Role::next_sentence);
  if (kind == HeadKind::classify || kind == HeadKind::tokens || kind == HeadKind::spans) {
    tensors.want_labels();
  }
  if (kind == HeadKind::discriminator) {
    tensors.want(Role::discriminator_dense);
    tensors.want(Role::discriminator);
  }
  return tensors.take();
}

}  // namespace bert
