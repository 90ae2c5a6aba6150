// multitask - train one trunk for several tasks at once. See man/multitask.1.
#include "trainers/multitask.h"

#include "checkpoint/model_dir.h"
#include "common/options.h"
#include "common/run.h"
#include "common/training_options.h"

using namespace bert;

int main(int argc, char** argv) {
  CLI::App app{"Train one trunk for several tasks at once."};
  app.footer("multitask tasks.tsv -m all-MiniLM-L6-v2 --steps 200 --output my-tasks");
  MultitaskOptions options;
  options.save_every = 1000;
  std::string model;
  app.add_option("tasks", options.tasks, "table of the tasks")->required()->type_name("FILE");
  tools::add_model(app, model, "model to start from (else $BERT_MODEL, else the default)");
  app.add_option("--steps", options.steps, "steps of training (default: 10000)")->type_name("N");
  app.add_option("--eval-steps", options.eval_every, "steps between output rows (default: 500)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  tools::TrainingOptions training(app, false);

  return tools::run(app, argc, argv, [&] {
    options.model = resolve_model(model);
    return training.train(options, finetune_tasks);
  });
}
