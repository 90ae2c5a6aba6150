// train-seq2seq - train a model that reads a text and writes another. See man/train-seq2seq.1.
#include "base/parse.h"
#include "common/as_text.h"
#include "common/run.h"
#include "common/training_options.h"
#include "trainers/train_seq2seq.h"

using namespace bert;

namespace {

struct Options {
  std::string model, fields;
  RecurrentAttention attention = RecurrentAttention::additive;
  TrainSeq2SeqOptions train;
  /// Options that say what a new model is: any, a Transformer, recurrent networks.
  std::vector<CLI::Option*> any, transformer, recurrent;
};

void add_pairs(tools::Command& app, Options& o) {
  TrainSeq2SeqOptions& t = o.train;
  app.add({"--train", "files with pairs to learn from", tools::text("FILE")}, t.train.files)
      ->required();
  app.add({"--dev", "files with pairs that choose the best step", tools::text("FILE")}, t.dev);
  app.add({"-f,--field", "fields of source and target (default: 1,2)", tools::text("N,M")},
          o.fields)
      .of("fields")
      .shown_as("-f");
  tools::add_record_form(app, t.train, "text,text_pair");
  tools::add_as_text(app, t.train.wanted);
  app.add({"-m,--model", "model directory or name to start from", tools::model()}, o.model);
}

/// What a new model is.
void add_model(tools::Command& app, Options& o) {
  TrainSeq2SeqOptions& t = o.train;
  o.any.push_back(app.add<Seq2SeqNet>({"--net", "network of a new model"}, t.net,
                                      {{"transformer", Seq2SeqNet::transformer},
                                       {"rnn", Seq2SeqNet::rnn},
                                       {"gru", Seq2SeqNet::gru},
                                       {"lstm", Seq2SeqNet::lstm}}));
  o.recurrent.push_back(app.add<RecurrentAttention>(
      {"--attention", "attention of a new recurrent network"}, o.attention,
      {{"none", RecurrentAttention::none},
       {"dot", RecurrentAttention::dot},
       {"additive", RecurrentAttention::additive}}));
  o.any.push_back(
      app.add<Units>({"--units", "what texts are cut into"}, t.units,
                     {{"char", Units::character}, {"word", Units::word}, {"piece", Units::piece}}));
  o.any.push_back(app.add(
      {"--vocab-size", "most units of sources, and of targets (default: 8000)", tools::positive()},
      t.vocab_size));
  o.any.push_back(app.add({"--layers", "layers of each half (default: 2, of recurrent networks 1)",
                           tools::whole(1, 256)},
                          t.layers));
  o.any.push_back(
      app.add({"--hidden", "hidden size (default: 64)", tools::whole(2, 1 << 15)}, t.hidden_size)
          .of("hidden_size"));
  o.transformer.push_back(
      app.add({"--heads", "heads of attention (default: 4)", tools::whole(1, 1 << 15)}, t.heads));
  o.transformer.push_back(
      app.add({"--ff", "width of the feed-forward layers (default: 4 times the hidden size)",
               tools::whole(1, 1 << 17)},
              t.intermediate_size)
          .of("intermediate_size"));
}

void add_learning(tools::Command& app, TrainSeq2SeqOptions& t) {
  app.add({"--max-seq-length", "most tokens of a source or target (default: 512)",
           tools::whole(2, 1 << 20)},
          t.max_length)
      .of("max_length");
  app.add(
      {"--teacher-forcing", "probability that the decoder reads the true token before (default: 1)",
       tools::real(0., 1.)},
      t.teacher_forcing);
  app.add({"--label-smoothing", "share of the probability for all tokens alike (default: 0)",
           tools::real(0., 0.99)},
          t.label_smoothing);
  app.add({"--steps", "steps of training (default: 2000)", tools::positive()}, t.steps);
  app.add({"--eval-steps", "steps between output rows (default: 500)", tools::positive()},
          t.eval_every);
}

/// Throws Error(usage) if one of these options was given.
void refuse(const std::vector<CLI::Option*>& options, const char* why) {
  for (const CLI::Option* option : options) {
    if (option->count() > 0) throw Error(Error::Kind::usage, option->get_name(), why);
  }
}

void settle(Options& o) {
  TrainSeq2SeqOptions& t = o.train;
  const bool recurrent = t.net != Seq2SeqNet::transformer;
  if (!o.model.empty()) {
    t.model = ModelDirectory::open(o.model);
    for (const auto* list : {&o.any, &o.transformer, &o.recurrent}) {
      refuse(*list, "is for a new model: not with -m");
    }
  }
  recurrent ? refuse(o.transformer, "is for --net transformer")
            : refuse(o.recurrent, "is for --net rnn, gru or lstm");
  t.attention = o.attention;
  t.train.fields = list_with_commas(o.fields);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Train a model that reads a text and writes another."};
  app.footer("train-seq2seq --train sentences.tsv --steps 200 --output my-translator");
  Options options;
  options.train.save_every = 1000;
  add_pairs(app, options);
  add_model(app, options);
  add_learning(app, options.train);
  tools::TrainingOptions training(
      app, true, {.rate = "1e-3, or 5e-5 with -m", .dropout = "0, or the model's"});

  return tools::run(app, argc, argv, [&] {
    settle(options);
    return training.train(options.train, train_seq2seq);
  });
}
