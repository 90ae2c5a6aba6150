#include "predict/vector_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "directory/file_names.h"

namespace bert {
namespace {

/// modules.json without a Pooling is of a model that gives a vector for each token, or none. So are
/// ColBERT's own directories, which have no modules.json.
void refuse_token_vectors(const Model& model, const SentenceModules& modules) {
  const std::string modules_json = model.directory().file(file_names::kModules);
  if (modules.of_tokens) {
    throw Error(Error::Kind::unsupported, modules.present ? modules_json : model.config().path,
                "the model gives a vector for each token (ColBERT), none for a text; `pool` none "
                "writes them, `maxsim` of rank compares them, and another pooling that is asked "
                "for is of its bare encoder");
  }
  if (modules.splade) {
    throw Error(Error::Kind::unsupported, modules_json,
                "the model's vectors are sparse (SpladePooling): `sparse` of embed writes them, "
                "and a pooling that is asked for (`pool`) is of its bare encoder");
  }
  if (modules.scores || modules.logit_score) {
    throw Error(Error::Kind::unsupported, modules_json,
                "the model gives the score of a pair (CrossEncoder), no vector: rank works with "
                "it, and a pooling that is asked for (`pool`) is of its bare encoder");
  }
  if (modules.pooling_modes.empty()) {
    throw Error(Error::Kind::unsupported, modules_json,
                "names no Pooling, so the model gives no vector for a text; a pooling that is "
                "asked for (`pool`) is of its bare encoder");
  }
  const Config& config = model.config();
  for (const std::string& name : config.architectures) {
    if (!name.ends_with("ColBERT")) continue;
    throw Error(Error::Kind::unsupported, config.path,
                fmt::format("{} gives a vector for each token, which is not supported; a pooling "
                            "that is asked for is of its bare encoder",
                            printable(name)));
  }
}

/// The poolings that the files name, or those of the family.
std::vector<Pooling> own_poolings(const Model& model, const SentenceModules& modules) {
  refuse_token_vectors(model, modules);
  if (!modules.present && !model.config().family->vector_class.empty()) return {Pooling::cls};
  std::vector<Pooling> poolings;
  for (const std::string& mode : modules.pooling_modes) poolings.push_back(pooling_from_name(mode));
  return poolings;
}

}  // namespace

VectorPlan VectorPlan::make(const Model& model, const SentenceModules& modules,
                            const std::string& pool, const std::string& layer_text) {
  VectorPlan plan;
  plan.layers = LayerExpression::parse(layer_text.empty() ? "-1" : layer_text,
                                       model.config().num_hidden_layers);
  plan.features = plan.layers.width(model.config());
  if (pool == "none") {
    plan.per_token = true;
  } else if (pool == "pooler") {
    plan.pooler = true;
    if (!layer_text.empty()) {
      throw Error::of_field("layers", "not with `pool` pooler, which reads the last");
    }
    if (!model.has_pooler()) {
      throw Error(Error::Kind::data, model.weights().path(),
                  "no pooler in this model; `pool` cls, mean, max and sum work with it");
    }
  } else if (pool == "attn") {
    if (!layer_text.empty()) {
      throw Error::of_field("layers", "not with `pool` attn, which reads the last");
    }
    plan.attentive = std::make_shared<const AttentivePooling>(
        AttentivePooling::load(model.config(), model.weights()));
    if (!*plan.attentive) {
      throw Error(Error::Kind::data, model.config().path,
                  "no attentive pooling in this model: bertutils_pooling is missing; finetune "
                  "trains one (`pool` attn)");
    }
  } else if (pool.empty()) {
    plan.poolings = own_poolings(model, modules);
  } else {
    for (const std::string_view mode : split(pool, ','))
      plan.poolings.push_back(pooling_from_name(mode));
  }
  plan.prompt_is_pooled = modules.include_prompt;
  // What follows the pooling was trained for the model's own vectors only.
  if (pool.empty() && layer_text.empty()) plan.take_modules_of(model, modules);
  return plan;
}

std::vector<const Weights*> VectorPlan::weights() const {
  std::vector<const Weights*> all;
  for (const auto* layers : {&token_layers, &dense}) {
    for (const SentenceModules::Dense& layer : *layers) all.push_back(layer.weights.get());
  }
  return all;
}

void VectorPlan::take_modules_of(const Model& model, const SentenceModules& modules) {
  if (modules.layer_mean) take_layer_mean(model, *modules.layer_mean);
  take_modules(modules, model.config().hidden_size);
  token_layers = modules.token_layers;
  if (!token_layers.empty()) features = token_layers.back().out_features;
}

VectorPlan VectorPlan::make(const StaticText& text, const SentenceModules& modules,
                            const std::string& pool, const std::string& layer_text) {
  VectorPlan plan;
  if (!layer_text.empty()) {
    throw Error::of_field("layers", "this model has none: its vectors are static");
  }
  if (!pool.empty() && pool != "mean" && pool != "none") {
    throw Error::of_field("pool", fmt::format("found '{}', wants mean or none: this model has "
                                              "static vectors",
                                              printable(pool)));
  }
  plan.features = text.vectors.width();
  plan.per_token = pool == "none";
  if (!plan.per_token) plan.poolings.push_back(Pooling::mean);
  if (!pool.empty()) return plan;
  plan.take_modules(modules, plan.features);
  plan.normalize |= text.normalize;
  return plan;
}

void VectorPlan::take_modules(const SentenceModules& modules, size_t hidden_size) {
  modules.check_widths(hidden_size);
  dense = modules.dense;
  normalize = modules.normalize;
  truncate_dim = modules.truncate_dim.value_or(0);
}

void VectorPlan::take_layer_mean(const Model& model, const SentenceModules::LayerMean& mean) {
  const size_t states = model.config().num_hidden_layers + 1;
  if (mean.first >= states || mean.weights.size() != states - mean.first) {
    throw Error(Error::Kind::data, model.directory().file(file_names::kModules),
                fmt::format("{} weights for the hidden states from {} on, of which the model has "
                            "0 to {}",
                            mean.weights.size(), mean.first, states - 1));
  }
  layers = LayerExpression::mean_from(mean.first, mean.weights);
}

void VectorPlan::pool_sequence(ConstMatrix tokens, size_t prompt_tokens, const Frame& frame,
                               std::span<float> out) const {
  size_t skip = prompt_is_pooled ? 0 : prompt_tokens;
  if (no_special) {
    const size_t own = tokens.rows - frame.added();
    if (own == 0) return std::fill(out.begin(), out.end(), 0.0f);
    tokens = tokens.slice(frame.before.size(), own);
    skip -= std::min(skip, frame.before.size());
  }
  for (size_t i = 0; i < poolings.size(); ++i) {
    pool(poolings[i], tokens, out.subspan(i * tokens.cols, tokens.cols), skip);
  }
}

Matrix VectorPlan::finish(Matrix vectors, Buffer& whitened) const {
  const auto to_length_1 = [&] {
    for (size_t i = 0; i < vectors.rows; ++i) normalize_l2({vectors.row(i), vectors.cols});
  };
  if (whitening) {
    if (normalize) to_length_1();
    if (truncate_dim > 0) vectors.cols = std::min(truncate_dim, vectors.cols);
    const ConstMatrix own = vectors;
    vectors = whitened.matrix(own.rows, whitening->width());
    whitening->apply(own, vectors);
    if (dims > 0) vectors.cols = std::min(dims, vectors.cols);
    if (normalize_cut) to_length_1();
    return vectors;
  }
  const bool own_cut = dims == 0 && truncate_dim > 0;
  if (own_cut && normalize) to_length_1();
  if (own_cut) vectors.cols = std::min(truncate_dim, vectors.cols);
  if (dims > 0) vectors.cols = std::min(dims, vectors.cols);
  if (normalize_cut || (normalize && !own_cut)) to_length_1();
  return vectors;
}

size_t VectorPlan::own_width() const {
  return truncate_dim > 0 ? std::min(truncate_dim, full_width()) : full_width();
}

size_t VectorPlan::pooled_width() const {
  if (attentive) return attentive->hops() * features;
  return poolings.empty() ? features : poolings.size() * features;
}

size_t VectorPlan::full_width() const {
  return dense.empty() ? pooled_width() : dense.back().out_features;
}

size_t VectorPlan::width() const {
  if (whitening) return dims > 0 ? std::min(dims, whitening->width()) : whitening->width();
  const size_t limit = dims > 0 ? dims : truncate_dim;
  return limit > 0 ? std::min(limit, full_width()) : full_width();
}

}  // namespace bert
