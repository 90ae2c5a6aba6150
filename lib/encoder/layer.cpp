#include "encoder/layer.h"

#include <algorithm>

#include "ops/kernels.h"

namespace bert {
namespace {

/// Rows that pass through the feed-forward block together: a batch of the tools' default size. With
/// fewer, weights that are cut or widened on their way (AMX) would be so for each part again.
constexpr size_t kRowsAtOnce = 512;

/// The residual that the last product of a block adds: none where an exit norm stands between.
ConstMatrix added_by_product(const Norm& exit_norm, ConstMatrix residual) {
  return exit_norm ? ConstMatrix() : residual;
}

/// x = norm(x) + residual, where there is an exit norm.
void leave(const Norm& exit_norm, ConstMatrix residual, Matrix x) {
  if (!exit_norm) return;
  exit_norm(x, x);
  add(residual, x);
}

}  // namespace

Layer Layer::load(const Config& config, const Weights& weights, size_t index, Precision precision,
                  const LayerContext& context) {
  Layer layer;
  const size_t stored = config.stored_layer(index);
  layer.attention_ =
      AttentionWeights::load(config, weights, stored, precision, context.bias, context.positions);
  layer.attention_.form.window = config.window(index);
  layer.attention_.form.ahead = config.bidirectional ? config.window(index) : 0;
  const bool local = layer.attention_.form.window != SIZE_MAX;
  layer.attention_.rotary = local ? config.local_rotary : config.rotary;
  layer.attention_output_ = weights.linear(config, Role::attention_output, precision, stored);
  if (has_module(config, Role::attention_norm, stored)) {
    layer.attention_norm_ = Norm::load(config, weights, Role::attention_norm, stored);
  }
  layer.gated_ = config.family->gated;
  const std::span<const Role> roles(kGateUp, layer.gated_ ? 2 : 1);
  layer.intermediate_ = weights.linear(config, roles, precision, stored);
  layer.output_ = weights.linear(config, Role::output, precision, stored);
  layer.output_norm_ = Norm::load(config, weights, Role::output_norm, stored);
  if (has_module(config, Role::attention_exit_norm)) {
    layer.attention_exit_norm_ = Norm::load(config, weights, Role::attention_exit_norm, stored);
    layer.output_exit_norm_ = Norm::load(config, weights, Role::output_exit_norm, stored);
  }
  layer.bottleneck_ = Bottleneck::load(config, weights, stored, precision);
  layer.hidden_act_ = config.hidden_act;
  layer.norms_before_ = config.family->norms != NormPlace::after;
  return layer;
}

Matrix Layer::attend(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace,
                     const LayerPass& pass) const {
  ConstMatrix input = hidden;  // [T, H]
  if (norms_before_ && attention_norm_) {
    const Matrix normed = workspace.attended.matrix(hidden.rows, hidden.cols);
    attention_norm_(hidden, normed);
    input = normed;
  }
  LayerPass own = pass;
  if (bottleneck_) {
    const Matrix shared = workspace.attended.matrix(hidden.rows, attention_.qkv.in_features());
    bottleneck_.share(hidden, shared, workspace);  // [T, B]
    input = shared;
    own.values = hidden;
  }
  pass.trace.show(Traced::attention_input, input);
  const Matrix context = workspace.context.matrix(hidden.rows, attention_.width());  // [T, A D]
  self_attention(attention_, batch, input, context, workspace.attention, workspace.linear, own);
  return context;
}

Matrix Layer::enter(Matrix hidden, Workspace& workspace) const {
  return bottleneck_ ? bottleneck_.enter(hidden, workspace) : hidden;
}

void Layer::forward(const PackedBatch& batch, Matrix hidden, Workspace& workspace,
                    const LayerPass& pass) const {
  const Matrix context = attend(batch, hidden, workspace, pass);
  finish(context, hidden, workspace, pass.trace);
}

Matrix Layer::forward_rows(const PackedBatch& batch, Matrix hidden, std::span<const size_t> rows,
                           Workspace& workspace, const LayerPass& pass) const {
  const Matrix context = attend(batch, hidden, workspace, pass);
  const Matrix kept = keep_rows(hidden, rows);  // [M, H]
  finish(keep_rows(context, rows), kept, workspace, {});
  return kept;
}

void Layer::finish(ConstMatrix context, Matrix hidden, Workspace& workspace,
                   const LayerTrace& trace) const {
  const size_t tokens = hidden.rows;
  const Matrix inner = enter(hidden, workspace);                          // [T, H] or [T, B]
  const Matrix attended = workspace.attended.matrix(tokens, inner.cols);  // as inner
  attention_output_(context, attended, Activation::none, workspace.linear,
                    added_by_product(attention_exit_norm_, inner));
  leave(attention_exit_norm_, inner, attended);
  if (!norms_before_) attention_norm_(attended, attended);
  trace.show(Traced::attended, attended);

  // In blocks of B rows, which bound [B, I].
  for (size_t begin = 0; begin < tokens; begin += kRowsAtOnce) {
    const size_t rows = std::min(kRowsAtOnce, tokens - begin);
    if (bottleneck_) bottleneck_.nets(attended.slice(begin, rows), hidden_act_, workspace);
    const ConstMatrix residual = attended.slice(begin, rows);  // [B, H]
    ConstMatrix input = residual;
    const Matrix output = inner.slice(begin, rows);
    if (norms_before_) {
      output_norm_(residual, output);
      input = output;
    }
    feed_forward(input, added_by_product(output_exit_norm_, residual), output, begin, workspace,
                 trace);
    leave(output_exit_norm_, residual, output);
    if (!norms_before_) output_norm_(output, output);
  }
  if (bottleneck_) bottleneck_.leave(inner, hidden, workspace);
}

void Layer::feed_forward(ConstMatrix input, ConstMatrix residual, Matrix output, size_t first,
                         Workspace& workspace, const LayerTrace& trace) const {
  trace.show({Traced::feed_forward_input, 0, input, 0, 0, first});
  Matrix intermediate =
      workspace.intermediate.matrix(input.rows, intermediate_.out_features());  // [B, I] or [B, 2I]
  intermediate_(input, intermediate, gated_ ? Activation::none : hidden_act_, workspace.linear);
  if (gated_) {
    gate(hidden_act_, intermediate);
    intermediate.cols /= 2;
  }
  trace.show({Traced::intermediate, 0, intermediate, 0, 0, first});
  output_(intermediate, output, Activation::none, workspace.linear, residual);
}

Matrix keep_rows(Matrix matrix, std::span<const size_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != i) std::copy_n(matrix.row(rows[i]), matrix.cols, matrix.row(i));
  }
  return matrix.slice(0, rows.size());
}

}  // namespace bert
