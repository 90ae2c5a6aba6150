#include "training/saving.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/weights_writer.h"
#include "directory/file_names.h"
#include "directory/model_files.h"
#include "directory/weight_files.h"
#include "io/json_writer.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/safetensors.h"
#include "model/names.h"
#include "training/adapter_files.h"

namespace bert::training {
namespace {

namespace fs = std::filesystem;

}  // namespace

HeadConfig head_config(const Config& config, Objective objective) {
  HeadConfig head;
  head.architectures = {class_name(objective, *config.family)};
  head.labels_named = objective == Objective::classify || objective == Objective::tokens;
  if (head.labels_named) head.labels = config.labels;
  if (objective == Objective::tokens) head.bilstm = config.bilstm;
  if (objective == Objective::classify) {
    head.problem_type =
        config.problem_type.empty() ? "single_label_classification" : config.problem_type;
    head.pooling = config.pooling;
    // transformers has no class for it: it is to see a trunk, and no classifier over the pooler.
    if (head.pooling.hops > 0) {
      head.architectures = {class_name(Objective::vectors, *config.family)};
    }
  }
  return head;
}

namespace {

// ---- tensors

std::span<const float> values_of(const float* base, const Parameter& p) {
  return {base + p.offset, p.size};
}

/// Writes the model that training began with, and the trained tensors as one more head.
void write_with_head(Learner& learner, const ModelFiles& files, const std::string& directory) {
  const std::string prefix = prefix_of_head(files.head_name);
  const Weights weights = open_weights(files.source, files.source.config());
  WeightsWriter writer;
  for (const TensorView* tensor : weights.tensors()) {
    if (!tensor->name.starts_with(prefix)) writer.add(*tensor, tensor->name);
  }
  for (const Parameter& p : learner.layout().parameters()) {
    const bool own = p.rate_scale > 0 || weights.find(prefix + p.name);
    if (own) writer.add(prefix + p.name, p.shape, values_of(learner.values(), p));
  }
  write_model(files.head_files, writer, directory);
}

}  // namespace

void add_tensors(std::span<const FileTensor> tensors, const float* base, WeightsWriter& writer,
                 std::list<std::vector<float>>& kept) {
  for (const FileTensor& tensor : tensors) {
    if (tensor.pieces.size() == 1) {
      const auto [offset, size] = tensor.pieces.front();
      writer.add(tensor.name, tensor.shape, {base + offset, size});
      continue;
    }
    std::vector<float>& values = kept.emplace_back();
    for (const auto& [offset, size] : tensor.pieces) {
      values.insert(values.end(), base + offset, base + offset + size);
    }
    writer.add(tensor.name, tensor.shape, values);
  }
}

namespace {

/// What a step changes besides the parameters: a prefix of the tensors' names, and their array.
std::vector<std::pair<const char*, float*>> step_arrays(Learner& learner) {
  std::vector<std::pair<const char*, float*>> arrays = {{"first.", learner.first_moments()},
                                                        {"second.", learner.second_moments()}};
  if (float* average = learner.average().values()) arrays.emplace_back("average.", average);
  return arrays;
}

void write_moments(Learner& learner, const std::string& path) {
  WeightsWriter writer;
  std::list<std::vector<float>> kept;
  for (const auto& [prefix, base] : step_arrays(learner)) {
    add_tensors(plain_tensors(learner.layout(), prefix), base, writer, kept);
  }
  writer.write(path);
}

/// This hash finds damage, not forgery. The file is read piece by piece, since a mapping of the
/// whole file would count as memory of the process.
std::string file_hash(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  StreamHash hash(fs::file_size(path, error));
  if (!in || error) throw Error::from_errno(path, "cannot read", errno);
  std::vector<char> piece(size_t{1} << 20);
  size_t size = 0;
  do {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    size = static_cast<size_t>(in.gcount());
    hash.add({piece.data(), size});
  } while (size == piece.size());
  return fmt::format("{:016x}", hash.value());
}

/// Fills the array at `base` from a file that has these tensors.
void read_tensors(std::span<const FileTensor> tensors, const MappedFile& file, float* base) {
  std::map<std::string, const SafetensorsEntry*> by_name;
  const auto entries = read_safetensors(file.bytes(), file.path());
  for (const SafetensorsEntry& entry : entries) by_name[entry.name] = &entry;
  for (const FileTensor& tensor : tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      throw Error(Error::Kind::data, file.path(), fmt::format("no tensor {}", tensor.name));
    }
    const SafetensorsEntry& entry = *found->second;
    if (entry.shape != tensor.shape || entry.dtype != "F32") {
      throw Error(Error::Kind::data, file.path(),
                  fmt::format("tensor {} is {} {}, wants F32 {}", entry.name, entry.dtype,
                              shape_text(entry.shape), shape_text(tensor.shape)));
    }
    const std::byte* from = entry.bytes.data();
    for (const auto& [offset, size] : tensor.pieces) {
      std::memcpy(base + offset, from, size * sizeof(float));
      from += size * sizeof(float);
    }
  }
}

std::string file_in(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

std::string step_name(uint64_t step) { return fmt::format("step-{:010}", step); }

/// `members`: more of them, each behind a comma.
std::string state_text(const RunState& state, const std::string& members) {
  std::string text = fmt::format("{{\n  \"format\": 1,\n  \"step\": {}{}", state.step, members);
  for (const auto& [key, value] : state.notes) {
    text += fmt::format(",\n  {}: {}", json_string("note " + key), json_string(value));
  }
  return text + "\n}\n";
}

constexpr const char* kFinished = "/training.json";
constexpr std::string_view kMoments = "optimizer.safetensors";
constexpr std::string_view kHashed[] = {file_names::kSafetensors, kMoments};

NamedHead named_head(const std::string& name, const Config& config, Objective objective) {
  NamedHead head{head_config(config, objective), name, std::string(head_spec(objective).task)};
  head.architectures.clear();  // the task tells them
  return head;
}

/// `heads`: the value of bertutils_heads; empty: none.
ModelFiles files_of(const ModelDirectory& directory, const Config& config, Objective objective,
                    std::string heads) {
  ModelFiles made;
  ConfigMembers members = head_members(head_config(config, objective));
  members.emplace_back("model_type", json_string(config.family->model_type));
  members.emplace_back("dtype", "\"float32\"");
  // The last two name the activation of the old CrossEncoder's scores.
  for (const char* gone : {"torch_dtype", "num_labels", "quantization_config",
                           "sentence_transformers", "sbert_ce_default_activation_function"}) {
    members.emplace_back(gone, "");
  }
  if (!config.score_function.empty()) {
    members.emplace_back("sentence_transformers", fmt::format("{{\"activation_fn\": {}}}",
                                                              json_string(config.score_function)));
  }
  const std::string_view other_names = config.family->other_names_key;
  if (!other_names.empty()) members.emplace_back(other_names, "");
  members.emplace_back("bertutils_heads", std::move(heads));
  made.turns = config.rotary.stored;
  if (made.turns) made.turns_name = file_name(made.turns->name, config);
  made.files = tokenizer_files(directory);
  made.files.emplace_back(file_names::kConfig,
                          edit_config(directory.document(file_names::kConfig).root(), members));
  return made;
}

}  // namespace

ModelFiles ModelFiles::make(const ModelDirectory& directory, const Config& config,
                            Objective objective) {
  return files_of(directory, config, objective, "");
}

void ModelFiles::add_head(const ModelDirectory& directory, const std::string& name,
                          const Config& config, Objective objective) {
  source = directory;
  NamedHead head = named_head(name, config, objective);
  if (const NamedHead* old = config.find_head(name)) head.preferred = old->preferred;
  head_name = name;
  head_files = model_files(directory);
  head_files.emplace_back(file_names::kConfig,
                          config_with_head(directory.document(file_names::kConfig).root(), head));
}

ModelFiles ModelFiles::make(const ModelDirectory& directory, std::span<const HeadPlan> heads) {
  const auto plain = std::find_if(heads.begin(), heads.end(), [](const HeadPlan& head) {
    return head.name.empty() && head.objective != Objective::vectors;
  });
  const HeadPlan& seen = plain == heads.end() ? heads.front() : *plain;
  std::vector<NamedHead> named;
  for (const HeadPlan& head : heads) {
    if (!head.name.empty()) named.push_back(named_head(head.name, head.config, head.objective));
  }
  return files_of(directory, seen.config, seen.objective, head_list(named));
}

namespace {

void save_tensors(std::span<const FileTensor> tensors, Learner& learner, const ModelFiles& files,
                  const std::string& directory) {
  std::list<std::vector<float>> kept;
  std::list<WeightsWriter> writers;
  NamedWeights all;
  const auto add = [&](std::string name, std::span<const FileTensor> own) {
    add_tensors(own, learner.values(), writers.emplace_back(), kept);
    all.emplace_back(std::move(name), &writers.back());
  };
  add(std::string(file_names::kSafetensors), tensors);
  if (files.turns) writers.front().add(files.turns_name, files.turns->shape, files.turns->values);
  for (const Network::OtherFile& file : learner.network().other_files(learner.layout())) {
    add(file.name, file.tensors);
  }
  write_model(files.files, all, directory);
}

}  // namespace

void save_model(Learner& learner, const ModelFiles& files, const std::string& directory) {
  save_tensors(learner.network().file_tensors(learner.layout()), learner, files, directory);
}

void export_model(Learner& learner, const ModelFiles& files, const std::string& directory) {
  if (!files.adapter.empty()) return write_adapter(learner, files, directory);
  if (files.head_name.empty()) return save_model(learner, files, directory);
  write_with_head(learner, files, directory);
}

void save_checkpoint(Learner& learner, const ModelFiles& files, const RunState& state,
                     const std::string& directory, size_t keep) {
  const std::string path = directory + "/" + step_name(state.step);
  const std::string temporary = path + ".tmp";
  make_directories(directory);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  try {
    save_tensors(learner.network().checkpoint_tensors(learner.layout()), learner, files, temporary);
    write_moments(learner, file_in(temporary, kMoments));
    std::string hashes;
    for (const std::string_view name : kHashed) {
      hashes += fmt::format(",\n  \"hash {}\": \"{}\"", name, file_hash(file_in(temporary, name)));
    }
    write_whole_file(temporary + "/state.json", state_text(state, hashes));
    commit_directory(temporary, path);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  std::vector<uint64_t> steps = saved_steps(directory);
  for (size_t i = 0; i + keep < steps.size(); ++i) {
    if (steps[i] != state.step) remove_directory(directory + "/" + step_name(steps[i]));
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

namespace {

JsonDocument open_state(const std::string& path) {
  JsonDocument document = JsonDocument::open(path);
  const Json format = document.root().at("format");
  if (format.as_int() != 1) {
    throw Error(Error::Kind::data, format.where(), "found another format, wants 1");
  }
  return document;
}

RunState state_of(const Json& root) {
  RunState state;
  state.step = static_cast<uint64_t>(root.at("step").as_int());
  root.for_each_member([&](std::string_view key, Json value) {
    if (key.starts_with("note ")) state.notes.emplace(key.substr(5), value.as_string());
  });
  return state;
}

}  // namespace

RunState read_state(const std::string& directory, uint64_t step) {
  return state_of(open_state(directory + "/" + step_name(step) + "/state.json").root());
}

void write_finished(const RunState& state, const std::string& directory) {
  write_whole_file(directory + kFinished, state_text(state, ""));
}

std::optional<RunState> read_finished(const std::string& directory) {
  if (!file_exists(directory + kFinished)) return {};
  return state_of(open_state(directory + kFinished).root());
}

void remove_finished(const std::string& directory) {
  std::error_code ignored;
  fs::remove(directory + kFinished, ignored);
}

RunState load_checkpoint(Learner& learner, const std::string& directory, uint64_t step) {
  const std::string path = directory + "/" + step_name(step);
  const JsonDocument document = open_state(path + "/state.json");
  const Json root = document.root();
  for (const std::string_view name : kHashed) {
    const Json hash = root.at(fmt::format("hash {}", name));
    if (hash.as_string() != file_hash(file_in(path, name))) {
      throw Error(Error::Kind::data, file_in(path, name),
                  "is damaged: its hash is not the saved one");
    }
  }
  const RunState state = state_of(root);
  const Layout& layout = learner.layout();
  const MappedFile model = MappedFile::open(file_in(path, file_names::kSafetensors));
  const MappedFile moments = MappedFile::open(file_in(path, kMoments));
  read_tensors(learner.network().checkpoint_tensors(layout), model, learner.values());
  for (const auto& [prefix, base] : step_arrays(learner)) {
    read_tensors(plain_tensors(layout, prefix), moments, base);
  }
  learner.set_steps(state.step);
  return state;
}

namespace {

/// Whether `name` is "step-0000000100.tmp" or a temporary name, which no user gives to a file.
bool is_unfinished(const std::string& name) {
  const bool step = name.size() == 19 && name.starts_with("step-") && name.ends_with(".tmp");
  return step || is_temporary_name(name);
}

/// Whether a folder is one of a module, such as 1_Pooling. Others may be of other runs.
bool is_of_module(const std::string& name) {
  const size_t digits = name.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && name[digits] == '_';
}

}  // namespace

void remove_unfinished(const std::string& directory) {
  std::error_code ignored;
  std::vector<fs::path> places = {directory, directory + "/checkpoints"};
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (is_of_module(entry.path().filename())) places.push_back(entry.path());
  }
  for (const fs::path& place : places) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
      if (is_unfinished(entry.path().filename())) found.push_back(entry.path());
    }
    for (const fs::path& path : found) fs::remove_all(path, ignored);
  }
}

}  // namespace bert::training
