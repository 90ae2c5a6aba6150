#include "seq2seq/decoder_layer.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"
#include "model/schema.h"
#include "ops/kernels.h"

namespace bert {

DecoderLayer DecoderLayer::load(const Config& config, const Weights& weights, size_t index,
                                Precision precision, const BucketBias* bias) {
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
  layer.gated_ = config.family->gated;
  layer.norms_before_ = config.family->norms != NormPlace::after;
  layer.bias_ = bias;
  layer.intermediate_ = weights.linear(config, std::span<const Role>(kGateUp, layer.gated_ ? 2 : 1),
                                       precision, index);
  layer.net_output_ = linear(Role::output);
  layer.net_norm_ = norm(Role::output_norm);
  layer.act_ = config.hidden_act;
  layer.look_.heads = config.num_attention_heads;
  layer.look_.head_size = config.head_size();
  layer.look_.scale = 1.0f / std::sqrt(static_cast<float>(config.score_divisor()));
  layer.look_.values = config.num_attention_heads * config.head_size();
  return layer;
}

void DecoderLayer::source_pairs(ConstMatrix states, Matrix pairs, LinearScratch& scratch) const {
  cross_pairs_(states, pairs, Activation::none, scratch);
}

void DecoderLayer::look(ConstMatrix queries, const Places& places, const BucketBias* bias,
                        const Show* show, Matrix context, DecoderScratch& scratch) const {
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
      const size_t tables = (shows ? 2 : 0) + (bias ? 1 : 0);  // [heads, n] each
      float* floats = scratch.looks[part].reserve(look_.scratch(n) + tables * look_.heads * n);
      Matrix scores, weights;  // [heads, n]
      if (shows) {
        scores = {floats + look_.scratch(n), look_.heads, n};
        weights = {scores.row(look_.heads), look_.heads, n};
      }
      float* numbers = nullptr;
      if (bias) {
        numbers = floats + look_.scratch(n) + (tables - 1) * look_.heads * n;
        bias->of_last(n, {numbers, look_.heads, n});
      }
      look_(queries.row(row), keys, context.row(row), floats, scores, weights, numbers);
      if (shows) (*show)(row, scores, weights, {context.row(row), look_.heads, look_.head_size});
    }
  };
  if (parts == 1) return run(0);
  team->run([&](int part, int) { run(static_cast<size_t>(part)); });
}

ConstMatrix DecoderLayer::entry(const Norm& norm, ConstMatrix x, Buffer& buffer) const {
  if (!norms_before_) return x;
  const Matrix normed = buffer.matrix(x.rows, x.cols);
  norm(x, normed);
  return normed;
}

void DecoderLayer::attend_own(Matrix hidden, const Rows& rows, Matrix context,
                              DecoderScratch& scratch) const {
  const size_t count = hidden.rows, width = context.cols;  // R, AD
  const Matrix qkv = scratch.qkv.matrix(count, 3 * width);
  const Matrix attended = scratch.attended.matrix(count, hidden.cols);
  qkv_(entry(norm_, hidden, scratch.normed), qkv, Activation::none, scratch.linear);
  rows.keep({qkv.data + width, count, 2 * width, qkv.stride});
  look({qkv.data, count, width, qkv.stride}, rows.own, bias_, nullptr, context, scratch);
  output_(context, attended, Activation::none, scratch.linear, hidden);
  leave(norm_, attended);
}

/// scratch.attended -> hidden.
void DecoderLayer::attend_source(Matrix hidden, const Rows& rows, Matrix context,
                                 DecoderScratch& scratch) const {
  const Matrix attended = scratch.attended.matrix(hidden.rows, hidden.cols);
  const Matrix query = scratch.query.matrix(hidden.rows, context.cols);
  cross_query_(entry(cross_norm_, attended, scratch.normed), query, Activation::none,
               scratch.linear);
  look(query, rows.source, nullptr, &rows.show, context, scratch);
  for (const size_t head : off_) {
    for (size_t row = 0; row < hidden.rows; ++row) {
      std::fill_n(context.row(row) + head * look_.head_size, look_.head_size, 0.f);
    }
  }
  cross_output_(context, hidden, Activation::none, scratch.linear, attended);
  leave(cross_norm_, hidden);
}

void DecoderLayer::feed_forward(Matrix hidden, DecoderScratch& scratch) const {
  Matrix intermediate =
      scratch.intermediate.matrix(hidden.rows, intermediate_.out_features());  // [R, I] or [R, 2I]
  intermediate_(entry(net_norm_, hidden, scratch.normed), intermediate,
                gated_ ? Activation::none : act_, scratch.linear);
  if (gated_) {
    gate(act_, intermediate);
    intermediate.cols /= 2;
  }
  net_output_(intermediate, hidden, Activation::none, scratch.linear, hidden);
  leave(net_norm_, hidden);
}

void DecoderLayer::forward(Matrix hidden, const Rows& rows, DecoderScratch& scratch) const {
  const Matrix context = scratch.context.matrix(hidden.rows, look_.values);
  attend_own(hidden, rows, context, scratch);
  attend_source(hidden, rows, context, scratch);
  feed_forward(hidden, scratch);
}

}  // namespace bert
