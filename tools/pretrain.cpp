// pretrain - train a model on plain text: masked LM and next sentence. See man/pretrain.1.
#include "trainers/pretrain.h"

#include "checkpoint/model_dir.h"
#include "common/run.h"
#include "common/training_options.h"

using namespace bert;

namespace {

void add(CLI::App& app, PretrainOptions& o, std::vector<std::string>& heads) {
  MaskingOptions& masking = o.data.masking;
  app.add_option("FILE", o.data.files,
                 "sentences, one per line, with an empty line between documents")
      ->required();
  app.add_option("--init", o.model, "model directory or name to start from")->type_name("DIR");
  app.add_option("--config", o.config, "config.json for a model from scratch")->type_name("FILE");
  app.add_option("--vocab", o.vocab, "vocab.txt for a model from scratch")->type_name("FILE");
  app.add_flag("--cased", o.cased, "the vocabulary has capitals and accents");
  app.add_option("--add-head", heads, "add a new head that the model lacks: mlm, nsp")
      ->check(CLI::IsMember({"mlm", "nsp"}))
      ->delimiter(',')
      ->type_name("NAME");
  app.add_flag_callback(
      "--no-nsp", [&o] { o.data.next_sentence = false; }, "only masked LM, on single segments");
  app.add_option("--dev", o.dev, "held-out text")->type_name("FILE");
  app.add_option("--dev-sequences", o.dev_sequences,
                 "sequences of the held-out text to use (default: 512)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--eval-steps", o.eval_every, "steps between output rows (default: 500)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--steps", o.steps, "steps of training (default: 10000)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--max-seq-length", o.data.max_length,
                 "tokens per sequence (default: 128, or fewer)")
      ->type_name("N");
  app.add_option("--mlm-probability", masking.mlm_probability,
                 "share of the tokens to predict (default: 0.15)")
      ->type_name("P");
  app.add_flag("--whole-word", masking.whole_word, "choose all pieces of a word together");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Train a model on plain text: masked LM and next sentence."};
  app.footer("pretrain text.txt --config config.json --vocab vocab.txt --steps 100 --output new");
  PretrainOptions options;
  options.save_every = 1000;
  std::vector<std::string> heads;
  add(app, options, heads);
  tools::TrainingOptions training(app);

  return tools::run(app, argc, argv, [&] {
    if (!options.model.empty()) options.model = resolve_model(options.model);
    for (const std::string& head : heads) {
      (head == "mlm" ? options.add_mlm : options.add_nsp) = true;
    }
    return training.train(options, pretrain);
  });
}
