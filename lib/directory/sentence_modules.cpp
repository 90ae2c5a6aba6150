#include "directory/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "directory/router.h"
#include "directory/weight_files.h"
#include "io/json.h"
#include "model/config_keys.h"

namespace bert {
namespace {

using config_keys::refuse;

/// The config.json of a module, which has another name in a CNN.
std::string config_of(const std::string& folder, Stage stage = Stage::start) {
  const std::string_view name = stage == Stage::cnn ? file_names::kCnn : file_names::kConfig;
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

/// A file of the modules, whose path joins their files.
Json open_named(const ModelDirectory& directory, std::string_view name, SentenceModules& modules) {
  modules.files.push_back(directory.file(name));
  return directory.document(name).root();
}

void read_pooling(const Json& root, SentenceModules& modules) {
  // The order of the old flags is the order in which sentence-transformers puts their vectors.
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"pooling_mode_cls_token", "cls"},
      {"pooling_mode_max_tokens", "max"},
      {"pooling_mode_mean_tokens", "mean"},
      {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
      {"pooling_mode_weightedmean_tokens", "weightedmean"},
      {"pooling_mode_lasttoken", "lasttoken"}};
  const auto add = [&](Json mode) {
    for (const auto& [flag, name] : kFlags) {
      if (mode.is_string() && mode.as_string() == name) {
        modules.pooling_modes.emplace_back(name);
        if (modules.pooling_modes.size() > 16) refuse(mode, "at most 16 modes");
        return;
      }
    }
    refuse(mode, "cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken");
  };
  if (const auto mode = root.find("pooling_mode"); mode && mode->is_array()) {
    mode->for_each_element(add);
  } else if (mode && !mode->is_null()) {
    add(*mode);
  } else {
    for (const auto& [flag, name] : kFlags) {
      if (module_flag(root, flag, false)) modules.pooling_modes.emplace_back(name);
    }
  }
  if (modules.pooling_modes.empty()) modules.pooling_modes.emplace_back("mean");
  modules.include_prompt = module_flag(root, "include_prompt", true);
}

/// What a module reads and writes: "token_embeddings" or "sentence_embedding", which is the
/// default.
bool reads_tokens(const JsonDocument* config) {
  const auto name = config ? config->root().find("module_input_name") : std::nullopt;
  return name && name->is_string() && name->as_string() == "token_embeddings";
}

/// A module `of_tokens` stands in a model without Pooling (ColBERT), and has no other beside it.
void check_order(const Json& type, Stage stage, Stage next, bool of_tokens,
                 const SentenceModules& modules) {
  if (stage == Stage::start && next != Stage::transformer && next != Stage::masked_lm) {
    refuse(type, "a Transformer first");
  }
  if (stage != Stage::start && next == Stage::masked_lm) refuse(type, "no module before it");
  if (modules.logit_score) refuse(type, "no module behind LogitScore");
  if (next == Stage::logit_score && stage != Stage::transformer) {
    refuse(type, "a Transformer before it, and nothing between");
  }
  if (modules.scores) refuse(type, "no module behind the Dense that gives scores");
  if (next == Stage::splade && stage != Stage::transformer && stage != Stage::masked_lm) {
    refuse(type, "a Transformer or MLMTransformer before it, and nothing between");
  }
  if (of_tokens && stage == Stage::cnn) refuse(type, "a Pooling behind the CNN");
  if (of_tokens && !modules.pooling_modes.empty()) {
    refuse(type, "no Pooling before it: it works on the vectors of tokens");
  }
  if (!of_tokens && next > Stage::transformer && modules.of_tokens) {
    refuse(type, "modules that work on the vectors of tokens, as the one before it");
  }
  if (!of_tokens && next != Stage::logit_score &&
      (stage == Stage::transformer || stage == Stage::layers || stage == Stage::cnn) &&
      next > Stage::pooling && next < Stage::masked_lm) {
    refuse(type, "a Pooling before it");
  }
  if (next < stage || (next == stage && next != Stage::dense && next != Stage::cnn)) {
    refuse(type, "the order Transformer, WeightedLayerPooling, CNN, Pooling, Dense, Normalize");
  }
}

/// The pooling of SPLADE reads the masked LM head's logits, so it stands alone behind the model.
void read_splade(const Json& root, SentenceModules& modules) {
  const auto says = [&](std::string_view key, std::string_view usual, std::string_view other) {
    const auto name = root.find(key);
    if (!name || name->is_null() || name->as_string() == usual) return false;
    if (name->as_string() != other) refuse(*name, fmt::format("{} or {}", usual, other));
    return true;
  };
  SpladePooling splade;
  splade.sum = says("pooling_strategy", "max", "sum");
  splade.log_twice = says("activation_function", "relu", "log1p_relu");
  modules.splade = splade;
}

/// Whether a Dense gives the score of a pair. It reads and writes the vectors of texts, or of
/// tokens.
bool gives_scores(const Json& root, bool of_tokens) {
  const std::string_view own = of_tokens ? "token_embeddings" : "sentence_embedding";
  bool scores = false;
  for (const std::string_view key : {"module_input_name", "module_output_name"}) {
    const auto name = root.find(key);
    if (!name || name->is_null() || name->as_string() == own) continue;
    scores = key == "module_output_name" && name->as_string() == "scores" && !of_tokens;
    if (!scores) refuse(*name, fmt::format("\"{}\"", own));
  }
  return scores;
}

/// Which tokens' logits are the score of a pair.
void read_logit_score(const Json& root, SentenceModules& modules) {
  const auto id = [](const Json& value) {
    const auto number = value.try_int();
    if (!number || *number < 0) refuse(value, "the id of a token");
    return *number;
  };
  SentenceModules::LogitScore score;
  score.yes = id(root.at("true_token_id"));
  if (const auto no = root.find("false_token_id"); no && !no->is_null()) score.no = id(*no);
  const auto input = root.find("module_input_name");
  if (input && !input->is_null() && input->as_string() != "causal_logits") {
    refuse(*input, "\"causal_logits\"");
  }
  modules.logit_score = score;
}

/// WeightedLayerPooling, which has no effect where the Transformer does not give all layers.
void read_layer_mean(const ModelDirectory& directory, const std::string& folder, const Json& root,
                     SentenceModules& modules) {
  const JsonDocument* model = directory.find(file_names::kConfig);
  if (!model || !module_flag(model->root(), "output_hidden_states", false)) return;
  const Json first = root.at("layer_start");
  if (first.as_int() < 0) refuse(first, "a whole number from 0");
  const Weights weights = open_untied_weights(directory.file(folder));
  const TensorView* tensor = weights.find("layer_weights");
  if (!tensor || tensor->shape.size() != 1 || !tensor->is_weight()) {
    throw Error(Error::Kind::data, weights.path(), "wants a tensor layer_weights [layers]");
  }
  modules.layer_mean = {static_cast<size_t>(first.as_int()), tensor->floats()};
  modules.files.push_back(weights.path());
}

/// Layers over each token's state, where a Pooling follows.
void settle_token_layers(Stage next, Stage& stage, SentenceModules& modules) {
  if (next != Stage::pooling || !modules.of_tokens || stage != Stage::dense || modules.normalize ||
      modules.mask_config) {
    return;
  }
  modules.token_layers = std::move(modules.dense);
  modules.dense.clear();
  modules.of_tokens = false;
  stage = Stage::transformer;
}

/// What the files of one module say.
void read_module(const ModelDirectory& directory, const Json& module, Stage stage, bool of_tokens,
                 SentenceModules& modules) {
  const bool norm = stage_of(module.at("type").as_string()) == Stage::norm;
  const std::string folder = module_folder(module.at("path"));
  const auto config = [&] { return open_named(directory, config_of(folder, stage), modules); };
  if ((stage == Stage::transformer || stage == Stage::masked_lm) &&
      directory.file(folder) != directory.path()) {
    refuse(module.at("path"), "\"\": a model whose files lie beside modules.json");
  }
  if (stage == Stage::pooling) read_pooling(config(), modules);
  if (stage == Stage::masked_lm) modules.of_logits = true;
  if (stage == Stage::splade) read_splade(config(), modules);
  if (stage == Stage::logit_score) read_logit_score(config(), modules);
  if (stage == Stage::layers) read_layer_mean(directory, folder, config(), modules);
  if (stage == Stage::cnn) {
    modules.token_layers.push_back(ModuleLayer::open_convolution(directory.file(folder), config()));
  }
  if (stage == Stage::dense) {
    const Json root = config();
    if (norm) {
      modules.dense.push_back(ModuleLayer::open_norm(directory.file(folder), root));
    } else {
      modules.scores = gives_scores(root, of_tokens);
      modules.dense.push_back(ModuleLayer::open_dense(directory.file(folder), root));
    }
    if (modules.dense.size() > 16) refuse(module.at("type"), "at most 16 dense modules");
  }
  if (stage == Stage::normalize) modules.normalize = true;
}

void add_module(const ModelDirectory& directory, const Json& module, Stage& stage,
                SentenceModules& modules) {
  const Json type = module.at("type");
  const std::optional<Stage> next = stage_of(type.as_string());
  if (!next) {
    refuse(type, stage_names() + " of sentence-transformers, or Dense of PyLate");
  }
  const std::string folder = module_folder(module.at("path"));
  if (*next == Stage::dropout) return;
  if (*next == Stage::static_embedding) {
    if (stage != Stage::start) refuse(type, "a StaticEmbedding as the first module only");
    modules.static_folder = directory.file(folder);
    modules.pooling_modes = {"mean"};
    stage = Stage::pooling;  // it is its own
    return;
  }
  const bool of_tokens = *next == Stage::mask || type.as_string() == kPylateDense ||
                         ((*next == Stage::dense || *next == Stage::normalize) &&
                          reads_tokens(directory.find(config_of(folder))));
  if (*next == Stage::sparse_static) {
    if (stage != Stage::start) refuse(type, "a SparseStaticEmbedding as the first module only");
    modules.sparse_folder = directory.file(folder);
    stage = *next;
    return;
  }
  if (*next == Stage::router) refuse(type, "a Router as the first module only");
  settle_token_layers(*next, stage, modules);
  const Stage place = *next == Stage::mask ? stage : *next == Stage::norm ? Stage::dense : *next;
  check_order(type, stage, place, of_tokens, modules);
  modules.of_tokens |= of_tokens;
  // PyLate scales the vectors of tokens to length 1, and has no module for it.
  modules.normalize |= type.as_string() == kPylateDense;
  if (*next == Stage::mask) {
    modules.mask_config = config_of(folder);
    modules.files.push_back(directory.file(*modules.mask_config));
    return;
  }
  stage = place;
  read_module(directory, module, stage, of_tokens, modules);
}

/// A directory of ColBERT itself: the layer over each token lies with the model's own weights.
void read_colbert(const ModelDirectory& directory, SentenceModules& modules) {
  if (!directory.has(file_names::kConfig) || !weights_present(directory)) return;
  bool named = false;
  const Json root = directory.document(file_names::kConfig).root();
  if (const auto names = root.find("architectures"); names && names->is_array()) {
    names->for_each_element([&](Json name) { named |= name.as_string() == "HF_ColBERT"; });
  }
  if (!named) return;
  auto weights = std::make_shared<const Weights>(open_untied_weights(directory));
  const TensorView* matrix = weights->find("linear.weight");
  if (!matrix || matrix->shape.size() != 2) return;
  modules.of_tokens = modules.normalize = true;
  modules.pooling_modes.clear();
  const size_t in = matrix->shape[1], out = matrix->shape[0];
  modules.dense.push_back({directory.path(), in, out, false, Activation::none, std::move(weights)});
  if (directory.has(file_names::kColbert)) {
    modules.files.push_back(directory.file(file_names::kColbert));
  }
}

/// Of the Transformer, whose files lie beside modules.json.
void read_transformer_settings(const ModelDirectory& directory, SentenceModules& modules) {
  TransformerSettings settings = TransformerSettings::open(directory);
  if (settings.path.empty()) return;
  modules.files.push_back(settings.path);
  modules.of_logits = settings.of_logits.value_or(modules.of_logits);
  modules.settings = std::move(settings);
}

/// config_sentence_transformers.json, beside modules.json.
void read_own_settings(const ModelDirectory& directory, SentenceModules& modules) {
  if (!directory.has(file_names::kSentenceTransformers)) return;
  const Json root = open_named(directory, file_names::kSentenceTransformers, modules);
  if (const auto type = root.find("model_type"); type && !type->is_null()) {
    const std::string_view name = type->as_string();
    if (name == "ColBERT" || name == "MultiVectorEncoder") {
      if (!modules.of_tokens) refuse(*type, "SentenceTransformer, as modules.json says");
      modules.normalize |= name == "ColBERT";
    } else if (name == "SparseEncoder") {
      if (!modules.splade && !modules.sparse_folder) {
        refuse(*type, "SentenceTransformer, as modules.json says");
      }
    } else if (name != "SentenceTransformer" && name != "CrossEncoder") {
      refuse(*type,
             "SentenceTransformer, CrossEncoder, SparseEncoder, MultiVectorEncoder or ColBERT");
    }
  }
  if (const auto dims = root.find("truncate_dim"); dims && !dims->is_null()) {
    modules.truncate_dim = config_keys::size_of(*dims, 1, ModuleLayer::kMostFeatures);
  }
  if (const auto name = root.find("similarity_fn_name"); name && !name->is_null()) {
    modules.similarity = name->as_string();
  }
  if (const auto prompts = root.find("prompts"); prompts && !prompts->is_null()) {
    prompts->for_each_member(
        [&](std::string_view name, Json text) { modules.prompts.emplace(name, text.as_string()); });
  }
  if (const auto name = root.find("default_prompt_name"); name && !name->is_null()) {
    modules.default_prompt_name = name->as_string();
    if (!modules.prompts.contains(modules.default_prompt_name)) {
      throw Error(Error::Kind::data, name->where(),
                  fmt::format("found {}, wants one of the prompts' names", name->describe()));
    }
  }
}

/// A pooling reads what it was made for: SpladePooling logits, the others hidden states.
void check_logits(const std::string& path, const SentenceModules& modules) {
  if (!modules.present || modules.of_logits == modules.splade.has_value()) return;
  throw Error(Error::Kind::unsupported, path,
              modules.of_logits
                  ? "the model gives logits of its masked LM head: wants a SpladePooling behind it"
                  : "SpladePooling wants MLMTransformer, or the transformer_task fill-mask in "
                    "sentence_bert_config.json");
}

}  // namespace

std::string SentenceModules::prompt(const std::string& name) const {
  const std::string& wanted = name.empty() ? default_prompt_name : name;
  if (wanted.empty()) return "";
  const auto found = prompts.find(wanted);
  if (found != prompts.end()) return found->second;
  if (std::find(routes.begin(), routes.end(), wanted) != routes.end()) return "";
  std::string names;
  for (const auto& [known, text] : prompts) {
    names.append(names.empty() ? "" : ", ").append(printable(known));
  }
  throw Error::of_field("prompt_name",
                        fmt::format("the model has no prompt '{}'{}", printable(wanted),
                                    names.empty() ? "" : "; it has " + names));
}

void SentenceModules::check_widths(size_t hidden_size) const {
  size_t width = hidden_size;
  const auto check = [&](const Dense& layer) {
    if (layer.in_features != width) {
      throw Error(Error::Kind::data, layer.config_file(),
                  fmt::format("{} is {}, but the vectors before it have {} numbers",
                              layer.width_key(), layer.in_features, width));
    }
    width = layer.out_features;
  };
  std::for_each(token_layers.begin(), token_layers.end(), check);
  if (!of_tokens) width *= pooling_modes.size();
  std::for_each(dense.begin(), dense.end(), check);
}

void SentenceModules::check_case(bool lowercases) const {
  if (lowercases || !settings.do_lower_case.value_or(false)) return;
  throw Error(
      Error::Kind::unsupported, settings.path,
      "do_lower_case is true, but the tokenizer keeps capitals; wants one that lower-cases");
}

void SentenceModules::check_length(size_t special_tokens) const {
  if (settings.max_length.value_or(SIZE_MAX) > special_tokens) return;
  throw Error(Error::Kind::data, settings.path,
              fmt::format("{} is {}, wants more than the {} special tokens of a text",
                          settings.max_length_key, *settings.max_length, special_tokens));
}

SentenceModules SentenceModules::open(const ModelDirectory& directory) {
  SentenceModules modules;
  modules.present = directory.has(file_names::kModules);
  if (modules.present) {
    const Json root = open_named(directory, file_names::kModules, modules);
    modules.pooling_modes.clear();
    Stage stage = Stage::start;
    root.for_each_element([&](Json module) { add_module(directory, module, stage, modules); });
  }
  if (!modules.present) read_colbert(directory, modules);
  if (directory.router()) modules.files.push_back(directory.file(file_names::kRouter));
  read_transformer_settings(directory, modules);
  read_own_settings(directory, modules);
  if (directory.router()) modules.routes = directory.router()->names();
  check_logits(directory.file(file_names::kModules), modules);
  return modules;
}

}  // namespace bert
