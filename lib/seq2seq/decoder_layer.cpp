#include "seq2seq/decoder_layer.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"
#include "model/schema.h"

namespace bert {

DecoderLayer DecoderLayer::load(const Config& config, const Weights& weights, size_t index,
                                Precision precision) {
  const auto linear = [&](Role role) { return weights.linear(config, role, precision, index); };
  const auto norm = [&](Role role) { return Norm::load(config, weights, role, index); };
  DecoderLayer layer;
  layer.qkv_ = weights.linear(config, kQueryKeyValue, precision, index);
  layer.output_ = linear(Role::attention_output);
  layer.norm_ = norm(Role::attention_norm);
  layer.cross_query_ = linear(Role::cross_query);
  layer.cross_pairs_ = weights.linear(config, kCrossKeyValue, precision, index);
  layer.cross_output_ = linear(Role::cross_output);
  layer.cross_norm_ = norm(Role::cross_norm);
  layer.intermediate_ = linear(Role::intermediate);
  layer.net_output_ = linear(Role::output);
  layer.net_norm_ = norm(Role::output_norm);
  layer.act_ = config.hidden_act;
  layer.look_.heads = config.num_attention_heads;
  layer.look_.head_size = config.head_size();
  layer.look_.scale = 1.0f / std::sqrt(static_cast<float>(config.head_size()));
  layer.look_.values = config.hidden_size;
  return layer;
}

void DecoderLayer::source_pairs(ConstMatrix states, Matrix pairs, LinearScratch& scratch) const {
  cross_pairs_(states, pairs, Activation::none, scratch);
}

void DecoderLayer::look(ConstMatrix queries, const Places& places, const Show* show, Matrix context,
                        DecoderScratch& scratch) const {
  const bool shows = show && *show;
  Team* team = shows ? nullptr : scratch.linear.team;
  const size_t parts = team ? static_cast<size_t>(team->size()) : 1;
  if (scratch.keys.size() < parts) scratch.keys.resize(parts);
  if (scratch.looks.size() < parts) scratch.looks.resize(parts);
  const auto run = [&](size_t part) {
    std::vector<const float*>& keys = scratch.keys[part];
    const size_t end = queries.rows * (part + 1) / parts;
    for (size_t row = queries.rows * part / parts; row < end; ++row) {
      keys.clear();
      places(row, keys);
      const size_t n = keys.size();
      float* floats =
          scratch.looks[part].reserve(look_.scratch(n) + (shows ? 2 * look_.heads * n : 0));
      Matrix scores, weights;  // [heads, n]
      if (shows) {
        scores = {floats + look_.scratch(n), look_.heads, n};
        weights = {scores.row(look_.heads), look_.heads, n};
      }
      look_(queries.row(row), keys, context.row(row), floats, scores, weights);
      if (shows) (*show)(row, scores, weights, {context.row(row), look_.heads, look_.head_size});
    }
  };
  if (parts == 1) return run(0);
  team->run([&](int part, int) { run(static_cast<size_t>(part)); });
}

void DecoderLayer::forward(Matrix hidden, const Rows& rows, DecoderScratch& scratch) const {
  const size_t count = hidden.rows, width = hidden.cols;  // R, H
  LinearScratch& linear = scratch.linear;
  const Matrix qkv = scratch.qkv.matrix(count, 3 * width);
  const Matrix context = scratch.context.matrix(count, width);
  const Matrix attended = scratch.attended.matrix(count, width);
  qkv_(hidden, qkv, Activation::none, linear);
  rows.keep({qkv.data + width, count, 2 * width, qkv.stride});
  look({qkv.data, count, width, qkv.stride}, rows.own, nullptr, context, scratch);
  output_(context, attended, Activation::none, linear, hidden);
  norm_(attended, attended);

  const Matrix query = scratch.query.matrix(count, width);
  cross_query_(attended, query, Activation::none, linear);
  look(query, rows.source, &rows.show, context, scratch);
  for (const size_t head : off_) {
    for (size_t row = 0; row < count; ++row) {
      std::fill_n(context.row(row) + head * look_.head_size, look_.head_size, 0.f);
    }
  }
  cross_output_(context, hidden, Activation::none, linear, attended);
  cross_norm_(hidden, hidden);

  const Matrix intermediate =
      scratch.intermediate.matrix(count, intermediate_.out_features());  // [R, I]
  intermediate_(hidden, intermediate, act_, linear);
  net_output_(intermediate, hidden, Activation::none, linear, hidden);
  net_norm_(hidden, hidden);
}

}  // namespace bert
