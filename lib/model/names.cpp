#include "model/names.h"

#include <span>
#include <utility>

namespace bert {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

/// Old name's start or, inside a layer, part; new one.
constexpr Renaming kDistilLayer[] = {{"attention.q_lin.", "attention.self.query."},
                                     {"attention.k_lin.", "attention.self.key."},
                                     {"attention.v_lin.", "attention.self.value."},
                                     {"attention.out_lin.", "attention.output.dense."},
                                     {"sa_layer_norm.", "attention.output.LayerNorm."},
                                     {"ffn.lin1.", "intermediate.dense."},
                                     {"ffn.lin2.", "output.dense."},
                                     {"output_layer_norm.", "output.LayerNorm."}};
constexpr Renaming kDistil[] = {{"vocab_transform.", "cls.predictions.transform.dense."},
                                {"vocab_layer_norm.", "cls.predictions.transform.LayerNorm."},
                                {"vocab_projector.weight", "cls.predictions.decoder.weight"},
                                {"vocab_projector.bias", "cls.predictions.bias"},
                                {"pre_classifier.", "classifier.dense."}};
constexpr Renaming kElectra[] = {
    {"generator_predictions.dense.", "cls.predictions.transform.dense."},
    {"generator_predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"generator_lm_head.weight", "cls.predictions.decoder.weight"},
    {"generator_lm_head.bias", "cls.predictions.bias"}};

std::string rename(std::string_view name, std::span<const Renaming> table) {
  for (const auto& [from, to] : table) {
    if (name.starts_with(from)) return std::string(to).append(name.substr(from.size()));
  }
  return std::string(name);
}

std::string distilbert_name(std::string_view name, bool has_pre_classifier) {
  constexpr std::string_view kLayer = "transformer.layer.", kClassifier = "classifier.";
  if (name.starts_with(kLayer)) {
    const size_t number_end = name.find('.', kLayer.size());
    if (number_end == std::string_view::npos) return std::string(name);
    const std::string_view number = name.substr(kLayer.size(), number_end + 1 - kLayer.size());
    return std::string("encoder.layer.").append(number) +
           rename(name.substr(number_end + 1), kDistilLayer);
  }
  if (has_pre_classifier && name.starts_with(kClassifier)) {
    return std::string("classifier.out_proj.").append(name.substr(kClassifier.size()));
  }
  return rename(name, kDistil);
}

}  // namespace

std::string_view head_prefix(std::string_view name) {
  constexpr std::string_view kHeads = "heads.";
  if (!name.starts_with(kHeads)) return {};
  return name.substr(0, name.find('.', kHeads.size()) + 1);
}

std::string canonical_name(std::string_view name, const NameRules& rules) {
  const std::string_view head = head_prefix(name);
  name.remove_prefix(head.size());
  if (const std::string prefix = rules.model_type + "."; name.starts_with(prefix)) {
    name.remove_prefix(prefix.size());
  }
  std::string result = rules.model_type == "distilbert"
                           ? distilbert_name(name, rules.pre_classifiers.contains(head))
                       : rules.model_type == "electra" ? rename(name, kElectra)
                                                       : std::string(name);
  // Checkpoints converted from TensorFlow keep its names.
  constexpr Renaming kNorms[] = {{"LayerNorm.gamma", "weight"}, {"LayerNorm.beta", "bias"}};
  for (const auto& [old, now] : kNorms) {
    if (!result.ends_with(old)) continue;
    result.resize(result.rfind('.') + 1);
    result += now;
  }
  return std::string(head) + result;
}

}  // namespace bert
