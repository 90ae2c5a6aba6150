// finetune - train a model for a task on labelled examples. See man/finetune.1.
#include "trainers/finetune.h"

#include "common/run.h"
#include "common/training_options.h"
#include "finetune/options.h"
#include "trainers/few_shot.h"
#include "trainers/seeds.h"
#include "trainers/train_rank.h"
#include "trainers/train_vectors.h"

using namespace bert;

int main(int argc, char** argv) {
  tools::Command app{"Train a model for a task on labelled examples."};
  app.footer("finetune --train train.tsv --dev dev.tsv --header --output my-model");
  tools::FinetuneArguments arguments;
  tools::add_finetune_options(app, arguments);
  tools::TrainingOptions training(app, true,
                                  {.batch = "32, or 16 or 8 for few examples",
                                   .rate = "by the hidden size: 5e-5 for 768, 1e-4 for 384"});
  return tools::run(app, argc, argv, [&] {
    tools::settle(app, arguments);
    const auto train = arguments.few_shot                           ? few_shot
                       : arguments.job == tools::FinetuneJob::embed ? train_vectors
                       : arguments.job == tools::FinetuneJob::rank  ? train_rank
                                                                    : finetune;
    if (arguments.seeds.empty()) return training.train(arguments.finetune, train);
    return training.train(arguments.finetune, [&](const FinetuneOptions& options) {
      return finetune_seeds(options, arguments.seed_list, train);
    });
  });
}
