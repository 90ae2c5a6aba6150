// pretrain - train a model on plain text: masked LM and next sentence. See man/pretrain.1.
#include "trainers/pretrain.h"

#include "common/as_text.h"
#include "common/run.h"
#include "common/training_options.h"

using namespace bert;

namespace {

void add(tools::Command& app, PretrainOptions& o, std::string& start,
         std::vector<std::string>& heads) {
  MaskingOptions& masking = o.data.masking;
  app.add({"FILE", "sentences, one per line, with an empty line between documents",
           tools::text("TEXT")},
          o.data.files)
      ->required();
  app.add({"--init", "model directory or name to start from", tools::model()}, start).of("model");
  app.add({"--config", "config.json for a model from scratch", tools::text("FILE")}, o.config);
  app.add({"--vocab", "vocab.txt for a model from scratch", tools::text("FILE")}, o.vocab);
  app.add({"--cased", "the vocabulary has capitals and accents"}, o.cased);
  app.add({"--add-head", "add a new head that the model lacks: mlm, nsp", tools::text("NAME")},
          heads)
      ->check(CLI::IsMember({"mlm", "nsp"}))
      ->delimiter(',');
  app.add({"--head", "add this masked-LM head to a copy of the model", tools::text("NAME")},
          o.head);
  app.add({"--freeze-layers", "do not train embeddings and lowest N layers", tools::whole()},
          o.freeze_layers);
  app.add({"--no-nsp", "only masked LM, on single segments"},
          [&o] { o.data.next_sentence = false; });
  tools::add_as_text(app, o.data.wanted);
  app.add({"--dev", "held-out text", tools::text("FILE")}, o.dev);
  app.add({"--dev-sequences", "sequences of the held-out text to use (default: 512)",
           tools::positive()},
          o.dev_sequences);
  app.add({"--eval-steps", "steps between output rows (default: 500)", tools::positive()},
          o.eval_every);
  app.add({"--steps", "steps of training (default: 10000)", tools::positive()}, o.steps);
  app.add({"--max-seq-length", "tokens per sequence (default: 128, or fewer)", tools::whole()},
          o.data.max_length)
      .of("max_length");
  app.add({"--mlm-probability", "share of the tokens to predict (default: 0.15)", tools::real("P")},
          masking.mlm_probability);
  app.add({"--whole-word", "choose all pieces of a word together"}, masking.whole_word);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Train a model on plain text: masked LM and next sentence."};
  app.footer("pretrain text.txt --config config.json --vocab vocab.txt --steps 100 --output new");
  PretrainOptions options;
  options.save_every = 1000;
  std::string start;
  std::vector<std::string> heads;
  add(app, options, start, heads);
  tools::TrainingOptions training(app);

  return tools::run(app, argc, argv, [&] {
    if (options.dev.empty()) tools::refuse_given(app, {"--dev-sequences"}, "wants --dev");
    if (!start.empty()) options.model = ModelDirectory::open(start);
    for (const std::string& head : heads) {
      (head == "mlm" ? options.add_mlm : options.add_nsp) = true;
    }
    return training.train(options, pretrain);
  });
}
