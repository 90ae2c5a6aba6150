#include "seq2seq/recomputed.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bert {
namespace {

class Recomputed : public Decoding {
 public:
  explicit Recomputed(const Seq2Seq& model) : model_(model) {}

  void add(const PackedBatch& sources) override {
    for (size_t s = 0; s < sources.sequences(); ++s) {
      const auto ids = std::span(sources.input_ids).subspan(sources.begin(s), sources.length(s));
      hypotheses_.push_back({{ids.begin(), ids.end()}, {}});
    }
  }
  size_t rows() const override { return hypotheses_.size(); }
  void step(std::span<const int32_t> tokens, Matrix hidden) override;
  void select(std::span<const size_t> rows) override {
    std::vector<Hypothesis> chosen;
    for (const size_t row : rows) chosen.push_back(hypotheses_[row]);
    hypotheses_ = std::move(chosen);
  }
  void use_team(Team* team) override { team_ = team; }

 private:
  struct Hypothesis {
    std::vector<int32_t> source, target;
  };
  static void append(PackedBatch& batch, const std::vector<int32_t>& ids) {
    batch.append(ids, std::vector<int32_t>(ids.size(), 0));
  }

  const Seq2Seq& model_;
  std::vector<Hypothesis> hypotheses_;
  Buffer hidden_;
  Team* team_ = nullptr;
};

void Recomputed::step(std::span<const int32_t> tokens, Matrix hidden) {
  PackedBatch sources, targets;
  for (size_t row = 0; row < tokens.size(); ++row) {
    hypotheses_[row].target.push_back(tokens[row]);
    append(sources, hypotheses_[row].source);
    append(targets, hypotheses_[row].target);
  }
  const Matrix all = hidden_.matrix(targets.tokens(), hidden.cols);  // [T, D]
  model_.teach(sources, targets, all, team_);
  for (size_t row = 0; row < tokens.size(); ++row) {
    std::copy_n(all.row(targets.cu_seq_lens[row + 1] - 1), hidden.cols, hidden.row(row));
  }
}

}  // namespace

std::unique_ptr<Decoding> recomputed_decoding(const Seq2Seq& model) {
  return std::make_unique<Recomputed>(model);
}

}  // namespace bert
