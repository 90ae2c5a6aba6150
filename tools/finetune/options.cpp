#include "finetune/options.h"

#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "base/parse.h"
#include "common/as_text.h"
#include "common/model_options.h"
#include "common/training_options.h"
#include "finetune/losses.h"

namespace bert::tools {
namespace {

/// The model, the task and the examples.
void add_task(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  add_model(app, o.model, "model to start from (else $BERT_MODEL, else the default)");
  app.add<FinetuneJob>({"--task", "the task to train for"}, o.job,
                       {{"classify", FinetuneJob::classify},
                        {"ner", FinetuneJob::ner},
                        {"qa", FinetuneJob::qa},
                        {"embed", FinetuneJob::embed},
                        {"rank", FinetuneJob::rank}});
  app.add({"--head", "add this head to a copy of the model", text("NAME")}, f.head);
  app.add({"--train", "files with examples to learn from", text("FILE")}, f.train.files)
      ->required();
  app.add({"--dev", "files with examples that choose the best epoch", text("FILE")}, f.dev);
  add_as_text(app, f.train.wanted);
  app.add({"-f,--field", "fields of the text or texts (default: 1, or 1,2)", text("N[,M]")},
          o.fields)
      .of("fields")
      .shown_as("-f");
  app.add({"--label", "field of the label (default: after the texts)", column()},
          f.train.label_field)
      .of("label_field");
  app.add({"--pair", "an example is a pair of texts"}, o.pair);
  add_record_form(app, f.train, "text, text_pair, label");
  app.add({"--labels", "the labels in the order of their ids", text("A,B,..")}, o.labels);
  app.add({"--multi-label", "several labels per text, separated by commas"}, o.several);
  app.add({"--regression", "the label is a number"}, o.regression);
  app.add({"--find-answers", "answers may stand elsewhere than they say"}, f.train.find_answers);
  app.add({"--few-shot", "learn from pairs of a few examples, then fit a classifier: SetFit's way"},
          o.few_shot);
}

/// How long and what is trained.
void add_learning(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  app.add({"--epochs", "passes over the examples (default: 3, or enough for 60 steps)", real()},
          f.epochs);
  app.add<std::string>({"--pool", "what a classifier of texts reads (default: as the model's own)"},
                       f.pool, {{"cls", "cls"}, {"attn", "attn"}});
  app.add({"--hops", "weighted sums of the tokens that --pool attn makes (default: 1)", positive()},
          f.hops);
  app.add({"--hop-penalty", "keep the hops of --pool attn apart by this factor (default: 0)",
           non_negative()},
          f.hop_penalty);
  app.add({"--patience", "end after N rows without a better score", whole()}, f.patience);
  app.add({"--class-weights", "'balanced', or a weight for each label", text("W,W,..")},
          o.class_weights);
  app.add({"--freeze-layers", "do not train embeddings and lowest N layers", whole()},
          f.freeze_layers);
  app.add({"--freeze-embeddings", "do not train the embeddings"}, f.freeze_embeddings);
}

/// What most runs leave as it is.
void add_knobs(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  app.add(
      {"--accumulate", "batches whose gradients are one step's (default: 1)", whole(1, 1 << 16)},
      f.accumulate);
  app.add({"--label-smoothing", "share of the target that all labels have (default: 0)",
           real(0., 0.99)},
          f.label_smoothing);
  app.add({"--ema", "keep a moving average of the model with this decay (default: 0, none)",
           real(0., 0.999999)},
          f.learner.average)
      .of("average");
  app.add(
      {"--metric", "what the best model is best by (default: the score of --dev)", text("NAME")},
      f.metric);
  app.add({"--eval-steps", "steps between rows and scores (default: those of an epoch)", whole()},
          f.eval_every);
  app.add({"--dump", "file for the dev examples of the kept model, worst first", text("FILE")},
          f.dump)
      .same_rows();
}

/// Few matrices that learn in place of the layers.
void add_lora(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  app.add({"--lora", "train matrices of this rank beside those of the layers (LoRA)",
           whole(1, 4096)},
          f.lora.rank)
      .of("lora");
  app.add({"--lora-alpha", "the change is multiplied by this / rank (default: 16)", real()},
          f.lora.alpha);
  app.add({"--lora-targets", "names of the modules that change (default: queries and values)",
           text("A,B,..")},
          o.lora_targets);
  app.add({"--merge", "with --lora: write the whole model, not an adapter"}, f.merge);
}

/// What is learned from another model.
void add_teacher(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  app.add({"--teacher", "learn what this model says of the examples, too", text("DIR")}, f.teacher);
  app.add(
      {"--temperature", "divides the logits that are compared with --teacher (default: 2)", real()},
      f.temperature);
  app.add({"--teacher-share", "what --teacher is of the loss (default: 0.5)", real(0., 1.)},
          f.teacher_share);
  app.add({"--seeds", "train with N seeds, or these, write mean and deviation, keep the best",
           text("N|N,M,..")},
          o.seeds)
      .of("seeds");
}

void add_losses(Command& app, FinetuneArguments& o) {
  app.add<std::string>({"--loss", "what is learned (default: mnrl, with a teacher mse; rank: bce)"},
                       o.loss,
                       {{"mnrl", "mnrl"},
                        {"cosent", "cosent"},
                        {"cosine", "cosine"},
                        {"triplet", "triplet"},
                        {"mse", "mse"},
                        {"bce", "bce"},
                        {"listnet", "listnet"},
                        {"lambda", "lambda"},
                        {"margin-mse", "margin-mse"}});
}

/// What vectors learn.
void add_vectors(Command& app, FinetuneArguments& o) {
  VectorOptions& v = o.finetune.vectors;
  app.heading("Vectors and rankings, with --task embed or rank");
  add_losses(app, o);
  app.add(
      {"--scale", "factor of cosines in mnrl and cosent, 1 / temperature (default: 20)", real()},
      v.loss.scale);
  app.add({"--maxsim",
           "a text has the vectors of its tokens (ColBERT), as rank --maxsim reads them"},
          v.of_tokens)
      .of("of_tokens");
  app.add({"--dense", "add a Dense module that makes vectors of N numbers", whole(1, 1 << 16)},
          v.dense)
      .of("dense");
  app.add({"--symmetric", "mnrl: second texts find their first ones, too"}, v.loss.symmetric);
  app.add({"--margin", "triplet: how much nearer the second text is to be (default: 5)",
           non_negative()},
          v.loss.margin);
  app.add({"--matryoshka", "the first N, M .. numbers of a vector learn by themselves",
           text("N,M,..")},
          o.dims)
      .of("dims");
  app.add({"--teacher-vectors", "mse: a NumPy file with the vector of each training text",
           text("FILE")},
          v.teacher_vectors);
  app.add({"--prompts", "names of prompts before the first text and before the others",
           text("NAME[,NAME]")},
          o.prompts)
      .of("prompts");
  app.add({"--negatives", "rank with mnrl: texts of other queries that a query draws (default: 4)",
           whole(0, 1 << 16)},
          o.finetune.negatives);
  app.heading(Command::kOwnOptions);
}

/// What stands between model and head, and how long texts are.
void add_net(Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  app.add<bool>({"--net", "what stands between a frozen model and its head: none, or a BiLSTM"},
                o.bilstm, {{"none", false}, {"bilstm", true}})
      .of("net");
  app.add(
         {"--layers", "hidden states that --net reads, as embed --layers (default: -1)", text("L")},
         o.net.layers)
      .of("layers");
  app.add({"--lstm-size", "units of --net in each direction (default: 256)", whole(1, 65536)},
          o.net.hidden_size);
  app.add({"--lstm-layers", "layers of --net (default: 2)", whole(1, 64)}, o.net.num_layers);
  app.add({"--layer-decay", "factor of the learning rate for each layer further down (default: 1)",
           real(0., 1.)},
          f.layer_decay);
  const auto most = std::to_string(task_spec(HeadKind::spans).window);
  app.add({"--max-seq-length",
           "tokens per sequence (default: the model's, qa: at most " + most + ")", whole()},
          f.max_length)
      .of("max_length");
  app.add(
      {"--stride", "overlap of windows (default: " + std::to_string(f.train.stride) + ")", whole()},
      f.train.stride);
}

/// Options that only some tasks read.
struct Only {
  std::initializer_list<FinetuneJob> tasks;
  std::initializer_list<const char*> options;
  const char* why;
};

const Only kOnly[] = {
    {{FinetuneJob::classify, FinetuneJob::embed, FinetuneJob::rank},
     {"--field", "--label", "--header", "--csv"},
     "is for --task classify, embed or rank"},
    {{FinetuneJob::classify},
     {"--pair", "--multi-label", "--regression"},
     "is for --task classify"},
    {{FinetuneJob::qa}, {"--find-answers"}, "is for --task qa"},
    {{FinetuneJob::classify, FinetuneJob::ner},
     {"--label-smoothing"},
     "is for --task classify or ner, whose texts or words have labels"},
    {{FinetuneJob::classify, FinetuneJob::ner, FinetuneJob::qa},
     {"--dump"},
     "is for --task classify, ner or qa"},
    {{FinetuneJob::classify, FinetuneJob::ner, FinetuneJob::qa, FinetuneJob::embed},
     {"--teacher"},
     "not with --task rank"},
    {{FinetuneJob::classify, FinetuneJob::ner, FinetuneJob::embed, FinetuneJob::rank},
     {"--labels"},
     "not with --task qa"},
    {{FinetuneJob::ner, FinetuneJob::qa},
     {"--stride"},
     "is for --task ner or qa, which read windows"},
    {{FinetuneJob::embed, FinetuneJob::rank}, {"--loss"}, "is for --task embed or rank"},
    {{FinetuneJob::embed},
     {"--scale", "--symmetric", "--margin", "--matryoshka", "--teacher-vectors", "--prompts",
      "--maxsim", "--dense"},
     "is for --task embed"},
    {{FinetuneJob::classify, FinetuneJob::ner, FinetuneJob::qa, FinetuneJob::rank},
     {"--head", "--labels", "--class-weights", "--pool", "--net"},
     "not with --task embed"},
    {{FinetuneJob::classify, FinetuneJob::ner, FinetuneJob::qa, FinetuneJob::embed},
     {"--head", "--labels", "--class-weights", "--pool", "--net"},
     "not with --task rank"},
};

/// Refuses what the loss of vectors does not read.
void refuse_vectors(const Command& app, const FinetuneArguments& o) {
  const VectorOptions& v = o.finetune.vectors;
  const bool ranks = v.loss.loss == nn::VectorLoss::ranking;
  const bool teaches = v.loss.loss == nn::VectorLoss::teacher;
  if (!ranks) refuse_given(app, {"--symmetric"}, "is for --loss mnrl");
  if (!ranks && v.loss.loss != nn::VectorLoss::cosent)
    refuse_given(app, {"--scale"}, "is for --loss mnrl or cosent");
  if (v.loss.loss != nn::VectorLoss::triplet)
    refuse_given(app, {"--margin"}, "is for --loss triplet");
  if (v.loss.loss != nn::VectorLoss::cosent && v.loss.loss != nn::VectorLoss::cosine)
    refuse_given(app, {"--label"}, "is for --loss cosent or cosine");
  if (!teaches && app.get_option("--loss")->count() > 0)
    refuse_given(app, {"--teacher-vectors", "--teacher"}, "is for --loss mse");
  if (teaches && v.teacher_vectors.empty() && o.finetune.teacher.empty())
    throw Error(Error::Kind::usage, "", "--loss mse wants --teacher-vectors or --teacher");
  if (!v.teacher_vectors.empty()) refuse_given(app, {"--teacher"}, "not with --teacher-vectors");
  refuse_given(app, {"--temperature", "--teacher-share"}, "not with --task embed");
}

/// Refuses what --few-shot does not read.
void refuse_few_shot(const Command& app, const FinetuneArguments& o) {
  if (!o.few_shot) return;
  if (o.job != FinetuneJob::classify) refuse_given(app, {"--few-shot"}, "is for --task classify");
  refuse_given(app,
               {"--pair", "--multi-label", "--regression", "--head", "--pool", "--class-weights",
                "--net", "--label-smoothing", "--lora", "--teacher"},
               "not with --few-shot");
}

/// Refuses options that the task, or another option, does not read.
void refuse_unread(const Command& app, const FinetuneArguments& o) {
  for (const Only& only : kOnly) {
    if (std::find(only.tasks.begin(), only.tasks.end(), o.job) == only.tasks.end())
      refuse_given(app, only.options, only.why);
  }
  if (o.job == FinetuneJob::embed) refuse_vectors(app, o);
  if (o.job != FinetuneJob::rank || o.finetune.rank_loss != nn::RankLoss::ranking)
    refuse_given(app, {"--negatives"}, "is for --task rank --loss mnrl");
  refuse_few_shot(app, o);
  if (o.regression) refuse_given(app, {"--labels", "--multi-label"}, "not with --regression");
  if (o.regression || o.several)
    refuse_given(app, {"--label-smoothing", "--teacher"}, "wants one label a text");
  if (o.finetune.teacher.empty())
    refuse_given(app, {"--temperature", "--teacher-share"}, "wants --teacher");
  else
    refuse_given(app, {"--class-weights"}, "not with --teacher");
  if (!o.seeds.empty()) refuse_given(app, {"--keep-checkpoints", "--dump"}, "not with --seeds");
  if (o.finetune.dev.empty()) {
    refuse_given(app, {"--patience", "--metric", "--dump", "--seeds"}, "wants --dev");
  }
  if (o.finetune.lora.rank == 0)
    refuse_given(app, {"--lora-alpha", "--lora-targets", "--merge"}, "wants --lora");
  else
    refuse_given(app, {"--head", "--net", "--pool", "--freeze-layers", "--freeze-embeddings"},
                 "not with --lora, under which the layers are frozen");
  if (o.bilstm)
    refuse_given(app, {"--freeze-layers", "--freeze-embeddings", "--layer-decay"},
                 "not with --net bilstm, under which the model is frozen");
  else
    refuse_given(app, {"--layers", "--lstm-size", "--lstm-layers"}, "wants --net bilstm");
}

HeadKind head_of(FinetuneJob job) {
  constexpr HeadKind kHeads[] = {HeadKind::classify, HeadKind::tokens, HeadKind::spans,
                                 HeadKind::vectors, HeadKind::classify};
  return kHeads[static_cast<size_t>(job)];
}

}  // namespace

void add_finetune_options(Command& app, FinetuneArguments& o) {
  add_task(app, o);
  add_vectors(app, o);
  add_learning(app, o);
  add_knobs(app, o);
  add_lora(app, o);
  add_teacher(app, o);
  add_net(app, o);
}

namespace {

/// One number is how many seeds, several are the seeds.
void settle_seeds(FinetuneArguments& o) {
  for (const std::string& number : list_with_commas(o.seeds)) {
    const auto seed = to_number<uint64_t>(number);
    const bool twice =
        seed && std::find(o.seed_list.begin(), o.seed_list.end(), *seed) != o.seed_list.end();
    if (!seed || twice)
      throw Error::of_field("seeds", "found '" + printable(number) + "', wants different numbers");
    o.seed_list.push_back(*seed);
  }
  if (o.seed_list.size() != 1) return;
  if (o.seed_list[0] < 1 || o.seed_list[0] > 1000)
    throw Error::of_field("seeds", "found '" + o.seeds + "', wants 1 to 1000, or the seeds");
  o.finetune.seeds = o.seed_list[0];
  o.seed_list.clear();
}

}  // namespace

void settle(const Command& app, FinetuneArguments& o) {
  FinetuneOptions& f = o.finetune;
  f.task = head_of(o.job);
  set_loss(o);
  refuse_unread(app, o);
  f.model = ModelDirectory::open(o.model);
  f.train.texts = o.pair || o.job == FinetuneJob::rank ? 2 : 1;
  f.train.fields = list_with_commas(o.fields);
  f.labels = list_with_commas(o.labels);
  f.lora.targets = list_with_commas(o.lora_targets);
  settle_seeds(o);
  if (!(f.temperature > 0)) throw Error::of_field("temperature", "wants a number above 0");
  if (!(f.lora.alpha > 0)) throw Error::of_field("lora_alpha", "wants a number above 0");
  f.train.kind = o.regression ? LabelKind::number : o.several ? LabelKind::several : LabelKind::one;
  const bool texts = f.task == HeadKind::classify || f.task == HeadKind::vectors;
  if (texts && f.train.wanted == Wanted::text) f.train.wanted = Wanted::text_or_objects;
  if (o.bilstm) f.bilstm = o.net;
  VectorOptions& v = f.vectors;
  const bool taught = o.job == FinetuneJob::embed && !f.teacher.empty();
  if (!v.teacher_vectors.empty() || taught) v.loss.loss = nn::VectorLoss::teacher;
  v.scale_given = app.get_option("--scale")->count() > 0;
  v.prompts = list_with_commas(o.prompts);
  if (v.prompts.size() > 2) throw Error::of_field("prompts", "wants one name or two");
  for (const std::string& number : list_with_commas(o.dims)) {
    const auto dims = to_number<size_t>(number);
    if (!dims) throw Error::of_field("dims", "found '" + printable(number) + "', wants numbers");
    v.dims.push_back(*dims);
  }
  f.set_class_weights(o.class_weights);
}

}  // namespace bert::tools
