#include "trainers/pretrain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "nn/loss.h"
#include "trainers/beginning.h"
#include "training/evaluation.h"

namespace bert {

using training::BertLearner;
using training::Objective;
using training::Run;
using training::Tally;
using training::TrainingBatch;

PretrainingStream::PretrainingStream(const Tokenizer& tokenizer, Options options)
    : tokenizer_(tokenizer), options_(std::move(options)), masking_(tokenizer, options_.masking) {
  for (const std::string& file : options_.files) {
    std::error_code missing;  // the reader will say so
    const auto type = std::filesystem::status(file, missing).type();
    const bool again = file != "-" && (type == std::filesystem::file_type::regular ||
                                       type == std::filesystem::file_type::not_found);
    if (!again && once_.empty()) once_ = file;
  }
}

std::map<std::string, std::string> PretrainingStream::Options::identity() const {
  return {{"text", hash_text(files_hash(files))},
          {"sequence", std::to_string(max_length)},
          {"next sentence", next_sentence ? "yes" : "no"},
          {"mlm probability", fmt::format("{}", masking.mlm_probability)},
          {"whole word", masking.whole_word ? "yes" : "no"}};
}

void PretrainingStream::gather(size_t document, size_t begin, size_t end, std::vector<int32_t>& ids,
                               std::vector<int32_t>& words) const {
  for (size_t s = begin; s < end; ++s) {
    const auto& from = ids_[document][s];
    const auto& from_words = words_[document][s];
    const int32_t base = words.empty() ? 0 : words.back() + 1;
    ids.insert(ids.end(), from.begin(), from.end());
    for (const int32_t word : from_words) words.push_back(base + word);
  }
}

void PretrainingStream::cut_singles() {
  const size_t room = options_.max_length - tokenizer_.added_tokens_single();
  Sequence sequence;
  for (size_t d = 0; d < ids_.size(); ++d) {
    for (size_t s = 0; s < ids_[d].size(); ++s) {
      const bool full = sequence.a.size() + ids_[d][s].size() > room;
      if (full && !sequence.a.empty()) {
        sequences_.push_back(std::move(sequence));
        sequence = {};
      }
      gather(d, s, s + 1, sequence.a, sequence.words_a);
    }
    if (!sequence.a.empty()) sequences_.push_back(std::move(sequence));
    sequence = {};
  }
  for (Sequence& s : sequences_) {
    s.a.resize(std::min(s.a.size(), room));
    s.words_a.resize(s.a.size());
  }
}

void PretrainingStream::cut_pairs() {
  const size_t room = options_.max_length - tokenizer_.added_tokens_pair();
  std::vector<std::vector<uint32_t>> lengths(ids_.size());
  for (size_t d = 0; d < ids_.size(); ++d) {
    for (const auto& sentence : ids_[d])
      lengths[d].push_back(static_cast<uint32_t>(sentence.size()));
  }
  const uint64_t key = mix(mix(options_.masking.seed, epoch_), block_);
  for (const SegmentPair& pair : make_pairs(lengths, texts_, room, true, key)) {
    Sequence s;
    s.is_next = pair.is_next;
    gather(pair.document_a, pair.begin_a, pair.end_a, s.a, s.words_a);
    gather(pair.document_b, pair.begin_b, pair.end_b, s.b, s.words_b);
    if (s.a.empty() || s.b.empty()) continue;  // sentences without tokens
    while (s.a.size() + s.b.size() > room) (s.a.size() > s.b.size() ? s.a : s.b).pop_back();
    s.words_a.resize(s.a.size());
    s.words_b.resize(s.b.size());
    sequences_.push_back(std::move(s));
  }
}

/// Returns false at the end of a text that cannot be read again.
bool PretrainingStream::read_block() {
  sequences_.clear();
  at_ = 0;
  while (sequences_.empty()) {
    if (!reader_) reader_ = std::make_unique<DocumentReader>(options_.files, options_.block_bytes);
    if (!reader_->next(texts_)) {
      if (!found_) {  // in a whole pass
        throw Error(Error::Kind::data, options_.files.empty() ? "-" : options_.files.front(),
                    "has no text to learn from (sentences, one a line; documents, an empty line "
                    "between)");
      }
      if (!once_.empty()) return false;
      reader_.reset();
      ++epoch_;
      block_ = 0;
      found_ = false;
      continue;
    }
    ids_.assign(texts_.size(), {});
    words_.assign(texts_.size(), {});
    EncodeOptions encode;
    encode.add_special_tokens = false;
    encode.max_length = 4 * options_.max_length;  // no sentence needs more
    for (size_t d = 0; d < texts_.size(); ++d) {
      for (const std::string& sentence : texts_[d]) {
        hash_ = mix(hash_, xxh64(sentence));
        encoding_.clear();
        tokenizer_.encode(sentence, encode, encoding_, scratch_);
        if (epoch_ == 0) {
          counts_.add(encoding_, tokenizer_.unk_id());
          counts_.end_text();
        }
        ids_[d].push_back(encoding_.input_ids);
        words_[d].push_back(encoding_.word_ids);
      }
    }
    if (options_.next_sentence) {
      cut_pairs();
    } else {
      cut_singles();
    }
    const uint64_t key = mix(mix(options_.masking.seed, 77 + epoch_), block_);
    for (size_t i = sequences_.size(); i > 1; --i) {
      std::swap(sequences_[i - 1], sequences_[mix(key, i) % i]);
    }
    ++block_;
    found_ |= !sequences_.empty();
  }
  ids_.clear();
  words_.clear();
  texts_.clear();
  return true;
}

void PretrainingStream::append(const Sequence& s, uint64_t number, TrainingBatch& batch) {
  encoding_.clear();
  FramedText framed(s.b.empty() ? tokenizer_.frame() : tokenizer_.pair_frame(), encoding_);
  for (size_t i = 0; i < s.a.size(); ++i) framed.push(s.a[i], {}, s.words_a[i]);
  if (!s.b.empty()) {
    framed.next();
    const int32_t base = s.words_a.empty() ? 0 : s.words_a.back() + 1;
    for (size_t i = 0; i < s.b.size(); ++i) framed.push(s.b[i], {}, base + s.words_b[i]);
  }
  framed.finish();
  masking_.choose(encoding_, mix(options_.masking.seed, number), chosen_);
  Masking::corrupt(chosen_, encoding_.input_ids);
  const size_t begin = batch.token_labels.size();
  batch.token_labels.resize(begin + encoding_.size(), training::kIgnored);
  for (const MaskedToken& token : chosen_) {
    batch.token_labels[begin + token.position] = token.original;
  }
  batch.batch.append(encoding_.input_ids, encoding_.token_type_ids);
  if (options_.next_sentence) batch.sequence_labels.push_back(s.is_next ? 0 : 1);
}

bool PretrainingStream::next(size_t count, TrainingBatch& batch) {
  batch.clear();
  for (size_t i = 0; i < count; ++i) {
    if (at_ == sequences_.size() && !read_block()) return false;
    append(sequences_[at_++], number_++, batch);
  }
  return true;
}

Error PretrainingStream::ended(uint64_t steps, uint64_t wanted, const std::string& output) const {
  return Error(Error::Kind::data, once_,
               fmt::format("can be read only once, and gave text for {} of {} steps{}", steps,
                           wanted, steps > 0 ? "; the model after them is in " + output : ""));
}

void PretrainingStream::skip(uint64_t count) {
  while (count > 0) {
    if (at_ == sequences_.size() && !read_block()) {
      throw Error(Error::Kind::data, once_, "ends before the text that the checkpoint has read");
    }
    const uint64_t n = std::min<uint64_t>(count, sequences_.size() - at_);
    at_ += n;
    number_ += n;
    count -= n;
  }
}

namespace {

std::string text_of(const std::string& path) { return std::string(MappedFile::open(path).text()); }

/// The files of a model from scratch.
NamedFiles files_of(const PretrainOptions& options) {
  return {{"config.json", text_of(options.config)},
          {"vocab.txt", text_of(options.vocab)},
          {"tokenizer_config.json", fmt::format("{{\n  \"tokenizer_class\": \"BertTokenizer\",\n"
                                                "  \"do_lower_case\": {}\n}}\n",
                                                options.cased ? "false" : "true")}};
}

/// `message` with the names of the user's files instead of their copies in `directory`.
std::string told(std::string message, const std::string& directory,
                 const PretrainOptions& options) {
  for (const auto& [name, file] :
       {std::pair("/config.json", &options.config), std::pair("/vocab.txt", &options.vocab)}) {
    const std::string copied = directory + name;
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
  void tell(const PretrainingStream& stream, const char* what) const {
    if (!options_.on_notice) return;
    for (const std::string& line : stream.counts().lines(what)) options_.on_notice(line);
  }

  /// The model to begin with.
  void open(const std::string& directory) {
    directory_ = directory;
    Config config = Config::open(directory_);
    config.bilstm = {};  // it is not trained here
    config.require_sizes();
    training::require_trainable(config);
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
    if (data_.max_length > config.max_tokens() || data_.max_length < 8) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants 8 to {}, the model's positions",
                                        data_.max_length, config.max_tokens()));
    }
    make_learner(std::move(config));
    if (!options_.dev.empty()) read_dev();
    if (options_.on_memory) {
      options_.on_memory(learner_->bytes_to_come(
          {options_.batch_size, options_.batch_size * data_.max_length, data_.max_length},
          !options_.dev.empty()));
    }
  }

  void check() const {
    options_.check_learning_rate();
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
  }

  void make_learner(Config config) {
    data_.masking.seed = options_.learner.seed;
    data_.next_sentence = data_.next_sentence && config.family->next_sentence;
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
    std::optional<Weights> weights;
    if (!options_.model.empty()) weights.emplace(Weights::open(directory_, config));
    head.config = std::move(config);
    learner_ = std::make_unique<BertLearner>(std::vector{std::move(head)}, learner);
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
  const Beginning* beginning_ = nullptr;  ///< of a model from scratch, while it is opened
  std::string directory_;
  std::optional<Tokenizer> tokenizer_;
  PretrainingStream::Options data_;
  training::ModelFiles files_;
  std::unique_ptr<BertLearner> learner_;
  TrainingBatch dev_;
  double loss_ = 0, count_ = 0;
};

}  // namespace

bool pretrain(const PretrainOptions& options) { return Pretraining(options).run(); }

}  // namespace bert
