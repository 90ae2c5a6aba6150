#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "directory/model_directory.h"
#include "model/heads.h"
#include "ops/linear.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// What happens to a text that is too long for the model.
///   cut      the end is dropped, and counted     window   overlapping windows cover all of it
///   error    the run ends with status 65
enum class Overflow { cut, window, error };

inline constexpr size_t kBatchTokens = 512;  ///< tokens computed at once; never changes a number

/// What is asked of a model, by the names of transformers' pipelines.
enum class TaskKind : uint8_t {
  feature_extraction,
  text_classification,
  zero_shot_classification,
  token_classification,
  question_answering,
  fill_mask,
  next_sentence_prediction,
  text_ranking,
  translation,
  open_entities,
};

/// What a task reads, and its defaults. Tools, C API, training and dev scores read texts as the
/// task's row of the table says, unless the user says something else.
struct TaskSpec {
  std::string_view name = {};         ///< as transformers' pipelines call it
  std::optional<HeadKind> head = {};  ///< nullopt: the bare encoder, or another model
  size_t texts = 1;                   ///< texts of a sequence
  Truncation truncation = Truncation::longest_first;
  Overflow overflow = Overflow::cut;
  size_t window = SIZE_MAX;      ///< tokens of a sequence, where the model takes more
  size_t stride = 128;           ///< tokens that two windows share ...
  size_t max_answer_length = 0;  ///< tokens of an answer

  /// Tokens of a sequence. `positions`: as many as the model takes. `own`: the limit of the
  /// tokenizer or of the sentence modules, if there is one.
  BERT_API size_t max_length(size_t positions, std::optional<size_t> own) const;
  /// ... or half a window, if that is less.
  size_t stride_within(size_t max_length) const {
    return stride < max_length / 2 ? stride : max_length / 2;
  }
};

BERT_API const TaskSpec& task_spec(TaskKind task);
/// The task that a head is trained for.
BERT_API const TaskSpec& task_spec(HeadKind head);

/// A task, the model directory that it is asked of, and what a user says beside the task's row.
/// Where nothing is said, the row and the model decide.
struct TaskRequest {
  TaskSpec task = {};
  ModelDirectory directory = {};
  std::string head = {};           ///< the name of a head; empty: the first of the task's kind
  std::optional<Precision> dtype;  ///< none: the model's
  std::optional<std::string> ablate = {};  ///< heads of attention to turn off, as of parse_heads
  bool many_rows = false;                  ///< each product of the head has many rows
  bool hold = false;      ///< weights are copied to memory, so that files may change
  bool strict = false;    ///< weights that are no numbers are refused, and bad texts
  size_t max_length = 0;  ///< tokens of a sequence, special ones included; 0: not said
  Overflow overflow = Overflow::cut;
  size_t tail = 0;                     ///< last tokens that a text which is cut keeps; 0: not said
  std::optional<bool> truncates_left;  ///< which end of a text is cut; none: the tokenizer's
  std::optional<size_t> stride;        ///< tokens that two windows share
  bool literal = false;                ///< special tokens in a text are plain text
  size_t max_batch_tokens = kBatchTokens;
  std::function<void(const std::string&)> warn = {};  ///< gets what is odd in files; may be empty

  void warn_of(const std::string& message) const {
    if (warn) warn(message);
  }
};

}  // namespace bert
