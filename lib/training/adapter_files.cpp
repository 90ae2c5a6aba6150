#include "training/adapter_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <list>
#include <set>
#include <vector>

#include "checkpoint/weights_writer.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "model/names.h"

namespace bert::training {
namespace {

/// A module of a headless model has no prefix there.
std::string name_of(std::string_view name, const BertNetwork& network) {
  const std::string_view prefix = network.config().family->tensor_prefix;
  const bool headless = network.heads()[0].objective == Objective::vectors;
  return std::string(headless && name.starts_with(prefix) ? name.substr(prefix.size()) : name);
}

/// The tensors of the file that learn as a whole.
std::vector<FileTensor> whole_tensors(const Layout& layout, const BertNetwork& network) {
  std::set<size_t> learned;
  for (const Parameter& p : layout.parameters()) {
    if (p.rate_scale > 0 && !is_low_rank(p.name)) learned.insert(p.offset);
  }
  std::vector<FileTensor> tensors;
  for (FileTensor& tensor : network.file_tensors(layout)) {
    if (learned.contains(tensor.pieces.front().offset)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string list_of(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "\n    " : ",\n    ") + json_string(name);
  }
  return "[" + text + (text.empty() ? "]" : "\n  ]");
}

/// The top module of the head that a tensor belongs to: "pooler" of bert.pooler.dense.weight.
std::string top_module(std::string_view name, const BertNetwork& network) {
  const std::string_view prefix = network.config().family->tensor_prefix;
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name.substr(0, name.find('.')));
}

const char* task_type(Objective objective) {
  if (objective == Objective::classify) return "SEQ_CLS";
  if (objective == Objective::tokens) return "TOKEN_CLS";
  return objective == Objective::spans ? "QUESTION_ANS" : "FEATURE_EXTRACTION";
}

/// The tensors of the modules of sentence-transformers, which learn beside the adapter.
void write_modules(Learner& learner, const std::string& directory) {
  for (const Network::OtherFile& file : learner.network().other_files(learner.layout())) {
    WeightsWriter module;
    std::list<std::vector<float>> kept;
    add_tensors(file.tensors, learner.values(), module, kept);
    const std::string path = directory + "/" + file.name;
    const OutputDirectory folder(std::filesystem::path(path).parent_path().string());
    module.write(path);
  }
}

}  // namespace

std::string adapter_config(const Layout& layout, const BertNetwork& network,
                           const std::string& base) {
  const LowRankPlan& plan = network.heads()[0].low_rank;
  std::set<std::string> targets, saved;
  for (const auto& matrices : network.low_rank().matrices()) {
    targets.insert(name_of(matrices.module, network));
  }
  for (const FileTensor& tensor : whole_tensors(layout, network)) {
    saved.insert(top_module(tensor.name, network));
  }
  return fmt::format(
      "{{\n  \"base_model_name_or_path\": {},\n  \"bias\": \"none\",\n"
      "  \"fan_in_fan_out\": false,\n  \"inference_mode\": true,\n"
      "  \"init_lora_weights\": true,\n  \"lora_alpha\": {},\n  \"lora_dropout\": 0.0,\n"
      "  \"modules_to_save\": {},\n  \"peft_type\": \"LORA\",\n  \"r\": {},\n"
      "  \"target_modules\": {},\n  \"task_type\": \"{}\"\n}}\n",
      json_string(base), plan.alpha, saved.empty() ? "null" : list_of(saved), plan.rank,
      list_of(targets), task_type(network.heads()[0].objective));
}

void write_adapter(Learner& learner, const ModelFiles& files, const std::string& directory) {
  const auto& network = static_cast<const BertNetwork&>(learner.network());
  const float* values = learner.values();
  const size_t rank = network.heads()[0].low_rank.rank;
  const std::string weight = ".weight";
  WeightsWriter writer;
  for (const auto& m : network.low_rank().matrices()) {
    const std::string module = "base_model.model." + name_of(m.module, network);
    writer.add(module + ".lora_A" + weight, {rank, m.in}, {values + m.a, rank * m.in});
    writer.add(module + ".lora_B" + weight, {m.out, rank}, {values + m.b, m.out * rank});
  }
  std::vector<FileTensor> whole = whole_tensors(learner.layout(), network);
  for (FileTensor& tensor : whole)
    tensor.name = "base_model.model." + name_of(tensor.name, network);
  std::list<std::vector<float>> kept;
  add_tensors(whole, values, writer, kept);
  const OutputDirectory made(directory);
  writer.write(fmt::format("{}/{}", directory, Adapter::kWeights));
  // config.json names the labels; sentence-transformers wants its modules and the tokenizer.
  const bool vectors = network.heads()[0].objective == Objective::vectors;
  for (const auto& [name, content] : files.files) {
    if ((name == file_names::kConfig) == vectors) continue;
    const std::string path = directory + "/" + name;
    const OutputDirectory folder(std::filesystem::path(path).parent_path().string());
    write_whole_file(path, content);
  }
  write_modules(learner, directory);
  write_whole_file(fmt::format("{}/{}", directory, file_names::kAdapter), files.adapter);
  std::error_code ignored;  // weights of a whole model would be taken for its base
  std::filesystem::remove(fmt::format("{}/{}", directory, file_names::kSafetensors), ignored);
}

}  // namespace bert::training
