#include "trainers/pretrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/mapped_file.h"
#include "tokenizer/classes.h"
#include "trainers/beginning.h"
#include "trainers/held_out.h"
#include "training/evaluation.h"

namespace bert {

using training::BertLearner;
using training::Objective;
using training::Run;
using training::Tally;
using training::TrainingBatch;

namespace {

std::string text_of(const std::string& path) { return std::string(MappedFile::open(path).text()); }

/// The files of a model from scratch.
NamedFiles files_of(const PretrainOptions& options) {
  return {{std::string(file_names::kConfig), text_of(options.config)},
          {std::string(file_names::kVocabTxt), text_of(options.vocab)},
          {std::string(file_names::kTokenizerConfig),
           fmt::format("{{\n  \"tokenizer_class\": \"{}\",\n"
                       "  \"do_lower_case\": {}\n}}\n",
                       bert_class().name, options.cased ? "false" : "true")}};
}

/// `message` with the names of the user's files instead of their copies in `directory`.
std::string told(std::string message, const std::string& directory,
                 const PretrainOptions& options) {
  for (const auto& [name, file] :
       {std::pair(file_names::kConfig, &options.config), {file_names::kVocabTxt, &options.vocab}}) {
    const std::string copied = fmt::format("{}/{}", directory, name);
    for (size_t at = 0; (at = message.find(copied, at)) != message.npos; at += file->size()) {
      message.replace(at, copied.size(), *file);
    }
  }
  return message;
}

class Pretraining {
 public:
  explicit Pretraining(const PretrainOptions& options) : options_(options) {
    check();
    if (!options.model.empty()) {
      open(options.model);
      return;
    }
    const Beginning beginning(options.output, files_of(options));
    beginning_ = &beginning;
    try {
      open(beginning.path());
    } catch (const Error& error) {
      throw Error(error.kind(), "", told(error.what(), beginning.path(), options));
    }
    beginning_ = nullptr;
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    PretrainingStream stream(*tokenizer_, data_);
    stream.skip(learner_->steps() * options_.batch_size);
    run.must_be("text read", hash_text(stream.hash()));
    if (run.finished()) return true;
    loss_ = run.noted("loss sum");
    count_ = run.noted("loss count");
    TrainingBatch batch;
    while (learner_->steps() < options_.steps) {
      if (!stream.next(options_.batch_size, batch)) {
        if (learner_->steps() > 0) end(run, stream);
        throw stream.ended(learner_->steps(), options_.steps, options_.output);
      }
      if (learner_->steps() == 0) head_row();
      const bool goes_on = run.step({&batch, 1}, [&](const training::StepResult& result) {
        loss_ += result.loss;
        count_ += 1;
        run.notes()["text read"] = hash_text(stream.hash());
        note(run);
        if (learner_->steps() % options_.eval_every == 0 || learner_->steps() == options_.steps) {
          evaluate(run);
          note(run);
        }
      });
      if (!goes_on) {
        run.checkpoint();
        tell(stream, "sentences");
        return false;
      }
    }
    end(run, stream);
    return true;
  }

 private:
  void end(Run& run, const PretrainingStream& stream) const {
    run.checkpoint();
    run.export_model();
    tell(stream, "sentences");
    run.finish();
  }
  /// What the model it begins with has, and the result will not have.
  void tell_lost(const Config& config) const {
    std::vector<std::string> names;
    for (const NamedHead& head : config.heads) names.push_back(head.name);
    if (names.empty() || !options_.on_notice) return;
    options_.on_notice(fmt::format("named heads are left out: {}", fmt::join(names, ", ")));
  }
  void tell(const PretrainingStream& stream, const char* what) const {
    if (!options_.on_notice) return;
    for (const std::string& line : stream.counts().lines(what)) options_.on_notice(line);
  }

  /// The model to begin with.
  void open(const ModelDirectory& directory) {
    directory_ = directory;
    std::optional<Weights> weights;
    Config config;
    if (options_.model.empty()) {
      config = directory_.config();
    } else {
      Checkpoint start = open_start(directory_, options_.head, HeadKind::masked_lm);
      config = std::move(start.config);
      weights.emplace(std::move(start.weights));
    }
    if (options_.head.empty()) tell_lost(config);
    config.bilstm = {};  // it is not trained here
    config.require_sizes();
    training::require_trainable(config, HeadKind::pretrain);
    tokenizer_.emplace(Tokenizer::open(directory_));
    if (options_.on_notice) {
      for (const std::string& warning : tokenizer_->warnings()) {
        options_.on_notice(beginning_ ? told(warning, beginning_->path(), options_) : warning);
      }
    }
    if (tokenizer_->vocab_size() > config.vocab_size) {
      throw Error(Error::Kind::data, config.path,
                  fmt::format("vocab_size is {}, but the vocabulary has {} tokens",
                              config.vocab_size, tokenizer_->vocab_size()));
    }
    data_ = options_.data;
    if (data_.max_length == 0) {
      data_.max_length = std::min<size_t>(128, config.max_tokens());
    }
    checked_length(data_.max_length, config);
    make_learner(std::move(config), weights);
    if (!options_.dev.empty()) read_dev();
    if (options_.on_memory) {
      options_.on_memory(learner_->bytes_to_come(
          {options_.batch_size, options_.batch_size * data_.max_length, data_.max_length},
          !options_.dev.empty()));
    }
  }

  void check() const {
    options_.check_learning_rate();
    refuse_share(options_.dev);
    if (options_.model.empty() && (options_.config.empty() || options_.vocab.empty())) {
      throw Error::of_field(
          "model", "wants a model directory, or `config` and `vocab` to begin from scratch");
    }
    const char* unused = !options_.config.empty()  ? "config"
                         : !options_.vocab.empty() ? "vocab"
                         : options_.cased          ? "cased"
                                                   : nullptr;
    if (!options_.model.empty() && unused) {
      throw Error::of_field(unused, "is for a model from scratch: not with `model`");
    }
    const char* wants_model = !options_.head.empty()   ? "head"
                              : options_.freeze_layers ? "freeze_layers"
                                                       : nullptr;
    if (options_.model.empty() && wants_model) {
      throw Error::of_field(wants_model, "wants `model`, a model to begin with");
    }
    if (!options_.head.empty() && options_.add_nsp) {
      throw Error::of_field("add_head", "found nsp, but with `head` only masked LM is trained");
    }
  }

  void make_learner(Config config, const std::optional<Weights>& weights) {
    const size_t layers = config.stored_layers();
    data_.masking.seed = options_.learner.seed;
    data_.next_sentence &= config.family->next_sentence && options_.head.empty();
    if (!data_.next_sentence && data_.masking.mlm_probability <= 0) {
      throw Error::of_field("mlm_probability",
                            "found 0, without next sentences: nothing can be learned");
    }
    training::HeadPlan head;
    head.objective = data_.next_sentence ? Objective::pretrain : Objective::masked_lm;
    head.dropout = options_.dropout_rates(config, head.objective);
    const float range = training::initializer_range(config);
    const training::LearnerOptions learner = options_.learner_options(options_.steps);
    files_ = training::ModelFiles::make(directory_, config, head.objective);
    if (!options_.head.empty()) {
      files_.add_head(directory_, options_.head, config, head.objective);
    }
    head.config = std::move(config);
    learner_ = std::make_unique<BertLearner>(std::vector{std::move(head)}, learner);
    if (const auto frozen = options_.frozen(layers)) freeze(learner_->layout(), *frozen);
    if (!weights) {
      training::draw_parameters(learner_->layout(), learner.seed, range, learner_->values());
      return;
    }
    for (const std::string& name : training::load_parameters(
             learner_->layout(), *weights, learner.seed, range, learner_->values())) {
      check_drawn(name, weights->path());
    }
  }

  void check_drawn(const std::string& name, const std::string& path) const {
    const auto role = role_of(name);
    const bool mlm = role && *role >= Role::mlm_dense && *role <= Role::mlm_bias;
    const bool nsp = role == Role::next_sentence || role == Role::pooler;
    if ((mlm && options_.add_mlm) || (nsp && options_.add_nsp)) return;
    const char* how = mlm   ? "; `add_head` mlm draws a new head"
                      : nsp ? "; `add_head` nsp draws a new head, `no_nsp` does without"
                            : "";
    throw Error(Error::Kind::data, path, fmt::format("tensor {} is missing{}", name, how));
  }

  void read_dev() {
    PretrainingStream::Options data = data_;
    data.files = options_.dev;
    data.masking.seed = 1;  // whatever the run's: losses of two runs compare
    PretrainingStream stream(*tokenizer_, data);
    stream.next(1, dev_);
    // Not more than the text has.
    TrainingBatch one;
    while (dev_.sequences() < options_.dev_sequences) {
      if (!stream.next(1, one) || stream.epoch() > 0) break;
      dev_.batch.append(one.batch.input_ids, one.batch.token_type_ids);
      dev_.token_labels.insert(dev_.token_labels.end(), one.token_labels.begin(),
                               one.token_labels.end());
      dev_.sequence_labels.insert(dev_.sequence_labels.end(), one.sequence_labels.begin(),
                                  one.sequence_labels.end());
    }
    tell(stream, "dev sentences");
  }

  training::RunOptions run_options() const {
    training::RunOptions run = options_.run_options("pretrain", options_.steps);
    run.identity.merge(data_.identity());
    if (!options_.head.empty()) run.identity["head"] = options_.head;
    if (options_.freeze_layers) {
      run.identity["frozen layers"] = std::to_string(*options_.freeze_layers);
    }
    return run;
  }

  void note(Run& run) const {
    run.note("loss sum", loss_);
    run.note("loss count", count_);
  }

  void head_row() const {
    if (!options_.on_row) return;
    options_.on_row(std::string("step\ttrain_loss") +
                    (dev_.sequences() > 0 ? "\tdev_loss\tperplexity\ttop1\tnsp_accuracy" : ""));
  }
  void evaluate(Run& run) {
    std::string row = fmt::format("{}\t{:.6g}", learner_->steps(), loss_ / count_);
    loss_ = count_ = 0;
    if (dev_.sequences() > 0) {
      const Tally t = training::Evaluation(*learner_).run(dev_);
      run.dev_point(t.loss(), static_cast<double>(t.tokens_right) / t.tokens);
      row += fmt::format(
          "\t{:.6g}\t{:.6g}\t{:.6g}\t{}", t.loss(), std::exp(t.token_loss / t.tokens),
          static_cast<double>(t.tokens_right) / t.tokens,
          t.sequences > 0
              ? fmt::format("{:.6g}", static_cast<double>(t.sequences_right) / t.sequences)
              : "-");
    }
    if (options_.on_row) options_.on_row(row);
  }

  const PretrainOptions& options_;
  const Beginning* beginning_ = nullptr;  ///< start of a model from scratch, while it is opened
  ModelDirectory directory_;
  std::optional<Tokenizer> tokenizer_;
  PretrainingStream::Options data_;
  training::ModelFiles files_;
  std::unique_ptr<BertLearner> learner_;
  TrainingBatch dev_;
  double loss_ = 0, count_ = 0;
};

}  // namespace

std::optional<size_t> PretrainOptions::frozen(size_t layers) const {
  if (freeze_layers.value_or(0) > layers) {
    throw Error::of_field(
        "freeze_layers",
        fmt::format("found {}, wants at most {}, the model's layers", *freeze_layers, layers));
  }
  if (!head.empty()) return freeze_layers.value_or(layers);
  return freeze_layers.value_or(0) > 0 ? freeze_layers : std::nullopt;
}

bool pretrain(const PretrainOptions& options) { return Pretraining(options).run(); }

}  // namespace bert
