#include "predict/cross_encoder.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "heads/masked_lm.h"

namespace bert {
namespace {

/// Whether the model's files put the scores of its CrossEncoder through a sigmoid. Otherwise a
/// score is the logit itself, which tells apart what a sigmoid in float rounds to 1. Where the
/// files name nothing, a classifier's score is its logit, and that of modules is put through it, as
/// sentence-transformers does.
bool saves_sigmoid(const Config& config, bool modules) {
  if (config.score_function.empty()) return modules;
  return torch_activation(config.score_function) == Activation::sigmoid;
}

/// Whether modules.json names more than a Transformer with a head of its own.
bool has_layers(const ModelDirectory& directory) {
  const JsonDocument* modules = directory.find_sound(file_names::kModules);
  return modules && modules->root().is_array() && modules->root().size() > 1;
}

/// Refuses files that put the scores through another function than we have.
void check_function(const OpenedModel& model) {
  const std::string& function = model.model().config().score_function;
  const auto known = torch_activation(function);
  if (function.empty() || known == Activation::sigmoid || known == Activation::none) return;
  throw Error(Error::Kind::unsupported,
              model.request().directory.file(file_names::kSentenceTransformers),
              fmt::format("a CrossEncoder's scores through {} are not supported, wants Sigmoid "
                          "or Identity of torch.nn",
                          printable(function)));
}

/// What a causal language model without modules is to a CrossEncoder: its score is the logit of
/// "yes" less that of "no".
std::optional<SentenceModules::LogitScore> implied_score(const OpenedModel& model) {
  const std::vector<std::string>& names = model.model().config().architectures;
  if (names.empty() || !names[0].ends_with("ForCausalLM")) return std::nullopt;
  const auto yes = model.tokenizer().token_to_id("yes"), no = model.tokenizer().token_to_id("no");
  if (!yes || !no) return std::nullopt;
  return SentenceModules::LogitScore{*yes, *no};
}

}  // namespace

CrossEncoder::CrossEncoder(const OpenedModel& model, ScoreKind kind) : model_(model) {
  const ModelDirectory& directory = model.request().directory;
  SentenceModules modules;
  if (has_layers(directory) && model.request().head.empty()) {
    modules = SentenceModules::open(directory);
  } else if (model.request().head.empty()) {
    modules.logit_score = implied_score(model);
  }
  const bool own = saves_sigmoid(model.model().config(), modules.scores || modules.logit_score);
  sigmoid_ = kind == ScoreKind::own ? own : kind == ScoreKind::sigmoid;
  if (modules.logit_score) {
    open_logits(modules);
  } else if (modules.scores) {
    open_modules(std::move(modules));
  } else {
    head_ = Classifier::open(model.model());
    reading_ = model.reading();
  }
}

void CrossEncoder::open_logits(const SentenceModules& modules) {
  const Model& model = model_.model();
  if (model_.request().overflow == Overflow::window) {
    throw Error::of_field("overflow", "window: not for a model that reads a pair as one text");
  }
  check_function(model_);
  const Weights& weights = model.weights();
  const TensorView& decoder = weights.require(decoder_spec(model.config(), weights));
  const auto add = [&](int64_t id) {
    if (id >= static_cast<int64_t>(decoder.shape[0])) {
      throw Error(
          Error::Kind::data, model_.request().directory.file(file_names::kModules),
          fmt::format("LogitScore has the token {}, wants one of {}", id, decoder.shape[0]));
    }
    words_.resize(words_.size() + decoder.shape[1]);
    decoder.row(static_cast<size_t>(id), std::span(words_).last(decoder.shape[1]));
  };
  add(modules.logit_score->yes);
  if (modules.logit_score->no) add(*modules.logit_score->no);
  reading_ = model_.reading(ModuleLimit::of(modules));
  reading_.prompt = modules.prompt();  // the instruction
  reading_.encode.add_special_tokens = false;
  pairs_ = PairText::open(PairTemplate::open(model_.request().directory), model_.tokenizer(),
                          reading_.prompt);
  reading_.pairs = &*pairs_;
}

void CrossEncoder::open_modules(SentenceModules modules) {
  check_function(model_);
  const SentenceModules::Dense& last = modules.dense.back();
  if (last.out_features != 1) {
    throw Error(Error::Kind::unsupported, last.directory.file(file_names::kConfig),
                fmt::format("a CrossEncoder with {} outputs, wants one", last.out_features));
  }
  modules.check_case(model_.tokenizer().lowercase());
  modules.check_length(model_.tokenizer().added_tokens_pair());
  reading_ = model_.reading(ModuleLimit::of(modules));
  reading_.prompt = modules.prompt();  // before the first text of a pair
  modules.scores = false;              // which are vectors of one number to the plan
  const VectorPlan plan = VectorPlan::make(model_.model(), modules, "", "");
  modules_.emplace(model_.tokenizer(), model_.model(), plan);
  for (const Weights* weights : plan.weights()) model_.settle(*weights);
}

void CrossEncoder::check() const {
  if (!head_ || head_->labels().size() == 1) return;
  throw Error(Error::Kind::unsupported, head_->config_path(),
              fmt::format("a classifier with {} labels, wants a cross-encoder, which has one "
                          "output; classify gives each label its score",
                          head_->labels().size()));
}

/// logits [S, 1] of the sequences from `first` on
void CrossEncoder::add_logits(const Sequences& sequences, size_t first, ConstMatrix logits,
                              std::vector<double>& scores) const {
  for (size_t s = 0; s < logits.rows; ++s) {
    const auto logit = static_cast<double>(*logits.row(s));
    double& score = scores[sequences.texts()[first + s]];
    if (!(logit <= score)) score = logit;  // NaN too
  }
}

void CrossEncoder::run_modules(const Sequences& sequences, Batcher& batcher,
                               std::vector<double>& scores) const {
  VectorScratch scratch(*modules_, reading_, batcher);
  Buffer pooled;
  const VectorPlan& plan = modules_->plan();
  modules_->for_each_batch(
      sequences, scratch, [&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
        const Matrix texts = pooled.matrix(batch.sequences(), plan.pooled_width());
        for (size_t s = 0; s < texts.rows; ++s) {
          plan.pool_sequence(states.slice(batch.begin(s), batch.length(s)), scratch.prompt_tokens(),
                             model_.tokenizer().frame(), {texts.row(s), texts.cols});
        }
        add_logits(sequences, first, modules_->finish(texts, scratch), scores);
      });
}

void CrossEncoder::run_logits(const Sequences& sequences, Batcher& batcher,
                              std::vector<double>& scores) const {
  batcher.run(model_.model(), sequences.encodings(),
              [&](size_t first, const PackedBatch& batch, Matrix hidden) {
                for (size_t s = 0; s < batch.sequences(); ++s) {
                  const float* last = hidden.row(batch.cu_seq_lens[s + 1] - 1);
                  double logits[2] = {};  // of yes, of no
                  for (size_t i = 0; i < words_.size(); ++i) {
                    logits[i / hidden.cols] +=
                        static_cast<double>(words_[i]) * static_cast<double>(last[i % hidden.cols]);
                  }
                  scores[sequences.texts()[first + s]] = logits[0] - logits[1];
                }
              });
}

void CrossEncoder::predict(const Sequences& sequences, size_t texts, Batcher& batcher,
                           std::vector<double>& scores) const {
  scores.assign(texts, -std::numeric_limits<double>::infinity());
  if (pairs_) {
    run_logits(sequences, batcher, scores);
  } else if (modules_) {
    run_modules(sequences, batcher, scores);
  } else {
    batcher.run(model_.model(), sequences.encodings(),
                [&](size_t first, const PackedBatch& batch, Matrix hidden) {
                  add_logits(sequences, first, head_->logits(batch, hidden, batcher.workspace()),
                             scores);
                });
  }
  if (!sigmoid_) return;
  // In double, so that only a logit above 36 becomes 1.
  for (double& score : scores) score = 1 / (1 + std::exp(-score));
}

}  // namespace bert
