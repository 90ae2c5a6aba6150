#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/vector_loss.h"
#include "predict/late_texts.h"
#include "tokenizer/text_counts.h"
#include "tokenizer/tokenizer.h"
#include "trainers/examples.h"
#include "training/training_batch.h"

namespace bert {

/// How the texts of records become vectors that learn from each other.
struct VectorExampleOptions {
  ExampleOptions from;  ///< files, fields and header
  nn::VectorLoss loss = nn::VectorLoss::ranking;
  /// How the first text of a record is read, and how the others are; one: all.
  struct Side {
    const Tokenizer* tokenizer = nullptr;
    std::string prompt;
    size_t max_length = 0;           ///< tokens
    const LateSide* late = nullptr;  ///< which tokens have a part in a score, if their vectors do
  };
  std::vector<Side> sides;
  bool prompt_is_pooled = true;
  bool keep_texts = false;
};

/// Records of C texts each, and what they learn.
struct VectorExamples {
  struct Text {
    std::vector<int32_t> input_ids, token_type_ids;
    int32_t first = 0;              ///< the first token that is pooled
    size_t attended = 0;            ///< so many tokens, its first, all of its tokens attend to
    std::vector<uint8_t> has_part;  ///< whether a token has a part in a score; empty: nothing asks
  };
  size_t columns = 0;          ///< C
  std::vector<Text> texts;     ///< a record's one after the other
  std::vector<float> targets;  ///< `target_width` of each record, or none
  size_t target_width = 0;
  std::vector<std::string> contents = {};  ///< the texts, if they are kept
  size_t cut = 0, empty = 0;               ///< texts that were too long; that have no token
  TextCounts counts;

  size_t records() const { return columns > 0 ? texts.size() / columns : 0; }
  uint64_t hash() const;
  /// The records of these numbers as a batch.
  void fill(std::span<const uint32_t> records, training::TrainingBatch& batch) const;
  /// Whether two texts have the same tokens.
  bool same(size_t text, size_t other) const {
    return texts[text].input_ids == texts[other].input_ids;
  }
};

/// The records of the files. `columns`: texts of each; 0: as the loss wants, or as many as the
/// first record has. Throws Error(data) naming the record.
VectorExamples read_vector_examples(const VectorExampleOptions& options, size_t columns = 0);

/// Sets the targets from a file of vectors, one for each record, `width` numbers wide. Throws
/// Error(data) that names it.
void read_teacher(const std::string& path, size_t width, VectorExamples& examples);

/// Takes a share of the records out of `train`; those of one first text stay together. Throws
/// Error (`dev`) if that is none.
VectorExamples hold_out(VectorExamples& train, double share, uint64_t seed);

}  // namespace bert
