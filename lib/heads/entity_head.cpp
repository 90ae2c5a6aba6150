#include "heads/entity_head.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "directory/readers.h"
#include "model/recurrent_config.h"
#include "ops/kernels.h"
#include "ops/transposed.h"

namespace bert {
namespace {

using namespace open_entity_names;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// Columns [begin, begin + count) of a matrix of `cols`, or all of its rows as columns.
std::vector<float> part_of(const std::vector<float>& matrix, size_t cols, size_t begin,
                           size_t count) {
  std::vector<float> part;
  part.reserve(matrix.size() / cols * count);
  for (size_t row = 0; row < matrix.size(); row += cols) {
    const auto first = matrix.begin() + static_cast<ptrdiff_t>(row + begin);
    part.insert(part.end(), first, first + static_cast<ptrdiff_t>(count));
  }
  return part;
}

/// out = relu(a + b), [n]
void add_relu(const float* a, const float* b, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = std::max(a[i] + b[i], 0.f);
}

/// The vector of a word [G] from those of its pieces; zeros of none.
void pool(WordPooling pooling, ConstMatrix pieces, float* out) {
  const size_t g = pieces.cols;
  std::fill_n(out, g, 0.f);
  if (pieces.rows == 0) return;
  if (pooling == WordPooling::first || pooling == WordPooling::last) {
    std::copy_n(pieces.row(pooling == WordPooling::first ? 0 : pieces.rows - 1), g, out);
    return;
  }
  std::copy_n(pieces.row(0), g, out);
  for (size_t i = 1; i < pieces.rows; ++i) {
    const float* x = pieces.row(i);
    for (size_t k = 0; k < g; ++k) {
      out[k] = pooling == WordPooling::max ? std::max(out[k], x[k]) : out[k] + x[k];
    }
  }
  if (pooling == WordPooling::max) return;
  for (size_t k = 0; k < g; ++k) out[k] /= static_cast<float>(pieces.rows);
}

}  // namespace

Linear EntityHead::load(const Weights& weights, const std::string& name, size_t out, size_t in) {
  const std::vector<TensorSpec> specs = open_entity_linear(name, out, in);
  return weights.linear({specs.data(), 1}, weights.floats(specs[1]), Precision::split);
}

EntityHead::TwoLayers EntityHead::load_two(const Weights& weights, const std::string& name,
                                           size_t in, size_t inner, size_t out) {
  return {load(weights, name + ".0", inner, in), load(weights, name + ".3", out, inner)};
}

Linear EntityHead::keep(std::vector<float> weight, size_t out, size_t in, std::vector<float> bias) {
  made_.push_back(std::make_unique<std::vector<float>>(std::move(weight)));
  const auto* data = reinterpret_cast<const std::byte*>(made_.back()->data());
  return {WeightRef{data, DType::f32, out, in}, std::move(bias), Precision::split};
}

EntityHead EntityHead::open(const Model& model) {
  const Config& config = model.config();
  const Weights& weights = model.weights();
  require_head(model.directory(), config, weights, HeadKind::open_entities);
  EntityHead head;
  head.config_ = config.open_entities;
  const size_t g = head.config_.width;
  if (g != config.hidden_size) {
    head.projection_ = load(weights, kProjection, g, config.hidden_size);
  }
  head.load_rnn(weights);
  if (head.config_.of_words) {
    head.load_words(weights);
  } else {
    head.load_spans(weights);
  }
  return head;
}

void EntityHead::load_rnn(const Weights& weights) {
  const size_t g = config_.width;
  if (config_.rnn_layers == 0) return;
  shape_ = {Cell::lstm, g, g / 2, config_.rnn_layers, true};
  for (size_t layer = 0; layer < config_.rnn_layers; ++layer) {
    for (const bool reverse : {false, true}) {
      std::vector<TensorSpec> specs;
      add_cell_tensors(CellNames::of(kRnn, layer, reverse), Cell::lstm, g, g / 2, 0, specs);
      cells_.push_back(
          {weights.linear({specs.data(), 1}, weights.floats(specs[2]), Precision::split),
           weights.linear({&specs[1], 1}, weights.floats(specs[3]), Precision::f32)});
    }
  }
}

void EntityHead::load_spans(const Weights& weights) {
  const size_t g = config_.width;
  start_ = load_two(weights, kStart, g, 4 * g, g);
  end_ = load_two(weights, kEnd, g, 4 * g, g);
  name_ = load_two(weights, kName, g, 4 * g, g);
  const std::string span = kSpan;
  const auto first = open_entity_linear(span + ".0", 4 * g, 2 * g);
  const auto second = open_entity_linear(span + ".3", g, 4 * g);
  const std::vector<float> weight = weights.floats(first[0]);
  of_start_ = keep(part_of(weight, 2 * g, 0, g), 4 * g, g, weights.floats(first[1]));
  of_end_ = keep(part_of(weight, 2 * g, g, g), 4 * g, g, {});
  of_name_ = keep(transposed(weights.floats(second[0]), g), 4 * g, g, {});
  offset_ = weights.floats(second[1]);
}

void EntityHead::load_words(const Weights& weights) {
  const size_t g = config_.width;
  word_ = load(weights, kScorerWord, 2 * g, g);
  label_ = load(weights, kScorerName, 2 * g, g);
  const std::string scorer = kScorer;
  const auto first = open_entity_linear(scorer + ".0", 4 * g, 3 * g);
  const std::vector<float> weight = weights.floats(first[0]);
  of_word_ = keep(part_of(weight, 3 * g, 0, g), 4 * g, g, weights.floats(first[1]));
  of_label_ = keep(part_of(weight, 3 * g, g, g), 4 * g, g, {});
  of_product_ = keep(part_of(weight, 3 * g, 2 * g, g), 4 * g, g, {});
  output_ = load(weights, scorer + ".3", 3, 4 * g);
}

EntityScorer::EntityScorer(const EntityHead& head) : head_(head), stack_(head.shape_) {}

void EntityScorer::operator()(const PackedBatch& batch, ConstMatrix hidden,
                              std::span<const EntityTokens> tokens, double threshold,
                              Workspace& workspace, std::span<std::vector<EntityScore>> found) {
  LinearScratch& scratch = workspace.linear;
  ConstMatrix states = hidden;
  if (head_.projection_) {
    const Matrix projected = projected_.matrix(hidden.rows, head_.config_.width);
    head_.projection_(hidden, projected, Activation::none, scratch);
    states = projected;
  }
  gather(batch, states, tokens);
  run_rnn(scratch);
  const bool of_words = head_.config_.of_words;
  of_words ? prepare_words(scratch) : prepare_spans(scratch);
  finite_.clear();
  for (size_t s = 0; s < tokens.size(); ++s) {
    found[s].clear();
    finite_.push_back(of_words ? score_words(s, threshold, scratch, found[s])
                               : score_spans(s, threshold, found[s]));
  }
}

/// The vectors of all words and names.
void EntityScorer::gather(const PackedBatch& batch, ConstMatrix states,
                          std::span<const EntityTokens> tokens) {
  const size_t g = states.cols;
  cu_words_.assign(1, 0);
  cu_names_.assign(1, 0);
  for (const EntityTokens& one : tokens) {
    cu_words_.push_back(cu_words_.back() + one.words.size() - 1);
    cu_names_.push_back(cu_names_.back() + one.names.size());
  }
  words_ = words_buffer_.matrix(cu_words_.back(), g);
  names_ = names_buffer_.matrix(cu_names_.back(), g);
  for (size_t s = 0; s < tokens.size(); ++s) {
    const EntityTokens& one = tokens[s];
    for (size_t w = 0; w + 1 < one.words.size(); ++w) {
      const size_t count = one.words[w + 1] - one.words[w];
      pool(head_.config_.pooling, states.slice(batch.begin(s) + one.words[w], count),
           words_.row(cu_words_[s] + w));
    }
    for (size_t c = 0; c < one.names.size(); ++c) {
      std::copy_n(states.row(batch.begin(s) + one.names[c]), g, names_.row(cu_names_[s] + c));
    }
  }
}

void EntityScorer::run_rnn(LinearScratch& scratch) {
  if (head_.cells_.empty()) return;
  std::vector<nn::CellProducts> products;
  for (const nn::CellLinears& cell : head_.cells_) products.push_back(cell.products(scratch));
  const Matrix out = rnn_.matrix(words_.rows, words_.cols);
  stack_.forward(products, cu_words_, words_, {}, out, {});
  words_ = out;
}

/// last(W' relu(W x)), [rows of x, G]
ConstMatrix EntityScorer::two_layers(const EntityHead::TwoLayers& layers, ConstMatrix x,
                                     Activation last, Buffer& out, LinearScratch& scratch) {
  const Matrix inner = inner_.matrix(x.rows, layers.first.out_features());
  layers.first(x, inner, Activation::relu, scratch);
  const Matrix y = out.matrix(x.rows, layers.second.out_features());
  layers.second(inner, y, last, scratch);
  return y;
}

void EntityScorer::prepare_spans(LinearScratch& scratch) {
  const size_t inner = 4 * words_.cols;
  const auto part = [&](const Linear& layer, ConstMatrix x, Buffer& buffer) {
    const Matrix y = buffer.matrix(x.rows, inner);
    layer(x, y, Activation::none, scratch);
    return ConstMatrix(y);
  };
  of_begin_ = part(head_.of_start_,
                   two_layers(head_.start_, words_, Activation::relu, outer_, scratch), begin_);
  of_end_ =
      part(head_.of_end_, two_layers(head_.end_, words_, Activation::relu, outer_, scratch), end_);
  const ConstMatrix names = two_layers(head_.name_, names_, Activation::none, outer_, scratch);
  offsets_.clear();
  for (size_t c = 0; c < names.rows; ++c) {
    offsets_.push_back(dot(names.row(c), head_.offset_.data(), names.cols));
  }
  of_name_ = part(head_.of_name_, names, name_);
}

bool EntityScorer::score_spans(size_t s, double threshold, std::vector<EntityScore>& found) {
  const size_t words = cu_words_[s + 1] - cu_words_[s], names = cu_names_[s + 1] - cu_names_[s];
  const size_t inner = of_begin_.cols;
  const auto least = static_cast<float>(threshold);
  float* span = row_.reserve(inner);
  bool finite = true;
  for (size_t i = 0; i < words; ++i) {
    const size_t last = std::min(words, i + head_.config_.max_width);
    for (size_t j = i; j < last; ++j) {
      add_relu(of_begin_.row(cu_words_[s] + i), of_end_.row(cu_words_[s] + j), inner, span);
      for (size_t c = 0; c < names; ++c) {
        const size_t name = cu_names_[s] + c;
        const float score = sigmoid(dot(span, of_name_.row(name), inner) + offsets_[name]);
        finite = finite && std::isfinite(score);
        if (!(score > least)) continue;
        found.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(j + 1),
                         static_cast<uint32_t>(c), score});
      }
    }
  }
  return finite;
}

void EntityScorer::prepare_words(LinearScratch& scratch) {
  const size_t g = words_.cols;
  const Matrix word = word_.matrix(words_.rows, 2 * g), label = label_.matrix(names_.rows, 2 * g);
  head_.word_(words_, word, Activation::none, scratch);
  head_.label_(names_, label, Activation::none, scratch);
  of_word_ = word;
  of_label_ = label;
  const Matrix word_part = word_part_.matrix(words_.rows, 4 * g);
  const Matrix label_part = label_part_.matrix(names_.rows, 4 * g);
  head_.of_word_(columns(of_word_, 0, g), word_part, Activation::none, scratch);
  head_.of_label_(columns(of_label_, 0, g), label_part, Activation::none, scratch);
  of_begin_ = word_part;
  of_name_ = label_part;
}

/// [words of the sequence times its names, 3]
ConstMatrix EntityScorer::word_logits(size_t s, LinearScratch& scratch) {
  constexpr size_t kRows = 128;
  const size_t g = words_.cols;
  const size_t words = cu_words_[s + 1] - cu_words_[s], names = cu_names_[s + 1] - cu_names_[s];
  const Matrix logits = logits_.matrix(words * names, 3);
  for (size_t first = 0; first < logits.rows; first += kRows) {
    const size_t count = std::min(kRows, logits.rows - first);
    const Matrix products = products_.matrix(count, g), mixed = mixed_.matrix(count, 4 * g);
    const auto word = [&](size_t row) { return cu_words_[s] + (first + row) / names; };
    const auto name = [&](size_t row) { return cu_names_[s] + (first + row) % names; };
    for (size_t row = 0; row < count; ++row) {
      const float* a = of_word_.row(word(row)) + g;
      const float* b = of_label_.row(name(row)) + g;
      for (size_t k = 0; k < g; ++k) products.row(row)[k] = a[k] * b[k];
    }
    head_.of_product_(products, mixed, Activation::none, scratch);
    for (size_t row = 0; row < count; ++row) {
      float* y = mixed.row(row);
      const float* a = of_begin_.row(word(row));
      const float* b = of_name_.row(name(row));
      for (size_t k = 0; k < 4 * g; ++k) y[k] = std::max(y[k] + a[k] + b[k], 0.f);
    }
    head_.output_(mixed, logits.slice(first, count), Activation::none, scratch);
  }
  return logits;
}

bool EntityScorer::score_words(size_t s, double threshold, LinearScratch& scratch,
                               std::vector<EntityScore>& found) {
  const size_t words = cu_words_[s + 1] - cu_words_[s], names = cu_names_[s + 1] - cu_names_[s];
  const ConstMatrix logits = word_logits(s, scratch);
  const auto score = [&](size_t word, size_t name, size_t which) {
    return sigmoid(logits.row(word * names + name)[which]);
  };
  const auto least = static_cast<float>(threshold);
  bool finite = true;
  for (size_t i = 0; i < logits.rows; ++i) {
    const float* x = logits.row(i);
    finite = finite && std::isfinite(x[0]) && std::isfinite(x[1]) && std::isfinite(x[2]);
  }
  for (size_t i = 0; i < words; ++i) {
    for (size_t c = 0; c < names; ++c) {
      float lowest = score(i, c, 0);
      if (!(lowest > least)) continue;
      for (size_t j = i; j < words; ++j) {
        const float within = score(j, c, 2), last = score(j, c, 1);
        if (static_cast<double>(within) < threshold) break;
        lowest = std::min(lowest, within);
        if (!(last > least)) continue;
        found.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(j + 1),
                         static_cast<uint32_t>(c), std::min(lowest, last)});
      }
    }
  }
  return finite;
}

}  // namespace bert
