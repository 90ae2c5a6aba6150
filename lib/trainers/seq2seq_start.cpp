#include "trainers/seq2seq_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/weight_files.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "model/generation_config.h"
#include "model/seq2seq_config.h"
#include "seq2seq/halves.h"
#include "trainers/beginning.h"
#include "training/recurrent_network.h"
#include "training/transformer_network.h"

namespace bert {
namespace {

using training::Layout;

constexpr size_t kMaxLength = 512;  // tokens of a source or target of a new model

Cell cell_of(Seq2SeqNet net) {
  return net == Seq2SeqNet::rnn ? Cell::rnn : net == Seq2SeqNet::gru ? Cell::gru : Cell::lstm;
}

/// The files of `directory` that are no weights, but config.json.
NamedFiles files_of(const ModelDirectory& directory) {
  NamedFiles files = tokenizer_files(directory);
  if (directory.has(file_names::kGeneration)) {
    const std::string path = directory.file(file_names::kGeneration);
    files.emplace_back(file_names::kGeneration, MappedFile::open(path).text());
  }
  return files;
}

/// Sets the values of tensors that stand in files under their own names.
void load_by_name(const ModelDirectory& directory, const Layout& layout, float* values) {
  const TensorFiles files = open_tensor_files(directory);
  for (const training::Parameter& p : layout.parameters()) {
    const auto found = std::find_if(files.tensors.begin(), files.tensors.end(),
                                    [&](const TensorView& t) { return t.name == p.name; });
    if (found == files.tensors.end() || found->shape != p.shape || found->blocked) {
      throw Error(Error::Kind::data, files.path,
                  fmt::format("tensor {} is missing or has another shape", p.name));
    }
    const std::vector<float> floats = found->floats();
    std::copy(floats.begin(), floats.end(), values + p.offset);
  }
}

/// Makes a Seq2SeqStart.
class Starter {
 public:
  explicit Starter(const TrainSeq2SeqOptions& options) : options_(options) {}

  Seq2SeqStart from_scratch(std::span<const TextPair> train) {
    TrainPiecesOptions units;
    units.units = options_.units;
    units.vocab_size = options_.vocab_size;
    const Beginning beginning(options_.output, learn_units(train, units, max_length()));
    const ModelDirectory directory(beginning.path());
    start_.tokenizers.emplace(TranslationTokenizers::open(directory));
    const Tokenizer& tokenizer = start_.tokenizers->source;
    const auto id = [&](std::string_view token) { return *tokenizer.token_to_id(token); };
    const int32_t eos = id("</s>"), pad = id("<pad>");
    const bool recurrent = options_.net != Seq2SeqNet::transformer;
    const std::string json = recurrent ? recurrent_config(tokenizer.vocab_size(), eos, pad)
                                       : transformer_config(tokenizer.vocab_size(), eos, pad);
    beginning.add(file_names::kConfig, json);
    beginning.add(file_names::kGeneration, greedy_generation_config(max_length(), eos, pad));
    start_.files = files_of(directory);
    start_.files.emplace_back(file_names::kConfig, json);
    if (recurrent) {
      set_recurrent(directory.recurrent_config());
    } else {
      set_transformer(directory, directory.seq2seq_config());
    }
    const auto range = static_cast<float>(deviation());
    start_.fill = [range, seed = options_.learner.seed](const Layout& layout, float* values) {
      training::draw_parameters(layout, seed, range, values);
    };
    return std::move(start_);
  }

  Seq2SeqStart from_model() {
    const ModelDirectory& directory = options_.model;
    const Json root = directory.document(file_names::kConfig).root();
    if (RecurrentConfig::is(root)) {
      const RecurrentConfig config = directory.recurrent_config();
      start_.tokenizers.emplace(TranslationTokenizers::open(directory));
      set_recurrent(config);
      start_.fill = [directory](const Layout& layout, float* values) {
        load_by_name(directory, layout, values);
      };
    } else {
      const auto halves = std::make_shared<const Halves>(Halves::open(directory));
      start_.tokenizers.emplace(TranslationTokenizers::open(directory));
      const training::TransformerNetwork* network = set_transformer(directory, halves->config);
      start_.fill = [halves, network](const Layout& layout, float* values) {
        network->load(*halves->encoder, *halves->decoder, layout, values);
      };
    }
    start_.files = files_of(directory);
    start_.files.emplace_back(file_names::kConfig,
                              edit_config(root, {{"dtype", "\"float32\""}, {"torch_dtype", ""}}));
    return std::move(start_);
  }

 private:
  /// The standard deviation of new tensors.
  double deviation() const { return 1 / std::sqrt(static_cast<double>(options_.hidden_size)); }
  size_t max_length() const { return options_.max_length > 0 ? options_.max_length : kMaxLength; }

  std::string transformer_config(size_t vocab, int32_t eos, int32_t pad) const {
    MarianShape shape;
    shape.vocab_size = vocab;
    shape.layers = options_.layers > 0 ? options_.layers : 2;
    shape.hidden_size = options_.hidden_size;
    shape.heads = options_.heads;
    shape.intermediate_size =
        options_.intermediate_size > 0 ? options_.intermediate_size : 4 * options_.hidden_size;
    shape.max_positions = max_length();
    shape.dropout = options_.dropout.value_or(0);
    shape.init_std = deviation();
    shape.eos = eos;
    shape.pad = pad;
    return marian_config(shape);
  }

  std::string recurrent_config(size_t vocab, int32_t eos, int32_t pad) const {
    RecurrentConfig config;
    config.cell = cell_of(options_.net);
    config.attention = options_.attention;
    config.vocab_size = vocab;
    config.embedding_size = config.hidden_size = config.attention_size = options_.hidden_size;
    config.num_layers = options_.layers > 0 ? options_.layers : 1;
    config.decoder_start_token_id = pad;
    config.eos_token_id = eos;
    return config.text();
  }

  const training::TransformerNetwork* set_transformer(const ModelDirectory& directory,
                                                      const Seq2SeqConfig& config) {
    training::TransformerPlan plan;
    plan.config = config;
    const Config& decoder = config.decoder;
    const size_t positions = std::min(config.encoder.max_tokens(), decoder.max_tokens());
    if (options_.max_length > positions) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants at most {}, the model's positions",
                                        options_.max_length, positions));
    }
    start_.max_tokens = options_.max_length > 0 ? options_.max_length : positions;
    plan.target.start = directory.generation_config(decoder.max_tokens(), decoder.vocab_size).start;
    plan.target.label_smoothing = static_cast<float>(options_.label_smoothing);
    plan.target.teacher_forcing = options_.teacher_forcing;
    plan.target.unknown = start_.tokenizers->target.unk_id();
    plan.dropout = options_.dropout
                       ? training::DropoutRates::all(*options_.dropout)
                       : training::DropoutRates::of(decoder, training::Objective::masked_lm);
    plan.bf16 = options_.learner.bf16;
    start_.text = fmt::format("Transformer, layers {} + {}, hidden size {}, heads {}",
                              config.encoder.num_hidden_layers, decoder.num_hidden_layers,
                              decoder.hidden_size, decoder.num_attention_heads);
    auto network = std::make_unique<training::TransformerNetwork>(std::move(plan));
    const training::TransformerNetwork* made = network.get();
    start_.network = std::move(network);
    return made;
  }

  void set_recurrent(const RecurrentConfig& config) {
    if (options_.learner.bf16) {
      throw Error::of_field("dtype", "found bf16, wants f32: recurrent networks learn in floats");
    }
    training::RecurrentTraining plan;
    plan.dropout = options_.dropout.value_or(0);
    plan.label_smoothing = options_.label_smoothing;
    plan.teacher_forcing = options_.teacher_forcing;
    plan.unknown = start_.tokenizers->target.unk_id();
    start_.max_tokens = max_length();
    start_.text = fmt::format("{}, layers {}, hidden size {}, attention {}", cell_word(config.cell),
                              config.num_layers, config.hidden_size,
                              recurrent_attention_word(config.attention));
    start_.network = std::make_unique<training::RecurrentNetwork>(config, plan);
  }

  const TrainSeq2SeqOptions& options_;
  Seq2SeqStart start_;
};

}  // namespace

Seq2SeqStart start_of(const TrainSeq2SeqOptions& options, std::span<const TextPair> train) {
  Starter starter(options);
  return options.model.empty() ? starter.from_scratch(train) : starter.from_model();
}

}  // namespace bert
