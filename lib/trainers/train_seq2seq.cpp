#include "trainers/train_seq2seq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "checkpoint/model_files.h"
#include "checkpoint/tensor_files.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "model/generation_config.h"
#include "model/seq2seq_config.h"
#include "seq2seq/halves.h"
#include "trainers/beginning.h"
#include "trainers/supervised.h"
#include "training/recurrent_network.h"
#include "training/run.h"
#include "training/transformer.h"

namespace bert {
namespace {

using training::Learner;
using training::Run;
using training::Tally;

constexpr size_t kMaxLength = 512;  // tokens of a source or target of a new model
constexpr double kNewRate = 1e-3, kOldRate = 5e-5;

/// A network, what it begins with, and the files of its directory but the weights.
struct Start {
  std::unique_ptr<training::Network> network;
  NamedFiles files;
  std::optional<Halves> halves;  ///< of a Transformer to start from
  std::string directory;         ///< of the model to start from; empty: its tensors are drawn
  int32_t begin = 0;             ///< the token with which a target begins
  size_t max_tokens = 0;
  std::string text;  ///< what it is
};

Cell cell_of(Seq2SeqNet net) {
  return net == Seq2SeqNet::rnn ? Cell::rnn : net == Seq2SeqNet::gru ? Cell::gru : Cell::lstm;
}

std::string file_text(const std::string& path) {
  return std::string(MappedFile::open(path).text());
}

/// Sets the values of tensors that stand in files under their own names.
void load_by_name(const std::string& directory, const training::Layout& layout, float* values) {
  const TensorFiles files = open_tensor_files(directory);
  for (const training::Parameter& p : layout.parameters()) {
    const auto found = std::find_if(files.tensors.begin(), files.tensors.end(),
                                    [&](const TensorView& t) { return t.name == p.name; });
    if (found == files.tensors.end() || found->shape != p.shape || found->blocked) {
      throw Error(Error::Kind::data, files.path,
                  fmt::format("tensor {} is missing or has another shape", p.name));
    }
    const std::vector<float> floats = found->floats();
    std::copy(floats.begin(), floats.end(), values + p.offset);
  }
}

class Seq2SeqTraining {
 public:
  explicit Seq2SeqTraining(const TrainSeq2SeqOptions& options) : options_(options) {
    check();
    const std::vector<TextPair> train = read_pairs(options_.train);
    PairFiles dev_files = options_.train;
    dev_files.files = options_.dev;
    std::vector<TextPair> dev;
    if (!options_.dev.empty()) dev = read_pairs(dev_files);
    std::optional<Beginning> beginning;
    std::string directory = options_.model;
    if (directory.empty()) {
      beginning.emplace(options_.output, new_tokenizer(train));
      directory = beginning->path();
    }
    const TranslationTokenizers tokenizers = TranslationTokenizers::open(directory);
    Start start = beginning ? new_network(*beginning, tokenizers.source) : old_network();
    beginning.reset();
    train_ = encode_pairs(train, options_.train, tokenizers, start.max_tokens);
    if (!dev.empty()) {
      dev_ = encode_pairs(dev, dev_files, tokenizers, start.max_tokens);
      std::vector<uint32_t> all(dev_.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint32_t>(i);
      dev_.fill(all, dev_batch_);
    }
    tell_data(start);
    make_learner(std::move(start));
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    best_ = run.noted("best", -INFINITY);
    best_loss_ = run.noted("best loss", INFINITY);
    if (dev_.size() > 0 && std::isfinite(best_)) check_kept(run);
    resume_sums(run);
    head_row();
    training::TrainingBatch batch;
    while (learner_->steps() < options_.steps) {
      next_batch(batch);
      note(run);  // should this step save
      const bool goes_on = run.step({&batch, 1}, [&](const training::StepResult& result) {
        tally_ += result.tally;
        const uint64_t step = learner_->steps();
        if (step % options_.eval_every == 0 || step == options_.steps) evaluate(run);
        note(run);
      });
      if (!goes_on) {
        run.checkpoint();
        return false;
      }
    }
    run.checkpoint();
    if (dev_.size() == 0) run.export_model();
    run.finish();
    tell_end(run);
    return true;
  }

 private:
  void check() const {
    const auto refuse = [](const char* field, double value, const char* wanted) {
      throw Error::of_field(field, fmt::format("found {}, wants {}", value, wanted));
    };
    const double rate = options_.learner.optimizer.learning_rate;
    if (!(rate > 0 && std::isfinite(rate))) refuse("learning_rate", rate, "a number above 0");
    if (!(options_.teacher_forcing >= 0 && options_.teacher_forcing <= 1)) {
      refuse("teacher_forcing", options_.teacher_forcing, "a number from 0 to 1");
    }
    if (!(options_.label_smoothing >= 0 && options_.label_smoothing < 1)) {
      refuse("label_smoothing", options_.label_smoothing, "a number from 0 to below 1");
    }
    if (options_.model.empty() && options_.net == Seq2SeqNet::transformer &&
        (options_.heads == 0 || options_.hidden_size % options_.heads != 0)) {
      throw Error::of_field("heads", fmt::format("found {}, wants a divisor of the hidden size {}",
                                                 options_.heads, options_.hidden_size));
    }
    if (options_.model.empty() && options_.hidden_size % 2 != 0) {
      throw Error::of_field("hidden_size",
                            fmt::format("found {}, wants an even number", options_.hidden_size));
    }
  }

  NamedFiles new_tokenizer(const std::vector<TextPair>& train) const {
    TrainPiecesOptions units;
    units.units = options_.units;
    units.vocab_size = options_.vocab_size;
    return learn_units(train, units, max_length());
  }

  /// The standard deviation of new tensors.
  double deviation() const { return 1 / std::sqrt(static_cast<double>(options_.hidden_size)); }
  size_t max_length() const { return options_.max_length > 0 ? options_.max_length : kMaxLength; }

  /// From scratch, with the tokenizer's files that `beginning` holds.
  Start new_network(const Beginning& beginning, const Tokenizer& tokenizer) {
    Start start;
    start.max_tokens = max_length();
    start.files = model_directory_files(beginning.path());
    const auto id = [&](std::string_view token) { return *tokenizer.token_to_id(token); };
    const int32_t eos = id("</s>"), pad = id("<pad>");
    start.begin = pad;
    start.files.emplace_back("generation_config.json",
                             greedy_generation_config(start.max_tokens, eos, pad));
    const bool recurrent = options_.net != Seq2SeqNet::transformer;
    const std::string json = recurrent ? recurrent_config(tokenizer.vocab_size(), eos, pad)
                                       : transformer_config(tokenizer.vocab_size(), eos, pad);
    start.files.emplace_back("config.json", json);
    beginning.add("config.json", json);
    recurrent ? set_recurrent(beginning.path(), start) : set_transformer(beginning.path(), start);
    return start;
  }

  std::string transformer_config(size_t vocab, int32_t eos, int32_t pad) const {
    MarianShape shape;
    shape.vocab_size = vocab;
    shape.layers = options_.layers > 0 ? options_.layers : 2;
    shape.hidden_size = options_.hidden_size;
    shape.heads = options_.heads;
    shape.intermediate_size =
        options_.intermediate_size > 0 ? options_.intermediate_size : 4 * options_.hidden_size;
    shape.max_positions = max_length();
    shape.dropout = options_.dropout.value_or(0);
    shape.init_std = deviation();
    shape.eos = eos;
    shape.pad = pad;
    return marian_config(shape);
  }

  std::string recurrent_config(size_t vocab, int32_t eos, int32_t pad) const {
    RecurrentConfig config;
    config.cell = cell_of(options_.net);
    config.attention = options_.attention;
    config.vocab_size = vocab;
    config.embedding_size = config.hidden_size = config.attention_size = options_.hidden_size;
    config.num_layers = options_.layers > 0 ? options_.layers : 1;
    config.decoder_start_token_id = pad;
    config.eos_token_id = eos;
    return config.text();
  }

  /// A model to go on from.
  Start old_network() {
    Start start;
    start.directory = options_.model;
    const std::string path = options_.model + "/config.json";
    const JsonDocument document = JsonDocument::open(path);
    start.files = model_directory_files(options_.model);
    if (RecurrentConfig::is(document.root())) {
      set_recurrent(options_.model, start);
      start.max_tokens = max_length();
    } else {
      set_transformer(options_.model, start);
    }
    start.files.emplace_back("config.json",
                             edit_config(path, {{"dtype", "\"float32\""}, {"torch_dtype", ""}}));
    return start;
  }

  /// The files of `directory` that are no weights, but config.json.
  static NamedFiles model_directory_files(const std::string& directory) {
    NamedFiles files = tokenizer_files(directory);
    const std::string generation = directory + "/generation_config.json";
    if (file_exists(generation)) {
      files.emplace_back("generation_config.json", file_text(generation));
    }
    return files;
  }

  void set_transformer(const std::string& directory, Start& start) {
    training::TransformerPlan plan;
    if (start.directory.empty()) {
      plan.config = Seq2SeqConfig::open(directory);
    } else {
      start.halves.emplace(Halves::open(directory));
      plan.config = start.halves->config;
      const Config& decoder = plan.config.decoder;
      start.begin =
          GenerationConfig::open(directory, decoder.max_tokens(), decoder.vocab_size).start;
    }
    const Config& config = plan.config.decoder;
    const size_t positions = std::min(plan.config.encoder.max_tokens(), config.max_tokens());
    if (options_.max_length > positions) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants at most {}, the model's positions",
                                        options_.max_length, positions));
    }
    start.max_tokens = options_.max_length > 0 ? options_.max_length : positions;
    plan.target = {start.begin, static_cast<float>(options_.label_smoothing),
                   options_.teacher_forcing};
    plan.dropout = options_.dropout
                       ? training::DropoutRates::all(*options_.dropout)
                       : training::DropoutRates::of(config, training::Objective::masked_lm);
    plan.bf16 = options_.learner.bf16;
    start.text = fmt::format("Transformer, layers {} + {}, hidden size {}, heads {}",
                             plan.config.encoder.num_hidden_layers, config.num_hidden_layers,
                             config.hidden_size, config.num_attention_heads);
    start.network = std::make_unique<training::TransformerNetwork>(std::move(plan));
  }

  void set_recurrent(const std::string& directory, Start& start) {
    const RecurrentConfig config = RecurrentConfig::open(directory);
    training::RecurrentTraining plan;
    plan.dropout = options_.dropout.value_or(0);
    plan.label_smoothing = options_.label_smoothing;
    plan.teacher_forcing = options_.teacher_forcing;
    start.text = fmt::format("{}, layers {}, hidden size {}, attention {}", cell_word(config.cell),
                             config.num_layers, config.hidden_size,
                             recurrent_attention_word(config.attention));
    start.network = std::make_unique<training::RecurrentNetwork>(config, plan);
  }

  void tell_data(const Start& start) const {
    const auto faults = [&](const PairSet& set, const char* what) {
      for (const std::string& line : set.counts.lines(what)) notice(line);
    };
    faults(train_, "training texts");
    faults(dev_, "dev texts");
    std::string line =
        fmt::format("{} training pair{}", train_.size(), train_.size() == 1 ? "" : "s");
    if (dev_.size() > 0)
      line += fmt::format("; {} dev pair{}", dev_.size(), dev_.size() == 1 ? "" : "s");
    notice(line);
    notice(start.text);
  }

  void make_learner(Start start) {
    training::LearnerOptions learner = options_.learner_options(options_.steps);
    if (!options_.rate_given) {
      learner.optimizer.learning_rate = start.directory.empty() ? kNewRate : kOldRate;
    }
    options_.learner = learner;
    files_.files = std::move(start.files);
    const auto* transformer =
        dynamic_cast<const training::TransformerNetwork*>(start.network.get());
    learner_ = std::make_unique<Learner>(std::move(start.network), learner);
    if (start.directory.empty()) {
      training::draw_parameters(learner_->layout(), learner.seed, static_cast<float>(deviation()),
                                learner_->values());
    } else if (transformer) {
      transformer->load(*start.halves->encoder, *start.halves->decoder, learner_->layout(),
                        learner_->values());
    } else {
      load_by_name(start.directory, learner_->layout(), learner_->values());
    }
    size_t parameters = 0;
    for (const training::Parameter& p : learner_->layout().parameters()) parameters += p.size;
    notice(fmt::format("steps {}, batches of {}, learning rate {:.3g}, {} parameters",
                       options_.steps, options_.batch_size, learner.optimizer.learning_rate,
                       parameters));
    if (options_.on_memory) {
      options_.on_memory(learner_->bytes_to_come(step_size(), dev_.size() > 0));
    }
  }

  /// The largest batch of the first epoch.
  training::StepSize step_size() const {
    const std::vector<uint32_t> order = shuffled(train_.size(), options_.learner.seed, 0);
    training::StepSize size;
    size.sequences = std::min(options_.batch_size, order.size());
    size_t tokens = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % options_.batch_size == 0) tokens = 0;
      tokens += train_.tokens(order[i]);
      size.tokens = std::max(size.tokens, tokens);
      size.longest = std::max(
          {size.longest, train_.sources[order[i]].size(), train_.targets[order[i]].size()});
    }
    return size;
  }

  /// The batch of the next step: epochs are shuffled, each in its own order.
  void next_batch(training::TrainingBatch& batch) {
    const uint64_t per_epoch = (train_.size() + options_.batch_size - 1) / options_.batch_size;
    const uint64_t epoch = learner_->steps() / per_epoch;
    if (order_.empty() || epoch != epoch_) {
      order_ = shuffled(train_.size(), options_.learner.seed, epoch);
      epoch_ = epoch;
    }
    const size_t first = learner_->steps() % per_epoch * options_.batch_size;
    train_.fill(
        std::span(order_).subspan(first, std::min(options_.batch_size, order_.size() - first)),
        batch);
  }

  training::RunOptions run_options() const {
    constexpr const char* kUnits[] = {"characters", "words", "pieces"};
    training::RunOptions run = options_.run_options("seq2seq", options_.steps);
    run.identity.merge(std::map<std::string, std::string>{
        {"examples", hash_text(train_.hash())},
        {"dev examples", dev_.size() > 0 ? hash_text(dev_.hash()) : "none"},
        {"evaluation steps", dev_.size() > 0 ? std::to_string(options_.eval_every) : "none"},
        {"sequence", std::to_string(options_.max_length)},
        {"units",
         options_.model.empty() ? kUnits[static_cast<size_t>(options_.units)] : "the model's"},
        {"teacher forcing", fmt::format("{}", options_.teacher_forcing)},
        {"label smoothing", fmt::format("{}", options_.label_smoothing)}});
    return run;
  }

  void resume_sums(Run& run) {
    tally_ = {};
    tally_.token_loss = run.noted("loss sum");
    tally_.tokens = run.noted("token count");
    tally_.tokens_right = static_cast<size_t>(run.noted("right count"));
  }
  void note(Run& run) const {
    run.note("loss sum", tally_.token_loss);
    run.note("token count", tally_.tokens);
    run.note("right count", static_cast<double>(tally_.tokens_right));
    run.note("best", best_);
    run.note("best loss", best_loss_);
  }

  void head_row() const {
    if (!options_.on_row || learner_->steps() > 0) return;
    options_.on_row(std::string("step\ttrain_loss\ttrain_accuracy") +
                    (dev_.size() > 0 ? "\tdev_loss\tdev_accuracy\tdev_exact" : ""));
  }

  static double accuracy(const Tally& tally) {
    return static_cast<double>(tally.tokens_right) / tally.tokens;
  }

  void evaluate(Run& run) {
    std::string row = fmt::format("{}\t{:.6g}\t{:.6g}", learner_->steps(),
                                  tally_.token_loss / tally_.tokens, accuracy(tally_));
    tally_ = {};
    if (dev_.size() > 0) {
      const Tally dev = learner_->evaluate(dev_batch_);
      const double exact =
          static_cast<double>(dev.sequences_right) / static_cast<double>(dev_.size());
      run.dev_point(dev.loss(), exact);
      row += fmt::format("\t{:.6g}\t{:.6g}\t{:.6g}", dev.loss(), accuracy(dev), exact);
      if (std::pair(exact, -dev.loss()) > std::pair(best_, -best_loss_))
        keep(run, exact, dev.loss());
    }
    if (options_.on_row) options_.on_row(row);
  }
  void keep(Run& run, double exact, double loss) {
    best_ = exact;
    best_loss_ = loss;
    run.notes()["best step"] = std::to_string(learner_->steps());
    run.export_model();
  }

  /// Throws Error if the best model so far is missing: a checkpoint holds only the last one.
  void check_kept(Run& run) const {
    if (holds_model(options_.output)) return;
    throw Error(
        Error::Kind::no_input, options_.output,
        fmt::format("lacks model.safetensors: checkpoints do not hold the model of step {}, "
                    "the best so far; `overwrite` without `resume` begins anew",
                    run.notes()["best step"]));
  }

  void tell_end(Run& run) const {
    if (dev_.size() == 0) {
      notice(fmt::format("the model after the last step is in {}", options_.output));
      return;
    }
    notice(
        fmt::format("kept the model after step {} (exact match of the dev targets: {:.6g}) in {}",
                    run.notes()["best step"], best_, options_.output));
  }

  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  TrainSeq2SeqOptions options_;  ///< with the rate that was chosen
  PairSet train_, dev_;
  training::TrainingBatch dev_batch_;
  training::ModelFiles files_;
  std::unique_ptr<Learner> learner_;
  std::vector<uint32_t> order_;  ///< of epoch_
  uint64_t epoch_ = 0;
  Tally tally_;  ///< since the last row
  double best_ = 0, best_loss_ = 0;
};

}  // namespace

bool train_seq2seq(const TrainSeq2SeqOptions& options) { return Seq2SeqTraining(options).run(); }

}  // namespace bert
