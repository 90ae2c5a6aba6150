#pragma once

#include <string>

#include "common/command.h"
#include "predict/task.h"

namespace bert::tools {

/// Adds -m, --model. An empty name is an error and not the default: it may come from an unset
/// variable.
void add_model(Command& app, std::string& name,
               const std::string& description =
                   "model directory or name (else $BERT_MODEL, else the default)");

/// Adds --adapter, a LoRA adapter that is merged into the model.
void add_adapter(Command& app, std::string& name);

/// The common options of all tools that read a model: -m --model, --adapter, --max-seq-length,
/// --overflow, --stride, --strict, --literal, --dtype, --max-batch-tokens, --no-mmap, and of those
/// that run its layers --head, --ablate; of those that only tokenize texts of any length, -m
/// --model, --adapter, --strict, --literal
class ModelOptions {
 public:
  enum class Use { whole_texts, tokenizer, layers };
  /// `task`: what is asked of the model, whose row has the defaults.
  explicit ModelOptions(Command& app, const TaskSpec& task = {}, Use use = Use::layers);
  ModelOptions(const ModelOptions&) = delete;
  ModelOptions& operator=(const ModelOptions&) = delete;

  /// What the user asks of the directory that -m, $BERT_MODEL or the default names. It is opened
  /// once.
  const TaskRequest& request() const;
  /// The same without a directory.
  const TaskRequest& request_without_model() const;
  /// The default of --overflow from here on.
  void prefer_overflow(Overflow overflow) {
    if (overflow_option_->count() == 0) request_.overflow = overflow;
  }

 private:
  void add_choice(Command& app, Use use);
  void add_texts(Command& app);
  void add_computing(Command& app);
  bool read_head_tail(const std::string& text);

  std::string model_, adapter_;
  std::string ablate_;
  const Command* limited_ = nullptr;  ///< the command, if only the user limits texts
  const CLI::Option *ablate_option_ = nullptr, *overflow_option_ = nullptr;
  mutable TaskRequest request_;
};

}  // namespace bert::tools
