#include "training/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "nn/dropout.h"

namespace bert::training {
namespace {

bool is_norm_weight(std::string_view name) { return name.ends_with("LayerNorm.weight"); }
bool is_bias(std::string_view name) { return name.ends_with("bias"); }

}  // namespace

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

void Layout::add(std::string name, std::vector<size_t> shape, size_t depth) {
  if (find(name)) return;  // two heads share it
  Parameter p;
  p.size = 1;
  for (const size_t n : shape) p.size *= n;
  p.decays = !is_bias(name) && !is_norm_weight(name);
  p.name = std::move(name);
  p.shape = std::move(shape);
  p.depth = static_cast<int32_t>(depth);
  // Query, key and value are one matrix for the product, so there is no gap between them.
  const bool joined = p.name.find(".key.") != p.name.npos || p.name.find(".value.") != p.name.npos;
  if (!joined) floats_ = (floats_ + 15) / 16 * 16;
  p.offset = floats_;
  floats_ += p.size;
  parameters_.push_back(std::move(p));
}

void Layout::add_linear(const std::string& name, size_t out, size_t in, size_t depth) {
  add(name + ".weight", {out, in}, depth);
  add(name + ".bias", {out}, depth);
}

void Layout::add_norm(const std::string& name, size_t n, size_t depth) {
  add(name + ".weight", {n}, depth);
  add(name + ".bias", {n}, depth);
}

void Layout::add_trunk(const Config& config) {
  const size_t h = config.hidden_size, e = config.embedding_size, i = config.intermediate_size;
  add("embeddings.word_embeddings.weight", {config.vocab_size, e}, 0);
  add("embeddings.position_embeddings.weight", {config.max_position_embeddings, e}, 0);
  if (config.type_vocab_size > 0) {
    add("embeddings.token_type_embeddings.weight", {config.type_vocab_size, e}, 0);
  }
  add_norm("embeddings.LayerNorm", e, 0);
  if (e != h) add_linear("embeddings_project", h, e, 0);
  for (size_t l = 0; l < config.num_hidden_layers; ++l) {
    const std::string prefix = "encoder.layer." + std::to_string(l) + ".";
    // The three are next to each other, so that one product computes them.
    for (const char* part : {"weight", "bias"}) {
      for (const char* name : {"query.", "key.", "value."}) {
        std::vector<size_t> shape{h};
        if (std::string_view(part) == "weight") shape.push_back(h);
        add(prefix + "attention.self." + name + part, shape, l + 1);
      }
    }
    add_linear(prefix + "attention.output.dense", h, h, l + 1);
    add_norm(prefix + "attention.output.LayerNorm", h, l + 1);
    add_linear(prefix + "intermediate.dense", i, h, l + 1);
    add_linear(prefix + "output.dense", h, i, l + 1);
    add_norm(prefix + "output.LayerNorm", h, l + 1);
  }
}

void Layout::add_head(const HeadPlan& head) {
  const Config& config = head.config;
  const Objective objective = head.objective;
  const std::string own = head.prefix();
  const size_t h = config.hidden_size, e = config.embedding_size;
  const size_t top = config.num_hidden_layers + 1;
  const bool pooled = config.family->text_head == TextHead::pooled;
  const bool mlm = objective == Objective::pretrain || objective == Objective::masked_lm;
  const bool next_sentence = objective == Objective::pretrain && config.family->next_sentence;
  if (next_sentence || (pooled && objective == Objective::classify)) {
    add_linear(own + "pooler.dense", h, h, top);
  }
  if (mlm) {
    add_linear(own + "cls.predictions.transform.dense", e, h, top);
    add_norm(own + "cls.predictions.transform.LayerNorm", e, top);
    if (!config.tie_word_embeddings) {
      add(own + "cls.predictions.decoder.weight", {config.vocab_size, e}, top);
    }
    add(own + "cls.predictions.bias", {config.vocab_size}, top);
  }
  if (next_sentence) add_linear(own + "cls.seq_relationship", 2, h, top);
  if (objective == Objective::classify) {
    if (!pooled) add_linear(own + "classifier.dense", h, h, top);
    add_linear(own + (pooled ? "classifier" : "classifier.out_proj"), config.labels.size(), h, top);
  }
  if (objective == Objective::tokens) {
    add_linear(own + "classifier", config.labels.size(), h, top);
  }
  if (objective == Objective::spans) add_linear(own + "qa_outputs", 2, h, top);
}

Layout Layout::make(const Config& config, std::span<const HeadPlan> heads) {
  Layout layout;
  layout.add_trunk(config);
  for (const HeadPlan& head : heads) layout.add_head(head);
  return layout;
}

const Parameter* Layout::find(std::string_view name) const {
  for (const Parameter& p : parameters_) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

ModelWeights ModelWeights::view(const Layout& layout, const Config& config, float* base,
                                const std::string& own) {
  const auto find = [&](const std::string& name) {
    const Parameter* p = layout.find(own + name);
    return p ? p : layout.find(name);
  };
  const auto matrix = [&](const std::string& name) {
    const Parameter* p = find(name);
    return p ? Matrix(base + p->offset, p->shape[0], p->shape[1]) : Matrix();
  };
  const auto vector = [&](const std::string& name) {
    const Parameter* p = find(name);
    return p ? base + p->offset : nullptr;
  };
  const auto linear = [&](const std::string& name) {
    return LinearWeights{matrix(name + ".weight"), vector(name + ".bias")};
  };
  const auto norm = [&](const std::string& name) {
    return NormWeights{vector(name + ".weight"), vector(name + ".bias")};
  };
  ModelWeights w;
  w.word = matrix("embeddings.word_embeddings.weight");
  w.position = matrix("embeddings.position_embeddings.weight");
  w.token_type = matrix("embeddings.token_type_embeddings.weight");
  w.embedding_norm = norm("embeddings.LayerNorm");
  w.projection = linear("embeddings_project");
  for (size_t l = 0; l < config.num_hidden_layers; ++l) {
    const std::string prefix = "encoder.layer." + std::to_string(l) + ".";
    LayerWeights layer;
    layer.qkv = linear(prefix + "attention.self.query");
    layer.qkv.weight.rows *= 3;
    layer.attention_output = linear(prefix + "attention.output.dense");
    layer.attention_norm = norm(prefix + "attention.output.LayerNorm");
    layer.intermediate = linear(prefix + "intermediate.dense");
    layer.output = linear(prefix + "output.dense");
    layer.output_norm = norm(prefix + "output.LayerNorm");
    w.layers.push_back(layer);
  }
  w.pooler = linear("pooler.dense");
  w.transform = linear("cls.predictions.transform.dense");
  w.transform_norm = norm("cls.predictions.transform.LayerNorm");
  if (w.transform.weight.data) {
    w.decoder = linear("cls.predictions.decoder");
    if (!w.decoder.weight.data) w.decoder.weight = w.word;
    w.decoder.bias = vector("cls.predictions.bias");
  }
  w.next_sentence = linear("cls.seq_relationship");
  w.classifier_dense = linear("classifier.dense");
  w.classifier = linear(find("classifier.weight") ? "classifier" : "classifier.out_proj");
  w.spans = linear("qa_outputs");
  return w;
}

namespace {

/// Normal random numbers by Box and Muller, two at a time.
void draw(const Parameter& p, uint64_t seed, float deviation, float* to) {
  if (is_bias(p.name) || is_norm_weight(p.name)) {
    std::fill_n(to, p.size, is_bias(p.name) ? 0.f : 1.f);
    return;
  }
  uint64_t key = seed;
  for (const char c : p.name) key = mix(key, static_cast<unsigned char>(c));
  for (size_t i = 0; i < p.size; i += 2) {
    const auto uniform = [&](uint64_t n) {
      return (static_cast<double>(mix(key, n) >> 11) + 0.5) * 0x1p-53;
    };
    const double radius = deviation * std::sqrt(-2 * std::log(uniform(i)));
    const double angle = 2 * std::numbers::pi * uniform(i + 1);
    to[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < p.size) to[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

void draw_parameters(const Layout& layout, uint64_t seed, float initializer_range, float* base) {
  for (const Parameter& p : layout.parameters()) {
    draw(p, seed, initializer_range, base + p.offset);
  }
}

namespace {

bool is_trunk(std::string_view name) {
  return name.starts_with("embeddings") || name.starts_with("encoder.");
}

void check_trunk(const Layout& layout, const Weights& weights) {
  constexpr size_t kShown = 5;
  std::string missing;
  size_t count = 0;
  for (const Parameter& p : layout.parameters()) {
    if (!is_trunk(p.name) || weights.find(p.name)) continue;
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
      return p.name.starts_with(own + "classifier.");
    });
    const bool other = tensor && p.name.find("classifier.") != p.name.npos &&
                       (named_anew || tensor->shape != p.shape);
    if (!tensor || other) {
      draw(p, seed, initializer_range, base + p.offset);
      drawn.push_back(p.name);
      continue;
    }
    const std::vector<float> values = p.shape.size() == 1
                                          ? weights.floats(p.name, {p.shape[0]})
                                          : weights.floats(p.name, {p.shape[0], p.shape[1]});
    std::copy(values.begin(), values.end(), base + p.offset);
  }
  return drawn;
}

}  // namespace bert::training
