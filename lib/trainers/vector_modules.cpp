#include "trainers/vector_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/new_modules.h"
#include "io/json.h"

namespace bert {
namespace {

using training::ModulePlan;

constexpr size_t kLateWidth = 128, kQueryLength = 32, kDocumentLength = 180;  // PyLate's

/// Throws Error(unsupported) if vectors of these modules are not trained.
void require_trained(const SentenceModules& modules, const std::string& path) {
  const auto refuse = [&](const char* what) {
    throw Error(Error::Kind::unsupported, path,
                fmt::format("{}: vectors of such a model are not trained yet", what));
  };
  if (modules.static_folder) refuse("has static vectors");
  if (modules.layer_mean) refuse("takes the mean of layers");
  if (modules.of_tokens && !modules.present) refuse("is a directory of ColBERT itself");
  if (modules.scores || modules.splade || modules.of_logits) {
    refuse("does not give vectors that are trained");
  }
  if (modules.pooling_modes.empty() && !modules.of_tokens) refuse("has no Pooling");
}

/// The modules of the directory, which go on learning.
std::vector<ModulePlan> plans_of(const std::vector<SentenceModules::Dense>& layers,
                                 const std::string& directory) {
  std::vector<ModulePlan> plans;
  for (const SentenceModules::Dense& layer : layers) {
    std::string folder = layer.directory.path();
    if (folder.starts_with(directory)) folder.erase(0, directory.size());
    folder.erase(0, std::min(folder.find_first_not_of('/'), folder.size()));
    plans.push_back({std::move(folder), layer});
  }
  return plans;
}

ModulePlan new_dense(const std::string& folder, size_t in, size_t out, bool of_tokens) {
  ModulePlan plan{folder, {}};
  plan.layer.in_features = in;
  plan.layer.out_features = out;
  plan.layer.bias = !of_tokens;
  plan.layer.activation = of_tokens ? Activation::none : Activation::tanh;
  return plan;
}

/// LateInteraction as these settings say.
LateInteraction late_of(const NamedFiles& files) {
  const auto found = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.first == file_names::kSentenceTransformers;
  });
  return LateInteraction::of_pylate(JsonDocument::parse(found->second, found->first).root());
}

}  // namespace

/// The modules of the model that training starts from.
void VectorModules::keep(const FinetuneOptions& options, const SentenceModules& modules,
                         const Config& config) {
  const std::string& path = options.model.path();
  normalize = modules.normalize;
  token_layers = plans_of(modules.token_layers, path);
  dense = plans_of(modules.dense, path);
  if (!modules.of_tokens) {
    const bool first_is_vector = !modules.present && !config.family->vector_class.empty();
    pooling = first_is_vector ? std::vector<std::string>{"cls"} : modules.pooling_modes;
  }
  files = modules.present ? model_files(options.model)
                          : pooling_modules(config.hidden_size, pooling.front());
}

/// New vectors of tokens, in place of any modules.
void VectorModules::begin_tokens(const FinetuneOptions& options, const Config& config,
                                 const Tokenizer& tokenizer) {
  const size_t width = options.vectors.dense > 0 ? options.vectors.dense : kLateWidth;
  normalize = true;
  pooling.clear();
  token_layers.clear();
  dense = {new_dense("1_Dense", config.hidden_size, width, true)};
  const size_t most = config.max_tokens(), given = options.max_length;
  NewLateFiles late;
  late.query_length = std::min(most, kQueryLength);
  late.document_length = std::min(most, given > 0 ? given : kDocumentLength);
  late.fills_up = tokenizer.mask_id() >= 0;
  late.attends = config.conv_kernel_size > 0;
  late.has_markers = tokenizer.token_to_id(NewLateFiles::kMarkers[0]) &&
                     tokenizer.token_to_id(NewLateFiles::kMarkers[1]);
  files = late.make(dense[0].folder, dense[0].layer);
}

/// A new Dense behind the pooling.
void VectorModules::begin_dense(size_t width, const Config& config) {
  training::VectorTask task;
  settle(task);
  dense = {new_dense("dense", task.width(config.hidden_size), width, false)};
  add_dense_module(dense[0].folder, dense[0].layer, files);
}

/// Leaves out the files of the modules' weights, which the network writes.
void VectorModules::leave_weights() {
  for (const auto* plans : {&token_layers, &dense}) {
    for (const ModulePlan& plan : *plans) {
      std::erase_if(files, [&](const auto& file) {
        return file.first == fmt::format("{}/{}", plan.folder, file_names::kSafetensors) ||
               file.first == fmt::format("{}/{}", plan.folder, file_names::kPickle);
      });
    }
  }
}

VectorModules VectorModules::make(const FinetuneOptions& options, const SentenceModules& modules,
                                  const Config& config, const Tokenizer& tokenizer) {
  require_trained(modules, options.model.file(file_names::kModules));
  const size_t width = options.vectors.dense;
  const bool begins = options.vectors.of_tokens && !modules.of_tokens;
  VectorModules made;
  made.keep(options, modules, config);
  if (width > 0 && !begins && (!made.dense.empty() || modules.of_tokens)) {
    throw Error::of_field("dense", "is for a model without a Dense module of its own");
  }
  if (begins) {
    made.begin_tokens(options, config, tokenizer);
  } else if (width > 0) {
    made.begin_dense(width, config);
  }
  if (made.of_tokens()) {
    const LateInteraction late =
        begins ? late_of(made.files) : LateInteraction::open(options.model, modules);
    made.query = LateSide::of_query(tokenizer, late, options.model.path());
    made.document = LateSide::of_document(tokenizer, late);
    made.mean_of_tokens = late.mean;
  }
  made.leave_weights();
  return made;
}

void VectorModules::settle(training::VectorTask& task) const {
  task.poolings.clear();
  for (const std::string& name : pooling) task.poolings.push_back(pooling_from_name(name));
  task.token_layers = token_layers;
  task.dense = dense;
  task.normalize = normalize;
  task.loss.mean_of_tokens = mean_of_tokens;
}

void VectorModules::load(const training::Layout& layout, uint64_t seed, float* values) const {
  for (const auto* plans : {&token_layers, &dense}) {
    for (const ModulePlan& plan : *plans) training::load_module(plan, layout, seed, values);
  }
}

}  // namespace bert
