#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/masking.h"
#include "tokenizer/text_counts.h"
#include "tokenizer/tokenizer.h"
#include "trainers/nsp_pairs.h"
#include "training/training_batch.h"

namespace bert {

/// Plain text to masked sequences, for ever: at the end of the files they begin again, with other
/// masks, other pairs and another order. What comes is a function of files and seed alone.
class PretrainingStream {
 public:
  struct Options {
    std::vector<std::string> files;
    Wanted wanted = Wanted::text;  ///< other input is refused
    size_t max_length = 0;         ///< 0: 128, or the model's positions where it has fewer
    bool next_sentence = true;
    MaskingOptions masking;        ///< its seed is the seed of everything here
    size_t block_bytes = 8 << 20;  ///< bytes of text held at once; sequences are shuffled within

    /// What decides the sequences, for a run's identity. Reads the files.
    std::map<std::string, std::string> identity() const;
  };
  PretrainingStream(const Tokenizer& tokenizer, Options options);

  /// Fills `batch` with the next `count` sequences. Returns false, and gives fewer sequences, if
  /// the text has ended and one of the files cannot be read again. Throws Error(data) if the files
  /// hold no sequence.
  bool next(size_t count, training::TrainingBatch& batch);
  /// Passes over `count` sequences. Throws Error(data) also where next() would return false.
  void skip(uint64_t count);
  /// The error of a run whose text has ended after `steps` of the `wanted` steps.
  Error ended(uint64_t steps, uint64_t wanted, const std::string& output) const;
  /// Times that the files have been read to their end.
  uint64_t epoch() const { return epoch_; }
  /// Of the text read so far.
  uint64_t hash() const { return hash_; }
  /// Counts of the sentences read so far. Each sentence is counted once, in the first pass.
  const TextCounts& counts() const { return counts_; }
  const Options& options() const { return options_; }

 private:
  struct Sequence {
    std::vector<int32_t> a, b;  ///< ids
    std::vector<int32_t> words_a, words_b;
    bool is_next = true;
  };
  bool read_block();
  void cut_singles();
  void cut_pairs();
  void append(const Sequence& sequence, uint64_t number, training::TrainingBatch& batch);
  void gather(size_t document, size_t begin, size_t end, std::vector<int32_t>& ids,
              std::vector<int32_t>& words) const;

  const Tokenizer& tokenizer_;
  const Options options_;
  Masking masking_;
  std::unique_ptr<DocumentReader> reader_;
  std::vector<DocumentReader::Document> texts_;
  std::vector<std::vector<std::vector<int32_t>>> ids_, words_;  ///< [documents][sentences][tokens]
  std::vector<Sequence> sequences_;
  size_t at_ = 0;
  uint64_t epoch_ = 0, block_ = 0, number_ = 0, hash_ = 0;
  bool found_ = false;  ///< a sequence, in this epoch
  std::string once_;    ///< a file that can be read only once, as a pipe; empty: there is none
  TextCounts counts_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
  std::vector<MaskedToken> chosen_;
};

}  // namespace bert
