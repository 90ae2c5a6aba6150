#include "inspect/bert_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "directory/checkpoint.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "model/recurrent_config.h"
#include "model/schema.h"
#include "model/seq2seq_config.h"
#include "ops/arithmetic.h"
#include "ops/blas.h"
#include "tokenizer/tokenizer.h"

namespace bert {
namespace {

void row(Rows& rows, std::string_view key, std::string_view value) {
  rows.field(key).field(value);
  rows.end();
}
void row(Rows& rows, std::string_view key, uint64_t value) {
  row(rows, key, fmt::format("{}", value));
}

std::string joined(std::span<const std::string> words) {
  return words.empty() ? "none" : printable(fmt::format("{}", fmt::join(words, " ")), 1000);
}

/// What `weights` hold of parameters: with a config model order first, then heads in file order.
/// Buffers of integers and second names of one matrix (a tied decoder in a pickle) are none.
struct StoredParameter {
  std::string name;  // as the file spells it
  std::string canonical;
  std::vector<size_t> shape;
  uint64_t count = 0;
};

std::vector<StoredParameter> stored_parameters(const Weights& weights, const Config* config) {
  std::vector<StoredParameter> list;
  std::set<std::pair<const std::byte*, size_t>> seen;
  const auto add = [&](const TensorView& tensor) {
    if (!tensor.is_weight() || tensor.elements() == 0 ||
        !seen.emplace(tensor.data, tensor.first_row).second) {
      return;
    }
    list.push_back({tensor.name, weights.canonical(tensor), tensor.shape, tensor.elements()});
  };
  if (config) {
    for (const TensorSpec& parameter : encoder_tensors(*config)) {
      if (const TensorView* tensor = weights.find(parameter.name)) add(*tensor);
    }
  }
  for (const TensorView* tensor : weights.tensors()) add(*tensor);
  return list;
}

/// With weights what they hold, without what the config describes.
std::vector<StoredParameter> parameters_of(const ModelFiles& model) {
  if (model.weights) return stored_parameters(*model.weights, &model.config);
  std::vector<StoredParameter> list;
  for (const TensorSpec& parameter : encoder_tensors(model.config)) {
    list.push_back({parameter.name, parameter.name, parameter.shape, parameter.count()});
  }
  return list;
}

uint64_t total(std::span<const StoredParameter> parameters) {
  uint64_t sum = 0;
  for (const StoredParameter& parameter : parameters) sum += parameter.count;
  return sum;
}

/// With two significant digits, as the papers name models: 110M, 340M.
std::string rounded(uint64_t count) {
  if (count < 1000) return fmt::format("{}", count);
  const double unit = count < 1'000'000 ? 1e3 : count < 1'000'000'000 ? 1e6 : 1e9;
  const double scaled = static_cast<double>(count) / unit;
  const char letter = unit < 1e6 ? 'K' : unit < 1e9 ? 'M' : 'G';
  if (scaled < 10) return fmt::format("{:.1f}{}", scaled, letter);
  return fmt::format("{:.0f}{}", scaled < 100 ? scaled : std::round(scaled / 10) * 10, letter);
}

std::string dtypes_of(const Weights& weights) {
  std::set<std::string> names;
  for (const TensorView* tensor : weights.tensors()) {
    if (tensor->blocked) {
      names.emplace(*tensor->blocked == Precision::int8 ? "int8" : "bf16");
    } else if (is_float(tensor->dtype)) {
      names.emplace(dtype_name(tensor->dtype));
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

/// What the file says of the position table, if the model has one.
void write_positions(const std::string& prefix, const Config& config, Rows& rows) {
  if (config.family->key_of(&Config::max_position_embeddings).empty()) return;
  row(rows, prefix + "max_position_embeddings",
      config.max_position_embeddings - config.family->more_positions);
}

void write_sizes(const Config& config, Rows& rows) {
  row(rows, "model_type", config.family->model_type);
  row(rows, "architectures", joined(config.architectures));
  row(rows, "num_hidden_layers", config.num_hidden_layers);
  row(rows, "hidden_size", config.hidden_size);
  row(rows, "num_attention_heads", config.num_attention_heads);
  if (config.num_key_value_heads < config.num_attention_heads) {
    row(rows, "num_key_value_heads", config.num_key_value_heads);
  }
  row(rows, "head_size", config.head_size());
  row(rows, "intermediate_size", config.intermediate_size);
  if (config.embedding_size != config.hidden_size)
    row(rows, "embedding_size", config.embedding_size);
  row(rows, "vocab_size", config.vocab_size);
  write_positions("", config, rows);
  row(rows, "type_vocab_size", config.type_vocab_size);
  row(rows, "hidden_act", config.hidden_act_name);
  row(rows, "layer_norm_eps", fmt::format("{:g}", config.layer_norm_eps));
}

void write_tokenizer(const ModelDirectory& directory, Rows& rows) {
  if (!directory.has(file_names::kTokenizer) && !directory.has(file_names::kVocabTxt)) {
    row(rows, "tokens", "none");
    return;
  }
  const Tokenizer tokenizer = Tokenizer::open(directory);
  row(rows, "tokens", tokenizer.vocab_size());
  row(rows, "do_lower_case", tokenizer.lowercase() ? "true" : "false");
  if (const auto length = tokenizer.model_max_length()) row(rows, "model_max_length", *length);
}

void write_modules(const ModelDirectory& directory, Rows& rows) {
  const SentenceModules modules = SentenceModules::open(directory);
  if (!modules.present && !modules.of_tokens) return;
  std::vector<std::string> words;
  const auto add_layers = [&](const std::vector<SentenceModules::Dense>& layers) {
    for (const auto& layer : layers) {
      using Kind = SentenceModules::Dense::Kind;
      words.push_back(layer.kind == Kind::norm
                          ? fmt::format("norm[{}]", layer.out_features)
                          : fmt::format("{}[{},{}]", layer.kind == Kind::dense ? "dense" : "cnn",
                                        layer.out_features, layer.in_features));
    }
  };
  if (modules.layer_mean) words.emplace_back("layers");
  add_layers(modules.token_layers);
  words.insert(words.end(), modules.pooling_modes.begin(), modules.pooling_modes.end());
  if (modules.of_tokens) words.emplace_back("tokens");
  add_layers(modules.dense);
  if (modules.scores) words.emplace_back("score");
  if (modules.logit_score) words.emplace_back("logit score");
  if (modules.normalize) words.emplace_back("normalize");
  if (modules.splade) words.emplace_back(modules.splade->sum ? "splade sum" : "splade max");
  row(rows, "sentence_modules", joined(words));
  if (const auto length = modules.settings.max_length) row(rows, "max_seq_length", *length);
}

}  // namespace

ModelFiles ModelFiles::open(const ModelDirectory& directory) {
  ModelFiles model{directory, directory.config(), std::nullopt};
  if (weights_present(directory)) model.weights = open_weights(directory, model.config);
  return model;
}

std::vector<std::string> heads_of(const Weights& weights, const Config& config) {
  std::vector<std::string> heads;
  if (weights.find(Role::pooler)) heads.emplace_back("pooler");
  for (const HeadSpec& head : head_specs()) {
    if (!head.info.empty() && has_plain_head(config, weights, head.kind)) {
      heads.emplace_back(head.info);
    }
  }
  return heads;
}

namespace {

std::string pooling_of(const HeadConfig& head) {
  return fmt::format("attentive, hops {}, size {}{}", head.pooling.hops, head.pooling.size,
                     head.pooling.unit ? ", length 1" : "");
}

}  // namespace

void write_summary(const ModelFiles& model, Rows& rows) {
  row(rows, "model", printable(model.directory.path(), 0));
  write_sizes(model.config, rows);
  const auto parameters = parameters_of(model);
  row(rows, "parameters", total(parameters));
  row(rows, "parameters_rounded", rounded(total(parameters)));
  if (model.weights) {
    row(rows, "weights", printable(model.weights->path(), 0));
    row(rows, "dtype", dtypes_of(*model.weights));
    row(rows, "heads", joined(heads_of(*model.weights, model.config)));
    for (const NamedHead& head : model.config.heads) {
      std::string text = head.task;
      if (head.preferred) text += " (default)";
      if (head.labels_named) text += fmt::format(": {}", fmt::join(head.labels, " "));
      row(rows, "head " + head.name, printable(text, 1000));
      if (head.pooling.hops > 0) row(rows, "pooling " + head.name, pooling_of(head));
    }
  } else {
    row(rows, "weights", "none");
  }
  if (model.config.labels_named) row(rows, "labels", joined(model.config.labels));
  if (const BilstmConfig& net = model.config.bilstm) {
    row(rows, "bilstm",
        fmt::format("{}, layers {}, units {}", net.layers, net.num_layers, net.hidden_size));
  }
  if (!model.config.problem_type.empty()) row(rows, "problem_type", model.config.problem_type);
  if (model.config.pooling.hops > 0) row(rows, "pooling", pooling_of(model.config));
  write_tokenizer(model.directory, rows);
  write_modules(model.directory, rows);
}

namespace {

void write_list(std::span<const StoredParameter> parameters, Rows& rows) {
  for (const StoredParameter& parameter : parameters) {
    rows.field(printable(parameter.name, 200))
        .field(shape_text(parameter.shape))
        .field(parameter.count);
    rows.end();
  }
  rows.field("total").field("-").field(total(parameters));
  rows.end();
}

/// The sizes of a half of a Transformer.
void write_half(const std::string& half, const Config& config, Rows& rows) {
  row(rows, half + "_type", config.family->model_type);
  row(rows, half + "_layers", config.num_hidden_layers);
  row(rows, half + "_hidden_size", config.hidden_size);
  row(rows, half + "_attention_heads", config.num_attention_heads);
  row(rows, half + "_intermediate_size", config.intermediate_size);
  row(rows, half + "_vocab_size", config.vocab_size);
  write_positions(half + "_", config, rows);
}

void write_recurrent(const RecurrentConfig& config, Rows& rows) {
  row(rows, "cell", cell_word(config.cell));
  row(rows, "attention", recurrent_attention_word(config.attention));
  row(rows, "layers", config.num_layers);
  row(rows, "bidirectional", config.bidirectional ? "true" : "false");
  row(rows, "hidden_size", config.hidden_size);
  row(rows, "embedding_size", config.embedding_size);
  row(rows, "vocab_size", config.vocab_size);
}

/// All tensors of a model that translates, under the names of its files. They borrow from `files`.
Weights all_tensors(const TensorFiles& files) {
  Config untied;
  untied.tie_word_embeddings = false;
  return Weights::of(files.tensors, untied, files.path);
}

}  // namespace

void write_parameters(const ModelFiles& model, Rows& rows) {
  write_list(parameters_of(model), rows);
}

void write_seq2seq_summary(const ModelDirectory& directory, Rows& rows) {
  row(rows, "model", printable(directory.path(), 0));
  const Json root = directory.document(file_names::kConfig).root();
  row(rows, "model_type", root.find("model_type")->as_string());
  if (directory.kind() == ModelDirectory::Kind::recurrent) {
    write_recurrent(directory.recurrent_config(), rows);
  } else {
    const Seq2SeqConfig config = directory.seq2seq_config();
    write_half("encoder", config.encoder, rows);
    write_half("decoder", config.decoder, rows);
  }
  if (!weights_present(directory)) {
    row(rows, "weights", "none");
    return;
  }
  const TensorFiles files = open_tensor_files(directory);
  const Weights weights = all_tensors(files);
  const uint64_t parameters = total(stored_parameters(weights, nullptr));
  row(rows, "parameters", parameters);
  row(rows, "parameters_rounded", rounded(parameters));
  row(rows, "weights", printable(files.path, 0));
  row(rows, "dtype", dtypes_of(weights));
}

void write_seq2seq_parameters(const ModelDirectory& directory, Rows& rows) {
  const TensorFiles files = open_tensor_files(directory);
  write_list(stored_parameters(all_tensors(files), nullptr), rows);
}

void write_cpu(Rows& rows) {
  row(rows, "kernels", kernel_set());
  for (const Precision precision : {Precision::split, Precision::bf16, Precision::int8}) {
    row(rows, precision_name(precision), products_in(precision));
  }
  constexpr std::string_view kStates[] = {"ok", "ok, OPENBLAS_CORETYPE asked for weaker kernels",
                                          "missing"};
  row(rows, "blas_state", kStates[static_cast<size_t>(blas_state())]);
  row(rows, "blas_core", blas_core().empty() ? "unknown" : blas_core());
  if (const char* core = std::getenv("OPENBLAS_CORETYPE"))
    row(rows, "OPENBLAS_CORETYPE", printable(core));
  row(rows, "threads", static_cast<uint64_t>(allowed_cpus()));
}

}  // namespace bert
