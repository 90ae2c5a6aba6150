#include "finetune/losses.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "base/error.h"

namespace bert::tools {
namespace {

/// The loss of this name among those of a task, its own first one if no name is given. Throws Error
/// if the task has none of this name.
template <typename Loss>
Loss loss_of(const std::string& name, std::initializer_list<std::pair<const char*, Loss>> losses,
             const char* task) {
  if (name.empty()) return losses.begin()->second;
  std::string known;
  for (const auto& [own, loss] : losses) {
    if (name == own) return loss;
    known += std::string(known.empty() ? "" : ", ") + own;
  }
  throw Error(Error::Kind::usage, "--loss",
              "found " + name + ", wants one of --task " + task + ": " + known);
}

}  // namespace

void set_loss(FinetuneArguments& o) {
  using nn::RankLoss, nn::VectorLoss;
  if (o.job == FinetuneJob::rank)
    o.finetune.rank_loss = loss_of<RankLoss>(o.loss,
                                             {{"bce", RankLoss::binary},
                                              {"mse", RankLoss::squared},
                                              {"listnet", RankLoss::listnet},
                                              {"lambda", RankLoss::lambda},
                                              {"margin-mse", RankLoss::margin},
                                              {"mnrl", RankLoss::ranking}},
                                             "rank");
  if (o.job == FinetuneJob::embed)
    o.finetune.vectors.loss.loss = loss_of<VectorLoss>(o.loss,
                                                       {{"mnrl", VectorLoss::ranking},
                                                        {"cosent", VectorLoss::cosent},
                                                        {"cosine", VectorLoss::cosine},
                                                        {"triplet", VectorLoss::triplet},
                                                        {"mse", VectorLoss::teacher}},
                                                       "embed");
}

}  // namespace bert::tools
