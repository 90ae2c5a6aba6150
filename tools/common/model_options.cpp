#include "common/model_options.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "common/run.h"

namespace bert::tools {

void add_model(Command& app, std::string& name, const std::string& description) {
  app.add({"-m,--model", description, model()}, name).same_rows();
}

void add_adapter(Command& app, std::string& name) {
  app.add({"--adapter", "directory or name of a LoRA adapter to merge into the model", model()},
          name)
      .same_rows();
}

ModelOptions::ModelOptions(Command& app, const TaskSpec& task, Use use) {
  request_.task = task;
  request_.overflow = task.overflow;
  request_.warn = notice;
  app.heading("Model");
  add_choice(app, use);
  if (use == Use::tokenizer) limited_ = &app;
  if (use != Use::whole_texts) {
    add_texts(app);
    add_computing(app);
  }
  app.heading(Command::kOwnOptions);
}

/// Which model and which parts of it, and what is refused.
void ModelOptions::add_choice(Command& app, Use use) {
  add_model(app, model_);
  add_adapter(app, adapter_);
  app.add({"--strict", use == Use::whole_texts
                           ? "fail on invalid UTF-8 and on texts of mostly unknown tokens"
                           : "fail on a cut text, invalid UTF-8 or a value that is not a number"},
          request_.strict);
  app.add({"--literal", "read special tokens in the text as plain text"}, request_.literal);
  if (use == Use::whole_texts || use == Use::tokenizer) return;
  app.add(
      {"--head", "which of the model's named heads (default: the first that fits)", text("NAME")},
      request_.head);
  ablate_option_ = app.add(
      {"--ablate", "heads of attention to turn off: 3.7,4.* (layer and head)", text("LIST")},
      ablate_);
}

/// How long texts are, and what becomes of those that are too long.
void ModelOptions::add_texts(Command& app) {
  app.add({"--max-seq-length", "tokens per sequence, special ones included (default: the model's)",
           positive()},
          request_.max_length)
      .of("max_length");
  overflow_option_ = app.add<Overflow>(
      {"--overflow", "what to do with a text that is too long"}, request_.overflow,
      {{"cut", Overflow::cut}, {"window", Overflow::window}, {"error", Overflow::error}},
      "head-tail:N", [this](const std::string& text) { return read_head_tail(text); });
  app.add<std::optional<bool>>(
      {"--truncation-side", "where a text that is too long is cut (default: the tokenizer's)"},
      request_.truncates_left, {{"left", true}, {"right", false}});
  app.add({"--stride",
           fmt::format("tokens that two windows share (default: {}, or half a window)",
                       request_.task.stride),
           whole()},
          request_.stride);
}

/// What changes speed, memory and rounding.
void ModelOptions::add_computing(Command& app) {
  app.add<std::optional<Precision>>(
         {"--dtype", "precision of the matrix products (default: the model's)"}, request_.dtype,
         {{"auto", std::nullopt},
          {"f32", Precision::f32},
          {"bf16", Precision::bf16},
          {"int8", Precision::int8}})
      .same_rows();
  app.add({"--max-batch-tokens",
           fmt::format("tokens computed at once (default: {}; never changes a row)",
                       request_.max_batch_tokens),
           whole(1, 1 << 20)},
          request_.max_batch_tokens)
      .same_rows();
  app.add({"--no-mmap", "copy the weights to memory, so that their files may change"},
          request_.hold)
      .same_rows();
}

/// head-tail:N, the last N tokens and as many others as there is room for (Sun et al. 2019).
bool ModelOptions::read_head_tail(const std::string& text) {
  constexpr std::string_view kName = "head-tail:";
  if (!text.starts_with(kName)) return false;
  const auto tail = to_number<size_t>(std::string_view(text).substr(kName.size()));
  request_.tail = tail.value_or(0);
  request_.overflow = Overflow::cut;
  return request_.tail > 0;
}

const TaskRequest& ModelOptions::request_without_model() const {
  if (limited_ && limited_->count("--max-seq-length") == 0)
    refuse_given(*limited_, {"--overflow", "--truncation-side", "--stride"},
                 "wants --max-seq-length, without which nothing is cut");
  if (ablate_option_ && ablate_option_->count() > 0) request_.ablate = ablate_;
  return request_;
}

const TaskRequest& ModelOptions::request() const {
  if (request_.directory.empty()) request_.directory = ModelDirectory::open(model_, adapter_);
  return request_without_model();
}

}  // namespace bert::tools
