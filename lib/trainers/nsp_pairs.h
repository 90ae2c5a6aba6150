#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/record_reader.h"

namespace bert {

/// Reads plain text of one sentence a line with an empty line between documents, a block of whole
/// documents at a time, so that memory does not grow with the text.
class DocumentReader {
 public:
  using Document = std::vector<std::string>;  ///< its sentences, none empty

  /// `on_skipped`, `wanted`: see RecordReader.
  DocumentReader(std::vector<std::string> files, size_t block_bytes,
                 std::function<void(const Error&)> on_skipped = {}, Wanted wanted = Wanted::text);
  ~DocumentReader();
  /// The next documents, about block_bytes of them; false at the end. A document that is longer
  /// than a block is cut. Throws Error.
  bool next(std::vector<Document>& block);

 private:
  bool next_line(std::string_view& line, bool& new_file);

  RecordReader reader_;
  Chunk chunk_;
  size_t line_ = 0;
  size_t block_bytes_;
};

/// Two segments, of whole sentences [begin, end) of documents of a block.
struct SegmentPair {
  size_t document_a = 0, begin_a = 0, end_a = 0;
  size_t document_b = 0, begin_b = 0, end_b = 0;
  bool is_next = false;
};

/// Cuts a block into pairs for next sentence prediction (Devlin et al. 2019, task 2): sentences are
/// gathered up to a target length and split in two; for half of the pairs, drawn one by one, the
/// second segment comes from another document instead and the true one is used again. With a single
/// document it comes from another place of it. No negative begins with the true next sentence.
///
///   lengths   of each document's sentences, in tokens (or 1 each)
///   target    length of a pair; one in ten is drawn shorter if `vary`
///   key       of the draws: the same key, the same pairs
std::vector<SegmentPair> make_pairs(std::span<const std::vector<uint32_t>> lengths,
                                    std::span<const DocumentReader::Document> texts, size_t target,
                                    bool vary, uint64_t key);

}  // namespace bert
