#include "training/token_head.h"

#include <vector>

#include "nn/loss.h"

namespace bert::training {
namespace {

nn::RecurrentShape bilstm_shape(const BilstmConfig& net, const ModelWeights& weights) {
  if (weights.bilstm.empty()) return {};
  return {Cell::lstm, weights.bilstm[0].input.weight.cols, net.hidden_size, net.num_layers, true};
}

}  // namespace

TokenHead::TokenHead(const HeadPlan& plan, const ModelWeights& weights, bool /*bf16*/)
    : Head(plan, weights), bilstm_(bilstm_shape(plan.config.bilstm, weights)) {}

Matrix TokenHead::through_bilstm(const HeadPass& pass, ConstMatrix x) {
  std::vector<nn::CellProducts> products;
  for (const nn::CellWeights& cell : weights_.bilstm) {
    products.push_back(nn::CellProducts::of(cell));
  }
  const Matrix out = bilstm_out_.matrix(x.rows, bilstm_.shape().output_size());
  bilstm_.forward(products, pass.batch.batch.cu_seq_lens, x, {}, out, {},
                  pass.dropout.at(pass.dropout.classifier, 0, kBilstmSite, pass.dropout.token_0));
  return out;
}

void TokenHead::add_losses(const HeadPass& pass, Tally& tally) {
  const nn::Dropout drop =
      pass.dropout.at(pass.dropout.classifier, 0, kHeadSite, pass.dropout.token_0);
  const bool bilstm = !weights_.bilstm.empty();
  const nn::NormPlan norm = norm_plan(plan_.config);
  ConstMatrix read = pass.hidden;
  if (!bilstm) {
    read = transform_.forward(transform_of(weights_), plan_.config.head_act, norm, pass.hidden);
  }
  Matrix x = input_.matrix(read.rows, read.cols);  // [T, H], or [T, W]
  copy(read, x);
  nn::dropout(drop, x);
  if (bilstm) x = through_bilstm(pass, x);
  const Matrix logits = logits_.matrix(x.rows, weights_.classifier.weight.rows);  // [T, labels]
  nn::linear_forward(weights_.classifier, x, logits);
  ConstMatrix teacher;
  if (!pass.batch.teacher.empty()) teacher = {pass.batch.teacher.data(), logits.rows, logits.cols};
  tally.token_loss += class_loss(logits, pass.batch.token_labels, teacher, pass.scale.token,
                                 pass.gradient, tally.tokens_right);
  if (!pass.gradient) return;
  if (bilstm) {
    const Matrix d_out = d_bilstm_.matrix(x.rows, x.cols);
    nn::linear_backward(weights_.classifier, x, logits, pass.gradient->classifier, d_out);
    bilstm_.backward(weights_.bilstm, d_out, {}, pass.gradient->bilstm, {}, {});
    return;
  }
  const Matrix d_read = d_read_.matrix(x.rows, x.cols);
  nn::linear_backward(weights_.classifier, x, logits, pass.gradient->classifier, d_read);
  nn::dropout(drop, d_read);
  transform_.backward(transform_of(weights_), plan_.config.head_act, norm, d_read,
                      transform_of(*pass.gradient), pass.d_hidden);
}

}  // namespace bert::training
