#include "training/saving.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "training/dropout.h"

namespace bert::training {
namespace {

namespace fs = std::filesystem;

// ---- config.json

void append_number(std::string& out, double value) {
  out += std::isfinite(value) ? fmt::format("{}", value) : "null";
}

void append_json(std::string& out, Json value, const std::string& indent) {
  const std::string inner = indent + "  ";
  bool first = true;
  const auto separate = [&] {
    out += first ? "\n" : ",\n";
    first = false;
    out += inner;
  };
  switch (value.type()) {
    case Json::Type::null:
      out += "null";
      return;
    case Json::Type::boolean:
      out += value.as_bool() ? "true" : "false";
      return;
    case Json::Type::integer:
      if (const auto number = value.try_int()) {
        out += std::to_string(*number);
      } else {
        append_number(out, value.as_double());
      }
      return;
    case Json::Type::number:
      append_number(out, value.as_double());
      return;
    case Json::Type::string:
      append_json_string(out, value.as_string());
      return;
    case Json::Type::array:
      out += '[';
      value.for_each_element([&](Json element) {
        separate();
        append_json(out, element, inner);
      });
      out += first ? "]" : "\n" + indent + "]";
      return;
    case Json::Type::object:
      out += '{';
      value.for_each_member([&](std::string_view key, Json member) {
        separate();
        append_json_string(out, key);
        out += ": ";
        append_json(out, member, inner);
      });
      out += first ? "}" : "\n" + indent + "}";
      return;
  }
}

std::string_view architecture_of(const Config& config, Objective objective) {
  const bool next_sentence = config.model_type == "bert";
  switch (objective) {
    case Objective::pretrain:
      return next_sentence ? "ForPreTraining" : "ForMaskedLM";
    case Objective::masked_lm:
      return "ForMaskedLM";
    case Objective::classify:
      return "ForSequenceClassification";
    case Objective::tokens:
      return "ForTokenClassification";
    case Objective::spans:
      return "ForQuestionAnswering";
    case Objective::vectors:
      break;
  }
  return "Model";
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// Members that training replaces, in the order they are written.
std::vector<std::pair<std::string, std::string>> new_members(const Config& config,
                                                             Objective objective) {
  const std::string_view family = config.model_type == "distilbert" ? "DistilBert"
                                  : config.model_type == "electra"  ? "Electra"
                                                                    : "Bert";
  std::vector<std::pair<std::string, std::string>> members;
  members.emplace_back("architectures",
                       fmt::format("[\"{}{}\"]", family, architecture_of(config, objective)));
  members.emplace_back("model_type", json_string(config.model_type));
  members.emplace_back("dtype", "\"float32\"");
  if (objective == Objective::classify || objective == Objective::tokens) {
    std::string ids, labels;
    for (size_t i = 0; i < config.labels.size(); ++i) {
      ids += fmt::format("{}\"{}\": {}", i ? ", " : "", i, json_string(config.labels[i]));
      labels += fmt::format("{}{}: {}", i ? ", " : "", json_string(config.labels[i]), i);
    }
    members.emplace_back("id2label", "{" + ids + "}");
    members.emplace_back("label2id", "{" + labels + "}");
  }
  if (objective == Objective::classify) {
    members.emplace_back("problem_type",
                         json_string(config.problem_type.empty() ? "single_label_classification"
                                                                 : config.problem_type));
  }
  return members;
}

std::string config_text(const std::string& path, const Config& config, Objective objective) {
  constexpr std::string_view kReplaced[] = {"architectures", "model_type", "dtype",
                                            "torch_dtype",   "id2label",   "label2id",
                                            "problem_type",  "num_labels"};
  const JsonDocument document = JsonDocument::open(path);
  std::string out = "{";
  const auto add = [&](std::string_view key, std::string_view value) {
    out += out.size() == 1 ? "\n  " : ",\n  ";
    append_json_string(out, key);
    out += ": ";
    out += value;
  };
  for (const auto& [key, value] : new_members(config, objective)) add(key, value);
  document.root().for_each_member([&](std::string_view key, Json value) {
    if (std::find(std::begin(kReplaced), std::end(kReplaced), key) != std::end(kReplaced)) return;
    std::string text;
    append_json(text, value, "  ");
    add(key, text);
  });
  return out + "\n}\n";
}

// ---- tensors

std::span<const std::byte> bytes_of(const float* data, size_t count) {
  static_assert(std::endian::native == std::endian::little, "safetensors is little endian");
  return std::as_bytes(std::span(data, count));
}

void write_weights(Learner& learner, const std::string& path) {
  std::vector<SafetensorsTensor> tensors;
  for (const Parameter& p : learner.layout().parameters()) {
    const auto bytes = bytes_of(learner.values() + p.offset, p.size);
    tensors.push_back({saved_name(p.name, learner.config()), "F32", p.shape, bytes});
    // A decoder of its own has its own bias, which transformers reads instead.
    if (p.name == "cls.predictions.bias" && learner.config().model_type == "bert" &&
        !learner.config().tie_word_embeddings) {
      tensors.push_back({"cls.predictions.decoder.bias", "F32", p.shape, bytes});
    }
  }
  OutputFile file(path);
  write_safetensors(file, tensors);
  file.commit();
}

void write_moments(Learner& learner, const std::string& path) {
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [prefix, base] : {std::pair("first.", learner.first_moments()),
                                     std::pair("second.", learner.second_moments())}) {
    for (const Parameter& p : learner.layout().parameters()) {
      tensors.push_back({prefix + p.name, "F32", p.shape, bytes_of(base + p.offset, p.size)});
    }
  }
  OutputFile file(path);
  write_safetensors(file, tensors);
  file.commit();
}

/// Finds damage, not malice.
uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = bytes.size();
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t n = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), n);
    hash = (std::rotl(hash, 5) ^ word) * 0x9E3779B97F4A7C15u;
    bytes = bytes.subspan(n);
  }
  return hash;
}

std::string file_hash(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return fmt::format("{:016x}", hash_of(file.bytes()));
}

/// Fills the runs of floats at `base` from a file whose tensors are called prefix + name(p).
template <typename Name>
void read_tensors(const Layout& layout, const MappedFile& file, Name name, float* base) {
  std::map<std::string, const SafetensorsEntry*> by_name;
  const auto entries = read_safetensors(file.bytes(), file.path());
  for (const SafetensorsEntry& entry : entries) by_name[entry.name] = &entry;
  for (const Parameter& p : layout.parameters()) {
    const auto found = by_name.find(name(p));
    if (found == by_name.end()) {
      throw Error(Error::Kind::data, file.path(), fmt::format("no tensor {}", name(p)));
    }
    const SafetensorsEntry& entry = *found->second;
    if (entry.shape != p.shape || entry.dtype != "F32") {
      throw Error(Error::Kind::data, file.path(),
                  fmt::format("tensor {} is {} {}, wants F32 {}", entry.name, entry.dtype,
                              shape_text(entry.shape), shape_text(p.shape)));
    }
    std::memcpy(base + p.offset, entry.bytes.data(), entry.bytes.size());
  }
}

std::string step_name(uint64_t step) { return fmt::format("step-{:010}", step); }

constexpr const char* kHashed[] = {"model.safetensors", "optimizer.safetensors"};

}  // namespace

ModelFiles ModelFiles::make(const std::string& directory, const Config& config,
                            Objective objective) {
  ModelFiles made;
  made.files.emplace_back("config.json",
                          config_text(directory + "/config.json", config, objective));
  for (const char* name : {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                           "special_tokens_map.json", "added_tokens.json"}) {
    const std::string path = directory + "/" + name;
    if (file_exists(path)) made.files.emplace_back(name, MappedFile::open(path).text());
  }
  return made;
}

namespace {

std::string_view task_of(Objective objective) {
  switch (objective) {
    case Objective::classify:
      return "text-classification";
    case Objective::tokens:
      return "token-classification";
    case Objective::spans:
      return "question-answering";
    default:
      return "fill-mask";
  }
}

/// `"NAME": {"task": .., "id2label": .., "problem_type": ..}`
std::string head_entry(const HeadPlan& head) {
  std::string text =
      fmt::format("{}: {{\"task\": \"{}\"", json_string(head.name), task_of(head.objective));
  for (const auto& [key, value] : new_members(head.config, head.objective)) {
    if (key == "id2label" || key == "problem_type") text += fmt::format(", \"{}\": {}", key, value);
  }
  return text + "}";
}

}  // namespace

ModelFiles ModelFiles::make(const std::string& directory, std::span<const HeadPlan> heads) {
  const auto plain = std::find_if(heads.begin(), heads.end(), [](const HeadPlan& head) {
    return head.name.empty() && head.objective != Objective::vectors;
  });
  const HeadPlan& seen = plain == heads.end() ? heads.front() : *plain;
  ModelFiles made = make(directory, seen.config, seen.objective);
  std::string entries;
  for (const HeadPlan& head : heads) {
    if (head.name.empty()) continue;
    entries += (entries.empty() ? "\n    " : ",\n    ") + head_entry(head);
  }
  std::string& config = made.files.front().second;
  config.insert(config.rfind("\n}"), fmt::format(",\n  \"bertutils_heads\": {{{}\n  }}", entries));
  return made;
}

std::string saved_name(std::string_view canonical, const Config& config) {
  using Renaming = std::pair<std::string_view, std::string_view>;
  constexpr Renaming kDistil[] = {{"attention.self.query.", "attention.q_lin."},
                                  {"attention.self.key.", "attention.k_lin."},
                                  {"attention.self.value.", "attention.v_lin."},
                                  {"attention.output.dense.", "attention.out_lin."},
                                  {"attention.output.LayerNorm.", "sa_layer_norm."},
                                  {"intermediate.dense.", "ffn.lin1."},
                                  {"output.dense.", "ffn.lin2."},
                                  {"output.LayerNorm.", "output_layer_norm."}};
  constexpr Renaming kDistilHeads[] = {
      {"cls.predictions.transform.dense.", "vocab_transform."},
      {"cls.predictions.transform.LayerNorm.", "vocab_layer_norm."},
      {"cls.predictions.decoder.weight", "vocab_projector.weight"},
      {"cls.predictions.bias", "vocab_projector.bias"},
      {"classifier.dense.", "pre_classifier."},
      {"classifier.out_proj.", "classifier."}};
  constexpr Renaming kElectraHeads[] = {
      {"cls.predictions.transform.dense.", "generator_predictions.dense."},
      {"cls.predictions.transform.LayerNorm.", "generator_predictions.LayerNorm."},
      {"cls.predictions.decoder.weight", "generator_lm_head.weight"},
      {"cls.predictions.bias", "generator_lm_head.bias"}};
  const auto rename = [](std::string_view name, std::span<const Renaming> table) {
    for (const auto& [from, to] : table) {
      if (name.starts_with(from)) return std::string(to).append(name.substr(from.size()));
    }
    return std::string(name);
  };
  const bool distil = config.model_type == "distilbert", electra = config.model_type == "electra";
  const bool trunk = canonical.starts_with("embeddings") || canonical.starts_with("encoder.") ||
                     canonical.starts_with("pooler.");
  if (!trunk) {
    if (distil) return rename(canonical, kDistilHeads);
    return electra ? rename(canonical, kElectraHeads) : std::string(canonical);
  }
  constexpr std::string_view kLayer = "encoder.layer.";
  if (distil && canonical.starts_with(kLayer)) {
    const size_t end = canonical.find('.', kLayer.size()) + 1;
    return fmt::format("distilbert.transformer.layer.{}{}",
                       canonical.substr(kLayer.size(), end - kLayer.size()),
                       rename(canonical.substr(end), kDistil));
  }
  return config.model_type + "." + std::string(canonical);
}

void save_model(Learner& learner, const ModelFiles& files, const std::string& directory) {
  make_directories(directory);
  for (const auto& [name, content] : files.files) {
    write_whole_file(directory + "/" + name, content);
  }
  write_weights(learner, directory + "/model.safetensors");
}

void save_checkpoint(Learner& learner, const ModelFiles& files, const RunState& state,
                     const std::string& directory, size_t keep) {
  const std::string path = directory + "/" + step_name(state.step);
  const std::string temporary = path + ".tmp";
  make_directories(directory);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  try {
    save_model(learner, files, temporary);
    write_moments(learner, temporary + "/optimizer.safetensors");
    std::string text = fmt::format("{{\n  \"format\": 1,\n  \"step\": {}", state.step);
    for (const char* name : kHashed) {
      text += fmt::format(",\n  \"hash {}\": \"{}\"", name, file_hash(temporary + "/" + name));
    }
    for (const auto& [key, value] : state.notes) {
      text += fmt::format(",\n  {}: {}", json_string("note " + key), json_string(value));
    }
    write_whole_file(temporary + "/state.json", text + "\n}\n");
    fs::remove_all(path, ignored);  // one that was damaged
    commit_directory(temporary, path);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  std::vector<uint64_t> steps = saved_steps(directory);
  for (size_t i = 0; i + keep < steps.size(); ++i) {
    if (steps[i] != state.step) fs::remove_all(directory + "/" + step_name(steps[i]), ignored);
  }
}

std::vector<uint64_t> saved_steps(const std::string& directory) {
  std::vector<uint64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name.size() != 15 || !name.starts_with("step-")) continue;
    if (name.find_first_not_of("0123456789", 5) != name.npos) continue;
    steps.push_back(std::stoull(name.substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

RunState load_checkpoint(Learner& learner, const std::string& directory, uint64_t step) {
  const std::string path = directory + "/" + step_name(step);
  const JsonDocument document = JsonDocument::open(path + "/state.json");
  const Json root = document.root();
  if (root.at("format").as_int() != 1) {
    throw Error(Error::Kind::data, root.at("format").where(), "found another format, wants 1");
  }
  for (const char* name : kHashed) {
    const Json hash = root.at(std::string("hash ") + name);
    if (hash.as_string() != file_hash(path + "/" + name)) {
      throw Error(Error::Kind::data, path + "/" + name,
                  "is damaged: its hash is not the saved one");
    }
  }
  RunState state;
  state.step = static_cast<uint64_t>(root.at("step").as_int());
  root.for_each_member([&](std::string_view key, Json value) {
    if (key.starts_with("note ")) state.notes.emplace(key.substr(5), value.as_string());
  });
  const Layout& layout = learner.layout();
  const MappedFile model = MappedFile::open(path + "/model.safetensors");
  const MappedFile moments = MappedFile::open(path + "/optimizer.safetensors");
  const auto name = [&](const Parameter& p) { return saved_name(p.name, learner.config()); };
  read_tensors(layout, model, name, learner.values());
  read_tensors(
      layout, moments, [](const Parameter& p) { return "first." + p.name; },
      learner.first_moments());
  read_tensors(
      layout, moments, [](const Parameter& p) { return "second." + p.name; },
      learner.second_moments());
  learner.set_steps(state.step);
  return state;
}

void remove_unfinished(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& place : {directory, directory + "/checkpoints"}) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
      const std::string name = entry.path().filename();
      if (name.find(".tmp.") != name.npos || name.ends_with(".tmp")) found.push_back(entry.path());
    }
    for (const fs::path& path : found) fs::remove_all(path, ignored);
  }
}

}  // namespace bert::training
