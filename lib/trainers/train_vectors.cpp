#include "trainers/train_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/model_files.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "trainers/epochs.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"
#include "trainers/vector_examples.h"
#include "trainers/vector_modules.h"
#include "trainers/vector_score.h"
#include "trainers/vector_teacher.h"
#include "training/vector_network.h"

namespace bert {
namespace {

using training::Tally;
using training::TrainingBatch;
using training::VectorNetwork;

constexpr const char* kLosses[] = {"mnrl", "cosent", "cosine", "triplet", "mse"};

/// Vectors of texts, which learn from records of texts.
class EmbedTask : public FinetuneTask {
 public:
  explicit EmbedTask(const FinetuneOptions& options)
      : FinetuneTask(options), own_(SentenceModules::open(options.model)) {
    Checkpoint checkpoint = Checkpoint::open(options_.model);
    training::require_trainable(checkpoint.config, HeadKind::vectors);
    const Tokenizer tokenizer = Tokenizer::open(options_.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    own_.check_case(tokenizer.lowercase());
    modules_ = VectorModules::make(options_, own_, checkpoint.config, tokenizer);
    settle_task(checkpoint.config);
    read(checkpoint.config, tokenizer);
    make_learner(std::move(checkpoint));
    tell_plan();
  }

  size_t examples() const override { return train_.records(); }
  training::StepSize size_of(uint32_t example) const override {
    training::StepSize size;
    size.sequences = train_.columns;
    for (size_t c = 0; c < train_.columns; ++c) {
      const size_t length = train_.texts[example * train_.columns + c].input_ids.size();
      size.tokens += length;
      size.longest = std::max(size.longest, length);
    }
    return size;
  }
  void fill(std::span<const uint32_t> examples, TrainingBatch& batch) const override {
    train_.fill(examples, batch);
  }
  bool has_accuracy() const override {
    return loss() == nn::VectorLoss::ranking || loss() == nn::VectorLoss::triplet;
  }
  bool has_dev() const override { return dev_.has_value(); }
  std::string_view dev_noun() const override { return "dev records"; }
  std::vector<std::string> measures() const override { return {vector_metric(loss()), "loss"}; }
  DevScore score() override {
    DevScore dev;
    if (modules_.of_tokens()) {
      score_tokens(dev);
      return dev;
    }
    Buffer buffer;
    const Matrix vectors = buffer.matrix(dev_->texts.size(), network().vector_size());
    dev.loss = dev_vectors(vectors);
    dev.value = vector_score(loss(), *dev_, vectors, dev.report);
    return dev;
  }

 private:
  nn::VectorLoss loss() const { return task_.loss.loss; }

  const VectorNetwork& vectors() const {
    return static_cast<const VectorNetwork&>(learner_->network());
  }
  void settle_task(const Config& config) {
    const VectorOptions& wanted = options_.vectors;
    task_.loss = wanted.loss;
    task_.dims = wanted.dims;
    std::sort(task_.dims.rbegin(), task_.dims.rend());
    modules_.settle(task_);
    const size_t width = task_.width(config.hidden_size);
    for (const size_t dims : task_.dims) {
      if (dims >= 1 && dims <= width) continue;
      throw Error::of_field("dims", fmt::format("found {}, wants 1 to {}", dims, width));
    }
    if (!(task_.loss.scale > 0 && std::isfinite(task_.loss.scale))) {
      throw Error::of_field("scale",
                            fmt::format("found {}, wants a number above 0", task_.loss.scale));
    }
    if (!modules_.of_tokens()) return;
    const bool plain = loss() == nn::VectorLoss::ranking && !task_.loss.symmetric;
    if (!plain) throw Error::of_field("loss", "wants mnrl, one way, for vectors of tokens");
    if (!task_.dims.empty()) throw Error::of_field("dims", "is not for vectors of tokens");
    if (!wanted.prompts.empty()) {
      throw Error::of_field("prompts", "is not for vectors of tokens, whose model has its own");
    }
    if (!options_.vectors.scale_given) task_.loss.scale = 1;
  }

  /// The texts of the prompts that are named.
  std::vector<std::string> prompts() const {
    std::vector<std::string> texts;
    for (const std::string& name : options_.vectors.prompts) {
      if (!own_.prompts.contains(name)) {
        std::string known;
        for (const auto& [own, text] : own_.prompts) known += (known.empty() ? "" : ", ") + own;
        throw Error::of_field("prompts",
                              fmt::format("found '{}', wants one of the model's prompts ({})",
                                          printable(name), known.empty() ? "it has none" : known));
      }
      texts.push_back(own_.prompt(name));
    }
    if (texts.empty()) texts.push_back(own_.prompt());
    return texts;
  }

  /// How texts are read.
  std::vector<VectorExampleOptions::Side> sides(const Config& config, const Tokenizer& tokenizer) {
    std::vector<VectorExampleOptions::Side> sides;
    if (modules_.of_tokens()) {
      const size_t given = options_.max_length;
      for (const LateSide* side : {&*modules_.query, &*modules_.document}) {
        const bool is_document = side == &*modules_.document;
        const size_t own = side->length > 0 ? side->length : config.max_tokens();
        length_ = checked_length(
            is_document && given > 0 ? given : std::min(own, config.max_tokens()), config);
        sides.push_back({&side->tokenizer, side->prompt, length_, side});
      }
      return sides;
    }
    const size_t own =
        own_.settings.max_length.value_or(tokenizer.model_max_length().value_or(512));
    length_ = checked_length(
        options_.max_length > 0 ? options_.max_length : std::min(own, config.max_tokens()), config);
    for (const std::string& prompt : prompts()) sides.push_back({&tokenizer, prompt, length_});
    return sides;
  }

  void read(const Config& config, const Tokenizer& tokenizer) {
    VectorExampleOptions from{options_.train, loss(), sides(config, tokenizer),
                              own_.include_prompt};
    from.keep_texts = !options_.teacher.empty();
    train_ = read_vector_examples(from);
    task_.loss.columns = train_.columns;
    check_examples();
    const bool teaches = loss() == nn::VectorLoss::teacher;
    const size_t width = task_.width(config.hidden_size);
    if (!options_.teacher.empty()) {
      ask_vector_teacher(options_, width, train_);
    } else if (teaches) {
      read_teacher(options_.vectors.teacher_vectors, width, train_);
    }
    if (const auto share = held_out_share(options_.dev)) {
      dev_ = hold_out(train_, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      from.from.files = options_.dev;
      if (teaches && options_.teacher.empty()) {
        throw Error::of_field("dev", "wants a share such as 10% beside a teacher's vectors");
      }
      dev_ = read_vector_examples(from, train_.columns);
      if (teaches) ask_vector_teacher(options_, width, *dev_);
    }
    if (modules_.of_tokens()) settle_longest();
    describe();
  }

  void settle_longest() {
    task_.longest = 1;
    for (const VectorExamples* set : {&train_, dev_ ? &*dev_ : nullptr}) {
      if (!set) continue;
      for (const auto& text : set->texts) {
        task_.longest = std::max(task_.longest, text.input_ids.size());
      }
    }
  }

  /// Throws Error(data) if no loss can teach anything.
  void check_examples() const {
    const auto refuse = [&](const char* what) {
      throw Error(Error::Kind::data, options_.train.files.front(),
                  fmt::format("{}: nothing can be learned", what));
    };
    if (loss() == nn::VectorLoss::ranking && train_.records() == 1 && train_.columns < 3) {
      refuse("has one record, and no other text to tell from its own");
    }
    const std::vector<float>& targets = train_.targets;
    const bool alike = std::all_of(targets.begin(), targets.end(),
                                   [&](float value) { return value == targets.front(); });
    if (loss() == nn::VectorLoss::cosent && alike) refuse("has only equal numbers");
  }

  void describe() const {
    const auto say = [&](const VectorExamples& set, const char* what) {
      if (set.cut > 0) {
        notice(fmt::format("{} of {} {} texts cut at {} tokens", set.cut, set.texts.size(), what,
                           length_));
      }
      if (set.empty > 0) {
        notice(fmt::format("{} of {} {} texts are empty", set.empty, set.texts.size(), what));
      }
      for (const std::string& line : set.counts.lines(fmt::format("{} texts", what))) notice(line);
    };
    say(train_, "training");
    if (dev_) say(*dev_, "dev");
    std::string line = fmt::format("{} training records of {} text{}", train_.records(),
                                   train_.columns, train_.columns == 1 ? "" : "s");
    if (dev_) line += fmt::format("; {} dev records", dev_->records());
    notice(line);
  }

  void make_learner(Checkpoint checkpoint) {
    Config& config = checkpoint.config;
    const training::LearnerOptions learner = settle_plan(config, train_.records());
    files_ = training::ModelFiles::make(options_.model, config, HeadKind::vectors);
    add_modules();
    training::HeadPlan trunk = head_plan(HeadKind::vectors, config, checkpoint.weights);
    trunk.config = std::move(config);
    learner_ = std::make_unique<training::Learner>(
        std::make_unique<VectorNetwork>(std::move(trunk), task_, learner.bf16), learner);
    training::load_parameters(learner_->layout(), checkpoint.weights, learner.seed,
                              training::initializer_range(network().config()), learner_->values());
    modules_.load(learner_->layout(), learner.seed, learner_->values());
    for (const auto& module : modules_.dense) {
      if (!module.layer.weights) {
        notice(fmt::format("new, drawn at random: {}, {} to {} numbers", module.folder,
                           module.layer.in_features, module.layer.out_features));
      }
    }
    settle_rates();
  }

  void add_modules() {
    for (const auto& file : modules_.files) {
      const bool known = std::any_of(files_.files.begin(), files_.files.end(),
                                     [&](const auto& other) { return other.first == file.first; });
      if (!known) files_.files.push_back(file);
    }
  }

  bool learns_jointly() const override { return true; }
  std::string name() const override { return "embed"; }
  std::map<std::string, std::string> identity() const override {
    return {{"examples", hash_text(train_.hash())},
            {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
            {"loss", kLosses[static_cast<size_t>(loss())]},
            {"scale", fmt::format("{}", task_.loss.scale)},
            {"symmetric", task_.loss.symmetric ? "yes" : "no"},
            {"margin", fmt::format("{}", task_.loss.margin)},
            {"dims", fmt::format("{}", fmt::join(task_.dims, ","))},
            {"vectors",
             fmt::format("{} of {}", vectors().width(), modules_.of_tokens() ? "tokens" : "texts")},
            {"sequence", std::to_string(length_)}};
  }

  /// The vectors of all dev texts, and the mean loss of their records in batches of a step's size.
  double dev_vectors(Matrix vectors) {
    std::vector<uint32_t> all(dev_->records());
    for (uint32_t r = 0; r < all.size(); ++r) all[r] = r;
    TrainingBatch batch;
    dev_->fill(all, batch);
    learner_->vectors(batch, vectors);
    Tally tally;
    for (size_t first = 0; first < all.size(); first += options_.batch_size) {
      const size_t count = std::min(options_.batch_size, all.size() - first);
      dev_->fill(std::span(all).subspan(first, count), batch);
      tally +=
          network().judge(batch, vectors.slice(first * dev_->columns, count * dev_->columns), {});
    }
    return tally.loss();
  }

  /// Of vectors of tokens, step by step: their memory is that of a batch, and of what is scored.
  void score_tokens(DevScore& dev) {
    TokenScore score(*dev_);
    TrainingBatch batch;
    Tally tally;
    Buffer buffer;
    VectorNetwork::Tokens tokens;
    std::vector<uint32_t> order;
    for (size_t first = 0; first < dev_->records(); first += order.size()) {
      order.resize(std::min(options_.batch_size, dev_->records() - first));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(first + i);
      dev_->fill(order, batch);
      const Matrix found = buffer.matrix(batch.sequences(), vectors().vector_size());
      learner_->vectors(batch, found);
      tally += vectors().judge(batch, found, {});
      vectors().gather(batch, found, tokens);
      for (size_t s = 0; s + 1 < tokens.ends.size(); ++s) {
        score.add(tokens.x.slice(tokens.ends[s], tokens.ends[s + 1] - tokens.ends[s]));
      }
    }
    dev.loss = tally.loss();
    dev.value = score.value(dev.report);
  }

  const SentenceModules own_;  ///< the modules that training starts from
  VectorModules modules_;
  training::VectorTask task_;
  size_t length_ = 0;  ///< tokens of a text
  VectorExamples train_;
  std::optional<VectorExamples> dev_;
};

}  // namespace

bool train_vectors(const FinetuneOptions& options) {
  EmbedTask task(options);
  return run_epochs(task);
}

}  // namespace bert
