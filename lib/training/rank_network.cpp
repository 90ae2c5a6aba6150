#include "training/rank_network.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "training/text_head.h"

namespace bert::training {
namespace {

class RankLane : public Lane {
 public:
  RankLane(const RankNetwork& network, const Layout& layout, float* values, float* gradient)
      : plan_(network.heads()[0]),
        weights_(ModelWeights::view(layout, network.config(), values, plan_.prefix())),
        gradient_(ModelWeights::view(layout, network.config(), gradient, plan_.prefix())),
        encoder_(network.config(), weights_, network.bf16()),
        head_(plan_, weights_, network.bf16()) {}

  void vectors(const TrainingBatch& part, const Pass& pass, Matrix out) override {
    part_ = part;  // its tokens must live until the way back
    key_ = pass.key;
    first_ = pass.sequence_0;
    hidden_ = encoder_.forward(part_.batch, dropout(pass));
    copy(head_.logits({part_, hidden_, {}, dropout(pass)}), out);
  }

  Tally learn(const TrainingBatch& part, const Pass& pass) override {
    const Matrix d = pass.d_vectors;
    // The last pass of vectors() may be this one.
    if (key_ != pass.key || first_ != pass.sequence_0 || part_.sequences() != part.sequences()) {
      vectors(part, pass, again_.matrix(d.rows, 1));
    }
    const Matrix d_hidden = d_hidden_.zeros(hidden_.rows, hidden_.cols);
    pass.turn.reach(kHeadStage);
    head_.logits_backward({part_, hidden_, {}, dropout(pass), &gradient_, d_hidden}, d);
    encoder_.backward(d_hidden, gradient_, pass.lowest, pass.turn);
    Tally tally;
    tally.input_tokens = part.batch.tokens();
    return tally;
  }

 private:
  DropoutPlan dropout(const Pass& pass) const {
    if (!pass.learns) return {};
    const DropoutRates& rates = plan_.dropout;
    return {rates.hidden, rates.attention, rates.classifier,
            pass.key,     pass.token_0,    pass.sequence_0};
  }

  const HeadPlan& plan_;
  const ModelWeights weights_, gradient_;
  Encoder encoder_;
  TextHead head_;
  TrainingBatch part_;  ///< what the last vectors() read
  uint64_t key_ = 0;
  size_t first_ = SIZE_MAX;
  ConstMatrix hidden_;
  Buffer again_, d_hidden_;
};

/// For each query, the number of pairs up to its last one.
std::vector<size_t> query_ends(const std::vector<int32_t>& queries) {
  std::vector<size_t> ends;
  for (size_t i = 0; i < queries.size(); ++i) {
    if (i + 1 == queries.size() || queries[i + 1] != queries[i]) ends.push_back(i + 1);
  }
  return ends;
}

}  // namespace

RankNetwork::RankNetwork(HeadPlan head, nn::RankLoss loss, bool bf16)
    : BertNetwork({std::move(head)}, bf16), loss_(loss) {}

std::unique_ptr<Lane> RankNetwork::lane(const Layout& layout, float* values,
                                        float* gradient) const {
  return std::make_unique<RankLane>(*this, layout, values, gradient);
}

Tally RankNetwork::count(const TrainingBatch& batch) const {
  Tally tally;
  const size_t count =
      nn::compares_texts(loss_) ? query_ends(batch.sequence_labels).size() : batch.sequences();
  tally.sequences = tally.labelled = static_cast<double>(count);
  return tally;
}

Tally RankNetwork::judge(const TrainingBatch& batch, ConstMatrix scores, Matrix gradient) const {
  Tally tally = count(batch);
  const std::vector<size_t> ends = query_ends(batch.sequence_labels);
  const std::span found(scores.data, scores.rows);
  std::span<float> d;
  if (gradient.data) d = {gradient.data, gradient.rows};
  tally.sequence_loss = tally.sequences * nn::rank_loss(loss_, {found, batch.values, ends}, d);
  const bool lists = nn::compares_texts(loss_);
  size_t first = 0;
  for (const size_t end : ends) {
    const auto labels = std::span(batch.values).subspan(first, end - first);
    const auto own = found.subspan(first, end - first);
    if (lists) {
      const auto best = std::max_element(own.begin(), own.end()) - own.begin();
      tally.sequences_right +=
          labels[static_cast<size_t>(best)] == *std::max_element(labels.begin(), labels.end());
    }
    const float middle = loss_ == nn::RankLoss::binary ? 0.f : 0.5f;
    for (size_t i = 0; !lists && i < own.size(); ++i) {
      tally.sequences_right += (own[i] > middle) == (labels[i] > 0.5f);
    }
    first = end;
  }
  return tally;
}

}  // namespace bert::training
