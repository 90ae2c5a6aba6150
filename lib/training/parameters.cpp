#include "training/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/feed_forward_nets.h"
#include "model/head_tensors.h"

namespace bert::training {

DropoutRates DropoutRates::of(const Config& config, Objective objective) {
  const auto rate = [&](std::string_view key, double value) {
    if (value >= 0 && value < 1) return static_cast<float>(value);
    throw Error(Error::Kind::data, config.path,
                fmt::format("{} is {}, wants a number from 0 to below 1", key, value));
  };
  DropoutRates rates;
  const Family& family = *config.family;
  rates.hidden = rate(family.hidden_dropout_key, config.hidden_dropout_prob);
  rates.attention = rate(family.attention_dropout_key, config.attention_probs_dropout_prob);
  const bool hidden = family.classifier_dropout_texts && objective != Objective::classify;
  rates.classifier =
      hidden ? rates.hidden : rate(family.classifier_dropout_key, config.classifier_dropout);
  if (objective == Objective::spans) {
    rates.classifier = rate(family.answers_dropout_key, config.answers_dropout);
  }
  return rates;
}

float initializer_range(const Config& config) {
  const double range = config.initializer_range;
  if (range > 0 && range < 100) return static_cast<float>(range);
  throw Error(Error::Kind::data, config.path,
              fmt::format("initializer_range is {}, wants a number above 0 and below 100", range));
}

void require_trainable(const Config& config, Objective objective) {
  const Family& family = *config.family;
  const bool of_vectors = objective == Objective::vectors && !family.vector_class.empty();
  if (family.not_trained.empty() || of_vectors) return;
  throw Error(Error::Kind::unsupported, config.path,
              fmt::format("model_type is {}, which can be run but not trained: {}",
                          family.model_type, family.not_trained));
}

nn::NormPlan norm_plan(const Config& config, Role role) {
  const NormKind kind = norm_kind(*config.family, role);
  const bool around_one = kind == NormKind::rms_around_one;
  return {config.layer_norm_eps, around_one || kind == NormKind::rms, around_one ? 1.f : 0.f,
          kind == NormKind::affine};
}

std::vector<TensorSpec> trunk_tensors(const Config& config) {
  std::vector<TensorSpec> specs = encoder_tensors(config);
  for (TensorSpec& spec : specs) spec.joins |= spec.role == kCrossKeyValue[1];
  for (auto first = specs.begin(); first != specs.end(); ++first) {
    const bool begins = first->role == kQueryKeyValue[0] || first->role == kCrossKeyValue[0] ||
                        first->role == kGateUp[0];
    if (!begins) continue;
    auto end = first + 1;
    while (end != specs.end() && (end->joins || end->role == first->role)) ++end;
    std::stable_partition(first, end, [](const auto& s) { return s.part == Part::weight; });
    first = end - 1;
  }
  return specs;
}

namespace {

/// The cells of a BiLSTM: its tensors stand one behind the other, four of each cell.
std::vector<nn::CellWeights> bilstm_cells(const Layout& layout, float* base,
                                          const std::string& own) {
  std::vector<const Parameter*> tensors;
  for (const Parameter& p : layout.parameters()) {
    const bool is_own = own.empty() ? head_prefix(p.name).empty() : p.name.starts_with(own);
    if (p.role == Role::bilstm && is_own) tensors.push_back(&p);
  }
  std::vector<nn::CellWeights> cells;
  for (size_t i = 0; i + 4 <= tensors.size(); i += 4) {
    const auto matrix = [&](size_t n) {
      const Parameter& p = *tensors[i + n];
      return Matrix(base + p.offset, p.shape[0], p.shape[1]);
    };
    const auto vector = [&](size_t n) { return base + tensors[i + n]->offset; };
    cells.push_back({{matrix(0), vector(2)}, {matrix(1), vector(3)}});
  }
  return cells;
}

}  // namespace

/// Throws Error(unsupported) if the head predicts words and the family has no such head.
static void require_words(const HeadPlan& head) {
  const bool of_words =
      head.objective == Objective::pretrain || head.objective == Objective::masked_lm;
  const Family& family = *head.config.family;
  if (!of_words || family.masked_lm) return;
  throw Error(
      Error::Kind::unsupported, head.config.path,
      fmt::format("model_type is {}, whose models do not predict masked words", family.model_type));
}

Layout bert_layout(const Config& config, std::span<const HeadPlan> heads) {
  for (const HeadPlan& head : heads) require_trainable(config, head.objective);
  std::vector<TensorSpec> specs = trunk_tensors(config);
  for (const HeadPlan& head : heads) {
    require_words(head);
    for (TensorSpec& spec : head_tensors(head.config, head.objective)) {
      spec.name = head.prefix() + spec.name;
      specs.push_back(std::move(spec));
    }
  }
  return Layout(std::move(specs));
}

Matrix RoleView::matrix(Role role, size_t layer) const {
  const Parameter* p = find_(tensor_name(role, Part::weight, layer));
  return p ? Matrix(base_ + p->offset, p->shape[0], p->shape[1]) : Matrix();
}
float* RoleView::vector(Role role, Part part, size_t layer) const {
  const Parameter* p = find_(tensor_name(role, part, layer));
  return p ? base_ + p->offset : nullptr;
}
nn::LinearWeights RoleView::linear(Role role, size_t layer) const {
  return {matrix(role, layer), vector(role, Part::bias, layer)};
}
nn::LinearWeights RoleView::joined(std::span<const Role> roles, size_t layer) const {
  nn::LinearWeights all = linear(roles[0], layer);
  for (size_t i = 1; i < roles.size(); ++i) {
    const Matrix more = matrix(roles[i], layer);
    if (!more.data) continue;
    all.weight.rows += more.rows;
    if (!vector(roles[i], Part::bias, layer)) all.bias = nullptr;
  }
  return all;
}
nn::NormWeights RoleView::norm(Role role, size_t layer) const {
  return {vector(role, Part::weight, layer), vector(role, Part::bias, layer)};
}
BottleneckWeights RoleView::bottleneck(size_t l) const {
  BottleneckWeights b;
  b.entry = linear(Role::bottleneck, l);
  if (!b) return b;
  b.entry_norm = norm(Role::bottleneck_norm, l);
  b.shared = linear(Role::shared_bottleneck, l);
  b.shared_norm = norm(Role::shared_bottleneck_norm, l);
  b.value = linear(Role::value, l);
  for (const auto& [first, last, last_norm] : kFeedForwardNets) {
    FeedForwardWeights net;
    net.intermediate = linear(first, l);
    if (!net.intermediate.weight.data) break;
    net.output = linear(last, l);
    net.norm = norm(last_norm, l);
    b.nets.push_back(net);
  }
  b.exit = linear(Role::bottleneck_exit, l);
  b.exit_norm = norm(Role::bottleneck_exit_norm, l);
  return b;
}
LayerWeights RoleView::layer(size_t l) const {
  LayerWeights layer;
  layer.bottleneck = bottleneck(l);
  AttentionWeights& attention = layer.attention;
  attention.qkv = joined(std::span(kQueryKeyValue, layer.bottleneck ? 2 : 3), l);
  attention.key_width = matrix(Role::key, l).rows;
  for (size_t i = 0; !attention.qkv.bias && i < std::size(kQueryKeyValue); ++i) {
    attention.biases[i] = vector(kQueryKeyValue[i], Part::bias, l);
  }
  attention.query_norm = norm(Role::query_norm, l);
  attention.key_norm = norm(Role::key_norm, l);
  attention.position_key = linear(Role::position_key, l);
  attention.position_query = linear(Role::position_query, l);
  attention.output = linear(Role::attention_output, l);
  attention.norm = norm(Role::attention_norm, l);
  attention.exit_norm = norm(Role::attention_exit_norm, l);
  layer.cross.query = linear(Role::cross_query, l);
  layer.cross.pairs = joined(kCrossKeyValue, l);
  layer.cross.output = linear(Role::cross_output, l);
  layer.cross.norm = norm(Role::cross_norm, l);
  layer.net.intermediate = joined(kGateUp, l);
  layer.net.output = linear(Role::output, l);
  layer.net.norm = norm(Role::output_norm, l);
  layer.net.exit_norm = norm(Role::output_exit_norm, l);
  return layer;
}

namespace {

/// What the head's classifier is called: with its own prefix, or else without one.
Role classifier_role(const Layout& layout, const std::string& own) {
  for (const std::string& prefix : {own, std::string()}) {
    for (const Role role :
         {Role::classifier, Role::classifier_output, Role::score, Role::pooling_classifier}) {
      if (layout.find(prefix + tensor_name(role))) return role;
    }
  }
  return Role::classifier;
}

/// What not every trunk has.
void set_trunk(const Config& config, const RoleView& view, ModelWeights& w) {
  w.task_type = view.matrix(Role::task_type_embeddings);
  w.distances = view.matrix(Role::relative_embeddings);
  w.distance_norm = view.norm(Role::relative_norm);
  w.convolution = view.linear(Role::convolution);
  w.convolution.weight.cols *= config.conv_kernel_size;  // shape [H, H / groups, K]
  w.convolution.weight.stride = w.convolution.weight.cols;
  w.convolution_norm = view.norm(Role::convolution_norm);
  w.final_norm = view.norm(Role::final_norm);
}

}  // namespace

ModelWeights ModelWeights::view(const Layout& layout, const Config& config, float* base,
                                const std::string& own) {
  const auto find = [&](const std::string& name) {
    const Parameter* p = layout.find(own + name);
    return p ? p : layout.find(name);
  };
  const RoleView view(find, base);
  ModelWeights w;
  w.word = view.matrix(Role::word_embeddings);
  w.position = view.matrix(Role::position_embeddings);
  w.token_type = view.matrix(Role::token_type_embeddings);
  w.position_bias = view.matrix(Role::relative_attention_bias);
  w.embedding_norm = view.norm(Role::embedding_norm);
  w.projection = view.linear(Role::embedding_projection);
  for (size_t l = 0; l < config.num_hidden_layers; ++l) {
    w.layers.push_back(view.layer(config.stored_layer(l)));
    w.layers.back().attention.head_size = config.head_size();
  }
  set_trunk(config, view, w);
  w.pooler = view.linear(Role::pooler);
  w.transform = view.linear(Role::mlm_dense);
  w.transform_norm = view.norm(Role::mlm_norm);
  w.decoder.weight = view.matrix(Role::mlm_decoder);
  if (!w.decoder.weight.data) w.decoder.weight = w.word;
  w.decoder.bias = view.vector(Role::mlm_bias, Part::bias);
  w.decoder_rest = view.matrix(Role::mlm_rest);
  w.head_dense = view.linear(Role::head_dense);
  w.head_norm = view.norm(Role::head_norm);
  w.next_sentence = view.linear(Role::next_sentence);
  w.classifier_dense = view.linear(Role::classifier_dense);
  w.pooling_hidden = view.linear(Role::pooling_hidden);
  w.pooling_hops = view.linear(Role::pooling_hops);
  w.classifier = view.linear(classifier_role(layout, own));
  w.spans = view.linear(Role::qa_outputs);
  if (find(tensor_name(Role::bilstm_classifier))) {
    w.classifier = view.linear(Role::bilstm_classifier);
    w.bilstm = bilstm_cells(layout, base, own);
  }
  return w;
}

namespace {

bool is_classifier(Role role) {
  return role == Role::classifier || role == Role::classifier_dense ||
         role == Role::classifier_output || role == Role::score || role == Role::pooling_hidden ||
         role == Role::pooling_hops || role == Role::pooling_classifier || role == Role::bilstm ||
         role == Role::bilstm_classifier;
}

void check_trunk(const Layout& layout, const Weights& weights) {
  constexpr size_t kShown = 5;
  std::string missing;
  size_t count = 0;
  for (const Parameter& p : layout.parameters()) {
    if (!is_encoder_tensor(p.name) || weights.find(p.name)) continue;
    if (count < kShown) missing += (count > 0 ? ", " : "") + p.name;
    ++count;
  }
  if (count == 0) return;
  if (count > kShown) missing += fmt::format(" and {} more", count - kShown);
  throw Error(Error::Kind::data, weights.path(),
              count == 1 ? fmt::format("tensor {} is missing", missing)
                         : fmt::format("tensors {} are missing", missing));
}

}  // namespace

std::vector<std::string> load_parameters(const Layout& layout, const Weights& weights,
                                         uint64_t seed, float initializer_range, float* base,
                                         std::span<const std::string> relabelled) {
  check_trunk(layout, weights);
  std::vector<std::string> drawn;
  for (const Parameter& p : layout.parameters()) {
    if (is_low_rank(p.name)) continue;
    const TensorView* tensor = weights.find(p.name);
    // A classifier with other labels is a new head.
    const bool named_anew = std::any_of(relabelled.begin(), relabelled.end(), [&](const auto& own) {
      return p.name == own + tensor_name(p.role, p.part);
    });
    const bool other = tensor && is_classifier(p.role) && (named_anew || tensor->shape != p.shape);
    if (!tensor || other) {
      draw_parameter(p, seed, initializer_range, base);
      drawn.push_back(p.name);
      continue;
    }
    const std::vector<float> values = weights.floats(p);
    std::copy(values.begin(), values.end(), base + p.offset);
  }
  return drawn;
}

}  // namespace bert::training
