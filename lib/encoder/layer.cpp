#include "encoder/layer.h"

#include <algorithm>

#include "ops/kernels.h"

namespace bert {
namespace {

/// Rows that pass through the feed-forward block together: a batch of the tools' default size. With
/// fewer, weights that are cut or widened on their way (AMX) would be so for each part again.
constexpr size_t kRowsAtOnce = 512;

}  // namespace

AddNorm AddNorm::load(const Config& config, const Weights& weights, Role dense, Role norm,
                      size_t layer, Precision precision) {
  return {weights.linear(config, dense, precision, layer),
          weights.floats(tensor_spec(config, norm, Part::weight, layer)),
          weights.floats(tensor_spec(config, norm, Part::bias, layer)), config.layer_norm_eps};
}

void AddNorm::operator()(ConstMatrix x, ConstMatrix residual, Matrix output,
                         LinearScratch& scratch) const {
  dense(x, output, Activation::none, scratch, residual);
  layer_norm(output, norm_weight, norm_bias, eps, output);
}

Layer Layer::load(const Config& config, const Weights& weights, size_t index, Precision precision,
                  ConstMatrix position_bias) {
  Layer layer;
  layer.attention_ = AttentionWeights::load(config, weights, index, precision);
  layer.attention_.position_bias = position_bias;
  layer.attention_output_ = AddNorm::load(config, weights, Role::attention_output,
                                          Role::attention_norm, index, precision);
  layer.intermediate_ = weights.linear(config, Role::intermediate, precision, index);
  layer.output_ = AddNorm::load(config, weights, Role::output, Role::output_norm, index, precision);
  layer.hidden_act_ = config.hidden_act;
  return layer;
}

void Layer::forward(const PackedBatch& batch, Matrix hidden, Workspace& workspace,
                    const LayerTrace& trace, const AlikeTokens* alike) const {
  const Matrix context = workspace.context.matrix(hidden.rows, hidden.cols);  // [T, H]
  self_attention(attention_, batch, hidden, context, workspace.attention, workspace.linear, trace,
                 alike);
  finish(context, hidden, workspace, trace);
  trace.show(Traced::hidden, hidden);
}

Matrix Layer::forward_rows(const PackedBatch& batch, Matrix hidden, std::span<const size_t> rows,
                           Workspace& workspace) const {
  const Matrix context = workspace.context.matrix(hidden.rows, hidden.cols);  // [T, H]
  self_attention(attention_, batch, hidden, context, workspace.attention, workspace.linear);
  const Matrix kept = keep_rows(hidden, rows);  // [M, H]
  finish(keep_rows(context, rows), kept, workspace, {});
  return kept;
}

void Layer::finish(ConstMatrix context, Matrix hidden, Workspace& workspace,
                   const LayerTrace& trace) const {
  const size_t tokens = hidden.rows;
  const Matrix attended = workspace.attended.matrix(tokens, hidden.cols);  // [T, H]
  attention_output_(context, hidden, attended, workspace.linear);
  trace.show(Traced::attended, attended);

  // In blocks of B rows, which bound [B, I].
  for (size_t begin = 0; begin < tokens; begin += kRowsAtOnce) {
    const size_t rows = std::min(kRowsAtOnce, tokens - begin);
    const Matrix intermediate =
        workspace.intermediate.matrix(rows, intermediate_.out_features());  // [B, I]
    const ConstMatrix input = attended.slice(begin, rows);                  // [B, H]
    intermediate_(input, intermediate, hidden_act_, workspace.linear);
    trace.show({Traced::intermediate, 0, intermediate, 0, 0, begin});
    output_(intermediate, input, hidden.slice(begin, rows), workspace.linear);
  }
}

Matrix keep_rows(Matrix matrix, std::span<const size_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != i) std::copy_n(matrix.row(rows[i]), matrix.cols, matrix.row(i));
  }
  return matrix.slice(0, rows.size());
}

}  // namespace bert
