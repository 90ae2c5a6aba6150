#include "seq2seq/recurrent_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "directory/weight_files.h"
#include "io/safetensors.h"
#include "model/recurrent_config.h"
#include "nn/recurrent_decoder.h"
#include "seq2seq/attention_collector.h"
#include "seq2seq/halves.h"

namespace bert {
namespace {

using namespace recurrent_names;

/// The tensors of a pair, by name and shape.
class Tensors {
 public:
  Tensors(const TensorFiles& files, const RecurrentConfig& config)
      : files_(files), specs_(recurrent_tensors(config)) {}

  /// Throws Error(data) if the tensor is missing or of another shape.
  const TensorView& at(std::string_view name) const {
    const auto named = [name](const auto& tensor) { return tensor.name == name; };
    const TensorSpec& spec = *std::find_if(specs_.begin(), specs_.end(), named);
    const auto found = std::find_if(files_.tensors.begin(), files_.tensors.end(), named);
    const bool is_there = found != files_.tensors.end();
    if (is_there && found->shape == spec.shape && is_float(found->dtype) && !found->blocked) {
      return *found;
    }
    throw Error(
        Error::Kind::data, files_.path,
        fmt::format("tensor {} is {}, wants floats of {}", name,
                    is_there ? shape_text(found->shape) : "missing", shape_text(spec.shape)));
  }
  WeightRef weight(std::string_view name) const {
    const TensorView& tensor = at(name);
    return {tensor.data, tensor.dtype, tensor.shape[0], tensor.shape[1]};
  }
  nn::CellLinears cell(std::string_view module, size_t layer, bool reverse,
                       Precision precision) const {
    const CellNames names = CellNames::of(module, layer, reverse);
    const auto linear = [&](std::string_view matrix, std::string_view bias) {
      std::vector<float> offsets = at(bias).floats();  // first, so that its fault is told
      return Linear(weight(matrix), std::move(offsets), precision);
    };
    return {linear(names.weight_ih, names.bias_ih), linear(names.weight_hh, names.bias_hh)};
  }

 private:
  const TensorFiles& files_;
  const std::vector<TensorSpec> specs_;
};

void copy_row(ConstMatrix from, size_t row, Matrix to, size_t to_row) {
  std::copy_n(from.row(row), from.cols, to.row(to_row));
}

}  // namespace

struct RecurrentPair::State {
  RecurrentConfig config;
  TensorFiles files;
  GenerationConfig generation;
  Precision precision = Precision::f32;
  const TensorView* source_words = nullptr;  ///< [V, E]
  const TensorView* target_words = nullptr;  ///< [V, E]
  std::vector<nn::CellLinears> encoder, decoder;
  Linear query, key;         ///< projections of additive attention
  std::vector<float> score;  ///< [A]
  OutputLayer output;
  bool ablated = false;  ///< its attention

  bool has_memory() const { return config.cell == Cell::lstm; }
  std::optional<nn::Score> kind_of_score() const {
    if (config.attention == RecurrentAttention::none) return std::nullopt;
    return config.attention == RecurrentAttention::dot ? nn::Score::dot : nn::Score::additive;
  }
  void embed(const TensorView& words, const char* half, std::span<const int32_t> ids,
             Matrix rows) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= config.vocab_size) {
        throw Error(Error::Kind::data, config.path,
                    fmt::format("token id {} is outside the {}'s vocabulary of {}", ids[i], half,
                                config.vocab_size));
      }
      words.row(static_cast<size_t>(ids[i]), {rows.row(i), config.embedding_size});
    }
  }
};

/// What the encoder made of some sources.
struct RecurrentPair::Sources {
  std::vector<size_t> ends;  ///< [S + 1]
  Buffer key_buffer, hidden_buffer;
  Matrix keys;                         ///< [T, H], without attention of no use
  Matrix key_hidden;                   ///< [T, A] of additive attention
  std::vector<Buffer> hidden, memory;  ///< [S, H] for each layer: the decoder's first states

  static std::shared_ptr<const Sources> make(const State& state, const PackedBatch& batch,
                                             LinearScratch& scratch);
  ConstMatrix of(size_t source, ConstMatrix rows) const {
    return rows.data ? rows.slice(ends[source], ends[source + 1] - ends[source]) : ConstMatrix();
  }
};

std::shared_ptr<const RecurrentPair::Sources> RecurrentPair::Sources::make(const State& state,
                                                                           const PackedBatch& batch,
                                                                           LinearScratch& scratch) {
  const RecurrentConfig& config = state.config;
  const size_t h = config.hidden_size, width = config.encoder_hidden_size();
  auto made = std::make_shared<Sources>();
  made->ends = batch.cu_seq_lens;
  made->keys = made->key_buffer.matrix(batch.tokens(), h);
  Buffer word_buffer;
  const Matrix words = word_buffer.matrix(batch.tokens(), config.embedding_size);  // [T, E]
  state.embed(*state.source_words, "encoder", batch.input_ids, words);
  std::vector<nn::CellProducts> products;
  std::vector<nn::RecurrentState> last;
  made->hidden.resize(config.num_layers);
  made->memory.resize(config.num_layers);
  for (size_t i = 0; i < state.encoder.size(); ++i) {
    products.push_back(state.encoder[i].products(scratch));
    // Each direction writes its columns of the layer's state.
    const size_t layer = i / config.directions(), column = i % config.directions() * width;
    const auto part = [&](Buffer& buffer) {
      const Matrix all = buffer.matrix(batch.sequences(), h);
      return Matrix(all.data + column, all.rows, width, h);
    };
    last.push_back(
        {part(made->hidden[layer]), state.has_memory() ? part(made->memory[layer]) : Matrix()});
  }
  nn::RecurrentStack stack(
      {config.cell, config.embedding_size, width, config.num_layers, config.bidirectional});
  stack.forward(products, batch.cu_seq_lens, words, {}, made->keys, last);
  if (state.key) {
    made->key_hidden = made->hidden_buffer.matrix(batch.tokens(), config.attention_size);
    state.key(made->keys, made->key_hidden, Activation::none, scratch);
  }
  return made;
}

/// Sees what a row looked at: scores and weights [1, m], context [1, H].
using Show =
    std::function<void(size_t row, ConstMatrix scores, ConstMatrix weights, ConstMatrix context)>;

/// Hypotheses with their states.
class RecurrentPair::Live : public Decoding {
 public:
  explicit Live(const State& state) : state_(state), layers_(state.config.num_layers) {}

  void add(const PackedBatch& sources) override;
  size_t rows() const override { return owners_.size(); }
  void step(std::span<const int32_t> tokens, Matrix hidden) override { step(tokens, hidden, {}); }
  void select(std::span<const size_t> rows) override;
  void use_team(Team* team) override { scratch_.team = team; }

  void step(std::span<const int32_t> tokens, Matrix hidden, const Show& show);

 private:
  struct Owner {
    std::shared_ptr<const Sources> sources;
    size_t source = 0;  ///< number among these sources
  };
  /// The states of all rows in one layer, and room for the next ones.
  struct Layer {
    std::vector<float> hidden, memory, next_hidden, next_memory;  ///< [R, H]
  };
  Matrix view(std::vector<float>& states) const {
    if (states.empty()) return {};
    return {states.data(), rows(), state_.config.hidden_size};
  }
  /// The attention vectors of all rows: context [R, H].
  void attend(Matrix context, const Show& show);
  /// A step of one layer: x [R, D] -> the new h [R, H].
  Matrix advance(size_t layer, ConstMatrix x);

  const State& state_;
  std::vector<Owner> owners_;
  std::vector<Layer> layers_;
  Buffer input_, query_, gates_, recurrent_, attention_, attention_scratch_;
  LinearScratch scratch_;
};

void RecurrentPair::Live::add(const PackedBatch& sources) {
  const size_t h = state_.config.hidden_size;
  const auto made = Sources::make(state_, sources, scratch_);
  for (size_t s = 0; s < sources.sequences(); ++s) owners_.push_back({made, s});
  const auto append = [&](const Buffer& from, std::vector<float>& to) {
    to.insert(to.end(), from.data(), from.data() + sources.sequences() * h);
  };
  for (size_t l = 0; l < layers_.size() && sources.sequences() > 0; ++l) {
    append(made->hidden[l], layers_[l].hidden);
    if (state_.has_memory()) append(made->memory[l], layers_[l].memory);
  }
}

void RecurrentPair::Live::select(std::span<const size_t> rows) {
  const auto choose = [&](std::vector<float>& states, std::vector<float>& chosen) {
    if (states.empty()) return;
    const auto width = static_cast<ptrdiff_t>(state_.config.hidden_size);
    chosen.clear();
    for (const size_t row : rows) {
      const auto begin = states.begin() + static_cast<ptrdiff_t>(row) * width;
      chosen.insert(chosen.end(), begin, begin + width);
    }
    states.swap(chosen);
  };
  for (Layer& layer : layers_) {
    choose(layer.hidden, layer.next_hidden);
    choose(layer.memory, layer.next_memory);
  }
  std::vector<Owner> owners;
  for (const size_t row : rows) owners.push_back(owners_[row]);
  owners_ = std::move(owners);
}

void RecurrentPair::Live::attend(Matrix context, const Show& show) {
  const nn::Score score = *state_.kind_of_score();
  Matrix queries = view(layers_.back().hidden);  // before the step
  if (state_.query) {
    const Matrix hidden = query_.matrix(rows(), state_.config.attention_size);
    state_.query(queries, hidden, Activation::none, scratch_);
    queries = hidden;
  }
  for (size_t row = 0; row < rows(); ++row) {
    const auto& [sources, source] = owners_[row];
    const ConstMatrix keys = sources->of(source, sources->keys);
    const Matrix seen = attention_.matrix(2, keys.rows);  // scores, weights
    nn::attend_to_source(score, state_.score.data(), queries.row(row), keys,
                         sources->of(source, sources->key_hidden), seen.row(1), context.row(row),
                         attention_scratch_, seen.row(0));
    if (state_.ablated) std::fill_n(context.row(row), context.cols, 0.f);
    if (show) show(row, seen.slice(0, 1), seen.slice(1, 1), context.slice(row, 1));
  }
}

Matrix RecurrentPair::Live::advance(size_t l, ConstMatrix x) {
  Layer& layer = layers_[l];
  const Cell cell = state_.config.cell;
  const size_t wide = gates_of(cell) * state_.config.hidden_size;
  const Matrix gates = gates_.matrix(rows(), wide), recurrent = recurrent_.matrix(rows(), wide);
  layer.next_hidden.resize(layer.hidden.size());
  layer.next_memory.resize(layer.memory.size());
  const Matrix hidden = view(layer.hidden), next = view(layer.next_hidden);
  state_.decoder[l].input(x, gates, Activation::none, scratch_);
  state_.decoder[l].hidden(hidden, recurrent, Activation::none, scratch_);
  nn::cell_forward(cell, gates, recurrent, hidden, view(layer.memory), next,
                   view(layer.next_memory));
  layer.hidden.swap(layer.next_hidden);
  layer.memory.swap(layer.next_memory);
  return view(layer.hidden);
}

void RecurrentPair::Live::step(std::span<const int32_t> tokens, Matrix hidden, const Show& show) {
  const size_t e = state_.config.embedding_size, c = state_.config.context_size();
  const Matrix input = input_.matrix(rows(), e + c);  // [R, E + C]
  state_.embed(*state_.target_words, "decoder", tokens, input);
  if (rows() == 0) return;
  if (c > 0) attend({input.data + e, rows(), c, input.stride}, show);
  ConstMatrix x = input;
  for (size_t l = 0; l < layers_.size(); ++l) x = advance(l, x);
  for (size_t row = 0; row < rows(); ++row) copy_row(x, row, hidden, row);
}

RecurrentPair::RecurrentPair() : state_(std::make_unique<State>()) {}
RecurrentPair::~RecurrentPair() = default;

std::unique_ptr<RecurrentPair> RecurrentPair::open(const ModelDirectory& directory,
                                                   std::optional<Precision> precision) {
  std::unique_ptr<RecurrentPair> model(new RecurrentPair);
  State& state = *model->state_;
  state.config = directory.recurrent_config();
  state.files = open_tensor_files(directory);
  state.precision = precision.value_or(Precision::f32);
  const RecurrentConfig& config = state.config;
  state.generation = directory.generation_config(SIZE_MAX, config.vocab_size);
  const Tensors tensors(state.files, config);
  state.source_words = &tensors.at(kSourceWords);
  state.target_words = &tensors.at(kTargetWords);
  for (size_t l = 0; l < config.num_layers; ++l) {
    for (size_t d = 0; d < config.directions(); ++d) {
      state.encoder.push_back(tensors.cell(kEncoder, l, d == 1, state.precision));
    }
    state.decoder.push_back(tensors.cell(kDecoder, l, false, state.precision));
  }
  if (config.attention == RecurrentAttention::additive) {
    state.query = Linear(tensors.weight(kQuery), {}, state.precision);
    state.key = Linear(tensors.weight(kKey), {}, state.precision);
    state.score = tensors.at(kScore).floats();
  }
  std::vector<float> output_bias = tensors.at(kOutputBias).floats();
  state.output = OutputLayer(tensors.weight(kOutput), std::move(output_bias), state.precision);
  return model;
}

const GenerationConfig& RecurrentPair::generation() const { return state_->generation; }
Precision RecurrentPair::precision() const { return state_->precision; }
size_t RecurrentPair::max_source_tokens() const { return SIZE_MAX; }
size_t RecurrentPair::max_target_tokens() const { return SIZE_MAX; }
size_t RecurrentPair::source_vocab_size() const { return state_->config.vocab_size; }
const OutputLayer& RecurrentPair::output() const { return state_->output; }
size_t RecurrentPair::attention_layers() const { return state_->kind_of_score() ? 1 : 0; }
size_t RecurrentPair::attention_heads() const { return attention_layers(); }
std::unique_ptr<Decoding> RecurrentPair::start() const { return std::make_unique<Live>(*state_); }
void RecurrentPair::ablate(std::span<const HeadPlace> heads) {
  state_->ablated = state_->ablated || !heads.empty();  // there is but one
}
const std::string& RecurrentPair::path() const { return state_->files.path; }
std::vector<NonFinite> RecurrentPair::non_finite() const { return bert::non_finite(state_->files); }
void RecurrentPair::hold() const {
  for (MappedFile& file : state_->files.files) file.hold();
}

/// The longest targets come first, so that the rows of a step are the first rows of the step
/// before.
void RecurrentPair::teach(const PackedBatch& sources, const PackedBatch& targets, Matrix hidden,
                          Team* team, const AttentionTrace* trace) const {
  const nn::TimeMajor time(targets.cu_seq_lens, false);
  Live live(*state_);
  live.use_team(team);
  live.add(sources);
  std::vector<size_t> order(time.order().begin(), time.order().end());
  std::optional<AttentionCollector> collector;
  if (trace) collector.emplace(sources, targets, *trace, state_->config.hidden_size);
  std::vector<int32_t> tokens;
  Buffer step_hidden;
  for (size_t step = 0; step < time.steps(); ++step) {
    order.resize(time.size(step));
    if (order.size() != live.rows() || step == 0) live.select(order);
    std::iota(order.begin(), order.end(), size_t{0});  // from here on rows are in this order
    const auto token_of = time.token_of().subspan(time.begin(step), order.size());
    tokens.clear();
    for (const size_t token : token_of) tokens.push_back(targets.input_ids[token]);
    const Matrix rows = step_hidden.matrix(order.size(), state_->config.hidden_size);
    Show show;
    if (trace) {
      show = [&](size_t row, ConstMatrix scores, ConstMatrix weights, ConstMatrix context) {
        collector->note(0, token_of[row], scores, weights, context);
      };
    }
    live.step(tokens, rows, show);
    for (size_t i = 0; i < order.size(); ++i) copy_row(rows, i, hidden, token_of[i]);
  }
  if (trace) collector->show();
}

}  // namespace bert
