#include "directory/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "checkpoint/lora.h"
#include "directory/file_names.h"
#include "directory/model_files.h"
#include "io/mapped_file.h"
#include "model/config_keys.h"
#include "model/names.h"
#include "model/schema.h"
#include "model/seq2seq_config.h"

namespace bert {
namespace {

using config_keys::find;

constexpr std::string_view kPickle = "adapter_model.bin";
constexpr uint64_t kMostSteps = 1 << 20;  // of a pattern over a module's name

bool exists(const std::string& folder, std::string_view name) {
  return entry_exists(fmt::format("{}/{}", folder, name));
}

/// Settings that make another thing of LoRA than W + scale B A.
void refuse_variants(const Json& root) {
  struct Variant {
    std::string_view key, name;
  };
  constexpr Variant kVariants[] = {{"use_dora", "DoRA"},
                                   {"use_qalora", "QA-LoRA"},
                                   {"use_bdlora", "BD-LoRA"},
                                   {"alora_invocation_tokens", "aLoRA"},
                                   {"arrow_config", "Arrow"},
                                   {"kasa_config", "KaSA"},
                                   {"velora_config", "VeLoRA"},
                                   {"monteclora_config", "MonteCLoRA"},
                                   {"layer_replication", "layers that stand twice"},
                                   {"target_parameters", "LoRA of parameters"},
                                   {"trainable_token_indices", "vectors of single tokens"},
                                   {"megatron_config", "LoRA of Megatron's layers"}};
  for (const auto& [key, name] : kVariants) {
    const auto value = find(root, {key});
    const bool off = !value || (value->type() == Json::Type::boolean && !value->as_bool()) ||
                     ((value->is_array() || value->is_object()) && value->size() == 0);
    if (off) continue;
    throw Error(Error::Kind::unsupported, value->where(),
                fmt::format("{} is not supported, wants plain LoRA; merge_and_unload() of PEFT "
                            "makes a whole model of base and adapter",
                            name));
  }
}

/// Ways to begin that change the base, too: what the adapter's matrices are added to is then none
/// of the base's weights.
void refuse_beginnings(const Json& root) {
  const auto way = find(root, {"init_lora_weights"});
  if (!way || !way->is_string()) return;
  for (const std::string_view name : {"pissa", "olora", "corda", "loftq", "lora_ga", "mica"}) {
    if (!way->as_string().starts_with(name)) continue;
    throw Error(Error::Kind::unsupported, way->where(),
                fmt::format("found {}, which changes the weights of the base, too; wants plain "
                            "LoRA, to which save_pretrained() of PEFT converts it with "
                            "path_initial_model_for_weight_conversion",
                            way->describe()));
  }
}

void refuse_kinds(const Json& root, const std::string& base) {
  const auto kind = find(root, {"peft_type"});
  if (kind && kind->is_string() && kind->as_string() == "LORA") return;
  throw Error(Error::Kind::unsupported, kind ? kind->where() : root.where(),
              fmt::format("an adapter of {} of the kind {}, wants LORA; merge_and_unload() of PEFT "
                          "makes a whole model of both, where the kind allows it",
                          base.empty() ? "a model that it does not name" : printable(base),
                          kind ? kind->describe() : "that its file does not name"));
}

std::optional<HeadKind> head_of(const Json& root) {
  constexpr std::pair<std::string_view, HeadKind> kTasks[] = {{"SEQ_CLS", HeadKind::classify},
                                                              {"TOKEN_CLS", HeadKind::tokens},
                                                              {"QUESTION_ANS", HeadKind::spans}};
  const auto task = find(root, {"task_type"});
  for (const auto& [name, kind] : kTasks) {
    if (task && task->is_string() && task->as_string() == name) return kind;
  }
  // What PEFT notes of a model whose task nobody named.
  const auto mapping = find(root, {"auto_mapping"});
  const auto known =
      mapping && mapping->is_object() ? find(*mapping, {"base_model_class"}) : std::nullopt;
  for (const auto& [name, kind] : kTasks) {
    if (known && known->is_string() && known->as_string().ends_with(head_spec(kind).class_suffix)) {
      return kind;
    }
  }
  return std::nullopt;
}

/// A pattern of PEFT, an expression of Python, which the end of a module's name must match.
Regex pattern(std::string_view text, const std::string& where) {
  std::string expression = "^(.*\\.)?(";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\d")) {
      expression += "[0-9]", ++i;
    } else if (text.substr(i).starts_with("(?:")) {
      expression += '(', i += 2;
    } else if (text.substr(i).starts_with("(?") || text.substr(i).starts_with("*?") ||
               text.substr(i).starts_with("+?")) {
      throw Error(Error::Kind::unsupported, where,
                  fmt::format("pattern {} is not supported", printable(text)));
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      expression += text[i], expression += text[++i];
    } else {
      expression += text[i];
    }
  }
  try {
    return Regex(expression + ")$");
  } catch (const Error&) {
    throw Error(Error::Kind::unsupported, where,
                fmt::format("pattern {} is not supported", printable(text)));
  }
}

/// What config.json beside an adapter, as `finetune` writes it, says of the head; none of another
/// number of labels, as it is where the adapter stands beside its base.
std::optional<HeadConfig> named_head(const std::string& folder, size_t labels) {
  if (!exists(folder, file_names::kConfig)) return std::nullopt;
  const JsonDocument own = JsonDocument::open(fmt::format("{}/{}", folder, file_names::kConfig));
  HeadConfig head = Config::read(own.root(), own.root().where());
  if (head.labels.size() != labels) return std::nullopt;
  return head;
}

}  // namespace

AdapterConfig AdapterConfig::read(const Json& root) {
  AdapterConfig config;
  for (const char* key : {"model_name", "base_model_name_or_path"}) {
    const auto base = root.is_object() ? find(root, {key}) : std::nullopt;
    if (base && base->is_string()) config.base = base->as_string();
  }
  refuse_kinds(root, config.base);
  refuse_variants(root);
  refuse_beginnings(root);
  config.head = head_of(root);
  if (const auto alpha = find(root, {"lora_alpha"})) config.alpha = alpha->as_double();
  if (const auto flag = find(root, {"use_rslora"})) config.rank_root = flag->as_bool();
  if (const auto map = find(root, {"alpha_pattern"})) {
    map->for_each_member([&](std::string_view text, Json value) {
      config.alphas.emplace_back(pattern(text, map->where()), value.as_double());
    });
  }
  return config;
}

double AdapterConfig::scale(std::string_view module, size_t rank) const {
  Regex::Scratch scratch;
  const auto own = std::find_if(alphas.begin(), alphas.end(), [&](const auto& entry) {
    scratch.steps = 0;
    return entry.first.find(module, 0, scratch, kMostSteps).has_value();
  });
  const double a = own == alphas.end() ? alpha : own->second;
  const auto r = static_cast<double>(rank);
  return a / (rank_root ? std::sqrt(r) : r);
}

bool Adapter::stands_in(const std::string& folder) { return exists(folder, file_names::kAdapter); }

struct Adapter::Opened {
  std::mutex mutex;
  std::optional<LoraTensors> tensors;
};

Adapter::Adapter(std::string folder)
    : folder_(std::move(folder)), opened_(std::make_shared<Opened>()) {
  const auto path = fmt::format("{}/{}", folder_, file_names::kAdapter);
  config_ = AdapterConfig::read(JsonDocument::open(path).root());
  // A tokenizer is more than its settings.
  tokenizer_ = std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& f) {
    const bool settings = f.name == file_names::kTokenizerConfig ||
                          f.name == file_names::kSpecialTokensMap ||
                          f.name == file_names::kAddedTokens || f.name == file_names::kMerges;
    return is_tokenizer_file(f) && !settings && exists(folder_, f.name);
  });
  modules_ = exists(folder_, file_names::kModules);
}

bool Adapter::brings(std::string_view name) const {
  const auto known = std::find_if(std::begin(kModelFiles), std::end(kModelFiles),
                                  [&](const ModelFile& file) { return file.name == name; });
  if (known == std::end(kModelFiles)) return modules_;  // a module's
  if (is_tokenizer_file(*known)) return tokenizer_;
  if (known->role == FileRole::adapter) return true;
  return modules_ && (known->role == FileRole::modules || known->role == FileRole::transformer);
}

std::string Adapter::weights() const {
  for (const std::string_view name : {Adapter::kWeights, kPickle}) {
    if (exists(folder_, name)) return fmt::format("{}/{}", folder_, name);
  }
  throw Error(Error::Kind::no_input, folder_,
              fmt::format("an adapter without weights: wants {}", kWeights));
}

LoraTensors Adapter::take() const {
  const std::lock_guard lock(opened_->mutex);
  if (auto kept = std::exchange(opened_->tensors, std::nullopt)) return *std::move(kept);
  const std::string path = weights();
  return LoraTensors::open(path, path.ends_with(kPickle));
}

void Adapter::keep(LoraTensors tensors) const {
  const std::lock_guard lock(opened_->mutex);
  opened_->tensors = std::move(tensors);
}

JsonDocument Adapter::change(const JsonDocument& document) const {
  const Json root = document.root();
  if (seq2seq_kind(root)) {
    throw Error(Error::Kind::unsupported, folder_,
                "an adapter of a model that translates, wants one of an encoder");
  }
  const Config base = Config::read(root, root.where());
  LoraTensors tensors = take();
  ConfigMembers members;
  NameRules rules = NameRules::of(base);
  if (config_.head) rules.class_name = class_name(*config_.head, *base.family);
  for (const auto& [name, tensor] : tensors.saved) rules.note(name);
  bool own_head = false;
  size_t labels = base.labels.size();
  for (const auto& [name, tensor] : tensors.saved) {
    const auto role = role_of(canonical_name(name, rules));
    const bool of_labels = role == Role::classifier || role == Role::classifier_output;
    own_head |= of_labels || role == Role::qa_outputs;
    if (!of_labels || !name.ends_with(".weight") || tensor->shape.empty() ||
        tensor->shape[0] == base.labels.size()) {
      continue;
    }
    labels = tensor->shape[0];
    members.insert(
        members.end(),
        {{"id2label", ""}, {"label2id", ""}, {"num_labels", fmt::format("{}", tensor->shape[0])}});
  }
  keep(std::move(tensors));
  if (own_head && config_.head) {
    if (auto head = named_head(folder_, labels)) {
      head->architectures = {rules.class_name};
      return JsonDocument::parse(edit_config(root, head_members(*head)), root.where());
    }
    members.emplace_back("architectures", fmt::format("[\"{}\"]", rules.class_name));
  }
  return JsonDocument::parse(edit_config(root, members), root.where());
}

void Adapter::merge(const Config& config, TensorFiles& base) const {
  merge_lora(
      take(), [&](std::string_view module, size_t rank) { return config_.scale(module, rank); },
      config, base);
}

std::string Adapter::summary() const {
  LoraTensors tensors = take();
  std::string text =
      fmt::format("LoRA of {}, with which {} matrices are changed and {} tensors are its own",
                  config_.base.empty() ? "a model that it does not name" : printable(config_.base),
                  tensors.changes.size(), tensors.saved.size());
  keep(std::move(tensors));
  return text;
}

}  // namespace bert
