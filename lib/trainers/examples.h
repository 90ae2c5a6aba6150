#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "io/record_form.h"
#include "pipeline/stream.h"
#include "predict/task.h"
#include "tokenizer/text_counts.h"
#include "tokenizer/tokenizer.h"
#include "training/training_batch.h"

namespace bert {

/// One sequence to learn from, with what the model should say of it.
struct Example {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> token_type_ids;
  bool cut = false, empty = false;  ///< its text was too long; has no token
  int32_t label = 0;
  std::vector<float> values;          ///< regression, or one 0 / 1 a label
  std::vector<int32_t> token_labels;  ///< labels of words' first pieces; others are ignored
  int32_t start = 0, end = 0;         ///< tokens of the answer; 0: not in this window
  std::vector<int32_t> words;  ///< number of the word in its sentence, for each labelled token
  std::vector<float> taught;   ///< a teacher's logits: [labels], [tokens, labels] or [tokens, 2]
  size_t origin = 0;           ///< the text, sentence or question it is (part) of
};

/// What a question is asked of, and its right answers.
struct Question {
  std::string context;
  std::vector<std::string> answers;  ///< none: it has no answer
  size_t step = 0;                   ///< tokens from window to window
};

struct ExampleSet {
  std::vector<Example> examples;
  // What a score needs, of a set that was read for one:
  std::vector<Question> questions;              ///< by origin, of answers
  std::vector<Encoding> encodings;              ///< by example, of answers
  std::vector<std::vector<int32_t>> sentences;  ///< by origin: the labels of all words
  std::vector<std::string> texts;               ///< by origin, if they were to be kept

  bool taught_tokens = false;  ///< a teacher's logits are those of tokens
  size_t origins = 0;
  size_t cut = 0;         ///< examples whose text was too long
  size_t empty = 0;       ///< texts without a token
  size_t blank = 0;       ///< records at the ends of files that were passed over
  size_t comments = 0;    ///< lines of CoNLL columns that are comments
  size_t unanswered = 0;  ///< questions without an answer
  size_t moved = 0;       ///< answers that stand elsewhere than at their start
  size_t left_out = 0;    ///< questions whose answers do not stand in the context
  TextCounts counts;      ///< sums over its texts, sentences or questions

  /// Of all that is learned from them, and of the questions: two sets of one hash train alike.
  uint64_t hash() const;
  /// Of what a teacher says of them.
  uint64_t taught_hash() const;
  /// Examples order[first, last) as a batch.
  void fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const;
};

/// How texts are labelled.
/// none: texts alone, for what needs no labels.
enum class LabelKind { one, several, number, none };

/// Records that are wanted twice, for their labels and then as examples: what comes through a pipe
/// can be read only once.
struct KeptRecords {
  std::vector<std::string> files;
  std::list<Chunk> chunks;
};

/// What a file of labelled texts looks like, and how its texts become tokens.
struct ExampleOptions : RecordForm {
  std::vector<std::string> files;
  size_t texts = 1;
  std::vector<std::string> fields;  ///< places of the texts; empty: 1 (and 2), or the keys
                                    ///< text (and text_pair)
  std::string label_field;          ///< empty: the one after the texts, or label
  LabelKind kind = LabelKind::one;
  EncodeOptions encode;
  size_t stride = TaskSpec().stride;  ///< tokens that two windows share
  bool find_answers = false;          ///< an answer may stand elsewhere than at its start
  Wanted wanted = Wanted::text;       ///< other input is refused
  bool scored = false;                ///< keep what a score needs
  bool keep_texts = false;            ///< and the texts themselves
};

}  // namespace bert
