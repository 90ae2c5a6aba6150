#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "ops/linear.h"
#include "pipeline/worker.h"
#include "predict/sequences.h"
#include "predict/task.h"

namespace bert {

class OpenedModel;
class OpenedTranslator;

/// What the shared options tell every task.
struct TaskOptions : ReadOptions {
  size_t max_batch_tokens = kBatchTokens;  ///< tokens of one packed batch; never changes a row
  bool strict = false;     ///< a cut text, invalid UTF-8, a text of unknown tokens or a value that
                           ///< is no number is an error
  bool file = false;       ///< the name of the record's file first; its number counts within it
  bool number = false;     ///< -n: the record number first
  bool keep_line = false;  ///< the input line last
  bool json = false;       ///< one JSON object per record
  bool chars = false;      ///< offsets count code points
  /// Gets each record whose text is cut, and how many tokens were left out, once. Called by several
  /// threads.
  std::function<void(const Record&, size_t dropped)> on_cut;
  std::optional<Precision> precision;  ///< the model's; none: one only tokenizes
  /// Names the weights that are no numbers, for a run that gave a value that is none; may be empty.
  std::function<std::vector<std::string>()> bad_weights;
};

/// The options of a request whose model is opened, and outlives them. `reading`: how the model
/// reads texts if not as its task does.
BERT_API TaskOptions task_options(const OpenedModel& model);
BERT_API TaskOptions task_options(const OpenedModel& model, const ReadOptions& reading);
BERT_API TaskOptions task_options(const OpenedTranslator& model);
/// The same of a request without layers.
BERT_API TaskOptions task_options(const TaskRequest& request, const ReadOptions& reading);
/// The same of a request whose texts only become tokens, as reading_of_tokens says.
BERT_API TaskOptions task_options(const TaskRequest& request, const Tokenizer& tokenizer,
                                  bool special, bool pair);

/// The same with a text that is put before every text.
inline TaskOptions with_prompt(TaskOptions options, const std::string& prompt) {
  options.prompt = prompt;
  return options;
}

}  // namespace bert
