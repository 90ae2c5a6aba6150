// multitask - train one trunk for several tasks at once. See man/multitask.1.
#include "trainers/multitask.h"

#include "common/as_text.h"
#include "common/model_options.h"
#include "common/run.h"
#include "common/training_options.h"

using namespace bert;

int main(int argc, char** argv) {
  tools::Command app{"Train one trunk for several tasks at once."};
  app.footer("multitask tasks.tsv -m all-MiniLM-L6-v2 --steps 200 --output my-tasks");
  MultitaskOptions options;
  options.save_every = 1000;
  std::string model;
  app.add({"tasks", "table of the tasks", tools::text("FILE")}, options.tasks)->required();
  tools::add_model(app, model, "model to start from (else $BERT_MODEL, else the default)");
  tools::add_as_text(app, options.wanted);
  app.add({"--steps", "steps of training (default: 10000)", tools::whole()}, options.steps);
  app.add({"--eval-steps", "steps between output rows (default: 500)", tools::positive()},
          options.eval_every);
  tools::TrainingOptions training(app, false);

  return tools::run(app, argc, argv, [&] {
    options.model = ModelDirectory::open(model);
    return training.train(options, finetune_tasks);
  });
}
