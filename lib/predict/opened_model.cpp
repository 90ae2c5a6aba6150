#include "predict/opened_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "directory/static_files.h"
#include "predict/head_list.h"
#include "predict/text_limits.h"
#include "seq2seq/reading_decoder.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const char* field, const std::string& what) {
  throw Error::of_field(field, what);
}

}  // namespace

Tokenizer open_tokenizer(const TaskRequest& request, ModelsTaken taken) {
  const ModelDirectory& directory = request.directory;
  if (taken == ModelsTaken::layers && directory.static_files()) throw_static_vectors(directory);
  Tokenizer tokenizer = open_any_tokenizer(directory);
  for (const std::string& warning : tokenizer.warnings()) request.warn_of(warning);
  return tokenizer;
}

ReadOptions reading_of_tokens(const TaskRequest& request, const Tokenizer& tokenizer, bool special,
                              bool pair) {
  TextLimits limits;
  if (special)
    limits.added = pair ? tokenizer.added_tokens_pair() : tokenizer.added_tokens_single();
  limits.truncates_left = tokenizer.truncates_left();
  ReadOptions reading = limits.reading(request);
  reading.encode.add_special_tokens = special;
  return reading;
}

OpenedModel::OpenedModel(const TaskRequest& request, ModelsTaken taken)
    : request_(request), tokenizer_(open_tokenizer(request_, taken)) {
  const StaticFiles* files =
      taken == ModelsTaken::any ? request_.directory.static_files() : nullptr;
  if (files) {
    fixed_ = open_static(*files);
  } else {
    // The mean of the hidden states needs no head, so any will do.
    const auto head = request_.task.head;
    model_ = open_model(head == HeadKind::vectors ? std::nullopt : head);
  }
}

Model OpenedModel::open_model(std::optional<HeadKind> kind) const {
  const TaskRequest& r = request_;
  Model model = Model::open(r.directory, r.dtype, {r.head, kind}, r.many_rows);
  if (r.ablate) model.ablate(parse_heads(*r.ablate, "ablate", model.config()));
  if (kind == HeadKind::classify && model.config().text_input == TextInput::last_end) {
    model.read_with(open_reading_decoder(r.directory, r.dtype));
  }
  check_weights(model.weights());
  return model;
}

StaticText OpenedModel::open_static(const StaticFiles& files) const {
  if (!request_.head.empty()) refuse("head", "this model has no heads");
  if (request_.ablate) refuse("ablate", "static vectors have no heads of attention");
  if (request_.dtype.value_or(Precision::f32) != Precision::f32) {
    refuse("dtype", "static vectors go through no matrix products");
  }
  StaticText text = StaticText::open(files, tokenizer_);
  check_weights(text.vectors.weights());
  return text;
}

void OpenedModel::settle(const Weights& weights) const {
  if (request_.hold) weights.hold();
}

void OpenedModel::check_weights(const Weights& weights) const {
  settle(weights);
  if (!request_.strict) return;
  for (const NonFinite& tensor : weights.non_finite()) {
    throw Error(Error::Kind::data, weights.path(), tensor.text());
  }
}

const Model& OpenedModel::model() const {
  if (!model_) throw_static_vectors(request_.directory);
  return *model_;
}

void OpenedModel::take_head(HeadKind kind) { model_ = open_model(kind); }

std::vector<std::string> OpenedModel::bad_weights() const {
  const Weights& weights = fixed_ ? fixed_->vectors.weights() : model().weights();
  std::vector<std::string> lines;
  for (const NonFinite& tensor : weights.non_finite()) {
    lines.push_back(weights.path() + ": " + tensor.text());
  }
  return lines;
}

ReadOptions OpenedModel::static_reading() const {
  if (request_.tail > 0 || request_.truncates_left) {
    refuse(request_.tail > 0 ? "overflow" : "truncation_side",
           "static vectors are of the begin of a text");
  }
  TextLimits limits;
  TaskRequest request = request_;
  if (request.overflow == Overflow::window) {
    // A text of any length goes through in one piece, which is the window that covers all of it.
    request.max_length = 0;
  } else if (fixed_->max_length > 0) {
    limits.own = fixed_->max_length;
  }
  ReadOptions reading = limits.reading(request);
  reading.fixed = &*fixed_;
  reading.encode.add_special_tokens = false;
  return reading;
}

ReadOptions OpenedModel::reading(const TaskSpec& task, const Tokenizer& tokenizer,
                                 const ModuleLimit& limit) const {
  if (fixed_) return static_reading();
  const Config& config = model().config();
  if (tokenizer.vocab_size() > config.vocab_size) {
    throw Error(Error::Kind::data, request_.directory.path(),
                fmt::format("vocabulary (vocab.txt or tokenizer.json) of {} tokens, wants at most "
                            "{}, the rows of the embeddings",
                            tokenizer.vocab_size(), config.vocab_size));
  }
  TextLimits limits;
  limits.positions = config.max_tokens();
  const auto own = limit.tokens ? limit.tokens : tokenizer.model_max_length();
  limits.own = task.max_length(limits.positions, own);
  limits.added = task.texts > 1 ? tokenizer.added_tokens_pair() : tokenizer.added_tokens_single();
  limits.truncates_left = tokenizer.truncates_left();
  ReadOptions reading = limits.reading(request_);
  reading.encode.truncation = task.truncation;
  if (request_.max_length == 0 && limit.tokens.value_or(SIZE_MAX) < limits.positions) {
    reading.limit_source = limit.source;
  }
  return reading;
}

}  // namespace bert
