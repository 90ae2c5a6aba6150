#include "training/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

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

void require_trainable(const Config& config) {
  if (config.family->trainable) return;
  std::string known;
  for (const Family& family : families()) {
    if (family.trainable) known.append(known.empty() ? "" : ", ").append(family.model_type);
  }
  throw Error(Error::Kind::unsupported, config.path,
              fmt::format("model_type is {}, which can be run but not trained yet, wants one of {}",
                          config.family->model_type, known));
}

namespace {

/// Query, key and value stand next to each other, all weights and then all biases, so that one
/// product computes them.
std::vector<TensorSpec> trunk_tensors(const Config& config) {
  std::vector<TensorSpec> specs = encoder_tensors(config);
  for (auto first = specs.begin(); first != specs.end(); ++first) {
    if (first->role != kQueryKeyValue[0]) continue;
    auto end = first + 1;
    while (end != specs.end() && (end->joins || end->role == first->role)) ++end;
    std::stable_partition(first, end, [](const auto& s) { return s.part == Part::weight; });
    first = end - 1;
  }
  return specs;
}

}  // namespace

Layout bert_layout(const Config& config, std::span<const HeadPlan> heads) {
  require_trainable(config);
  std::vector<TensorSpec> specs = trunk_tensors(config);
  for (const HeadPlan& head : heads) {
    for (TensorSpec& spec : head_tensors(head.config, head.objective)) {
      spec.name = head.prefix() + spec.name;
      specs.push_back(std::move(spec));
    }
  }
  return Layout(std::move(specs));
}

ModelWeights ModelWeights::view(const Layout& layout, const Config& config, float* base,
                                const std::string& own) {
  const auto find = [&](Role role, Part part, size_t layer) {
    const std::string name = tensor_name(role, part, layer);
    const Parameter* p = layout.find(own + name);
    return p ? p : layout.find(name);
  };
  const auto matrix = [&](Role role, size_t layer = 0) {
    const Parameter* p = find(role, Part::weight, layer);
    return p ? Matrix(base + p->offset, p->shape[0], p->shape[1]) : Matrix();
  };
  const auto vector = [&](Role role, Part part, size_t layer = 0) {
    const Parameter* p = find(role, part, layer);
    return p ? base + p->offset : nullptr;
  };
  const auto linear = [&](Role role, size_t layer = 0) {
    return LinearWeights{matrix(role, layer), vector(role, Part::bias, layer)};
  };
  const auto norm = [&](Role role, size_t layer = 0) {
    return NormWeights{vector(role, Part::weight, layer), vector(role, Part::bias, layer)};
  };
  ModelWeights w;
  w.word = matrix(Role::word_embeddings);
  w.position = matrix(Role::position_embeddings);
  w.token_type = matrix(Role::token_type_embeddings);
  w.position_bias = matrix(Role::relative_attention_bias);
  w.embedding_norm = norm(Role::embedding_norm);
  w.projection = linear(Role::embedding_projection);
  for (size_t l = 0; l < config.num_hidden_layers; ++l) {
    LayerWeights layer;
    layer.attention.qkv = linear(kQueryKeyValue[0], l);
    layer.attention.qkv.weight.rows *= std::size(kQueryKeyValue);
    layer.attention.output = linear(Role::attention_output, l);
    layer.attention.norm = norm(Role::attention_norm, l);
    layer.net.intermediate = linear(Role::intermediate, l);
    layer.net.output = linear(Role::output, l);
    layer.net.norm = norm(Role::output_norm, l);
    w.layers.push_back(layer);
  }
  w.pooler = linear(Role::pooler);
  w.transform = linear(Role::mlm_dense);
  w.transform_norm = norm(Role::mlm_norm);
  if (w.transform.weight.data) {
    w.decoder.weight = matrix(Role::mlm_decoder);
    if (!w.decoder.weight.data) w.decoder.weight = w.word;
    w.decoder.bias = vector(Role::mlm_bias, Part::bias);
  }
  w.next_sentence = linear(Role::next_sentence);
  w.classifier_dense = linear(Role::classifier_dense);
  w.classifier =
      linear(find(Role::classifier, Part::weight, 0) ? Role::classifier : Role::classifier_output);
  w.spans = linear(Role::qa_outputs);
  return w;
}

namespace {

bool is_classifier(Role role) {
  return role == Role::classifier || role == Role::classifier_dense ||
         role == Role::classifier_output;
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
