#include "trainers/nsp_pairs.h"

#include <algorithm>

#include "base/random.h"

namespace bert {

DocumentReader::DocumentReader(std::vector<std::string> files, size_t block_bytes,
                               std::function<void(const Error&)> on_skipped, Wanted wanted)
    : reader_(std::move(files), '\n', std::move(on_skipped), Framing::lines, wanted),
      block_bytes_(block_bytes) {}
DocumentReader::~DocumentReader() = default;

bool DocumentReader::next_line(std::string_view& line, bool& new_file) {
  if (line_ == chunk_.lines.size()) {
    line_ = 0;
    do {
      if (!reader_.next(chunk_, 4096, 1 << 18, [] { return Busy::none; })) {
        chunk_.lines.clear();
        return false;
      }
    } while (chunk_.lines.empty());
  }
  new_file = line_ == 0 && chunk_.first_of_file();
  line = chunk_.lines[line_++];
  return true;
}

bool DocumentReader::next(std::vector<Document>& block) {
  block.clear();
  Document document;
  size_t bytes = 0;
  std::string_view line;
  bool new_file = false;
  const auto close = [&] {
    if (!document.empty()) block.push_back(std::move(document));
    document.clear();
  };
  while (next_line(line, new_file)) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (new_file || begin == line.npos) {
      close();
      // Here a block may end, but a first line of a file is still to be kept.
      if (begin == line.npos && bytes >= block_bytes_) return true;
    }
    if (begin == line.npos) continue;
    document.emplace_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    // A tab would end a field of the rows; to a tokenizer it is a blank.
    std::replace(document.back().begin(), document.back().end(), '\t', ' ');
    bytes += line.size() + 32;
    if (bytes >= 2 * block_bytes_) {
      close();
      return true;
    }
  }
  close();
  return !block.empty();
}

namespace {

/// Draws of one block, numbered.
class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  /// A number in [0, n).
  size_t below(size_t n) { return static_cast<size_t>(mix(key_, ++count_) % n); }

 private:
  uint64_t key_;
  uint64_t count_ = 0;
};

class PairMaker {
 public:
  PairMaker(std::span<const std::vector<uint32_t>> lengths,
            std::span<const DocumentReader::Document> texts, size_t target, bool vary, uint64_t key)
      : lengths_(lengths), texts_(texts), target_(target), vary_(vary), draws_(key) {}

  std::vector<SegmentPair> make() {
    for (size_t d = 0; d < lengths_.size(); ++d) {
      for (size_t i = 0; i + 1 < lengths_[d].size();) i = add_pair(d, i);
    }
    return std::move(pairs_);
  }

 private:
  /// A pair whose first segment begins at sentence i; returns where the next one begins.
  size_t add_pair(size_t d, size_t i) {
    const size_t sentences = lengths_[d].size();
    const size_t target = vary_ && draws_.below(10) == 0 ? 2 + draws_.below(target_ - 1) : target_;
    const size_t end = std::max(gather(d, i, target), i + 2);
    SegmentPair pair;
    pair.document_a = pair.document_b = d;
    pair.begin_a = i;
    pair.end_a = i + 1 + draws_.below(std::min(end, sentences) - i - 1);
    pair.is_next = draws_.below(2) == 0;
    if (pair.is_next) {
      pair.begin_b = pair.end_a;
      pair.end_b = std::min(end, sentences);
      pairs_.push_back(pair);
      return pair.end_b;
    }
    size_t used = 0;
    for (size_t s = i; s < pair.end_a; ++s) used += lengths_[d][s];
    if (draw_other(pair)) {
      pair.end_b = std::max(gather(pair.document_b, pair.begin_b, target - std::min(target, used)),
                            pair.begin_b + 1);
      if (pair.document_b == d && pair.begin_b < i) pair.end_b = std::min(pair.end_b, i);
      pairs_.push_back(pair);
    }
    return pair.end_a;
  }

  /// The end of sentences from `begin` on that together have `target` tokens.
  size_t gather(size_t d, size_t begin, size_t target) const {
    size_t end = begin, length = 0;
    while (end < lengths_[d].size() && length < target) length += lengths_[d][end++];
    return end;
  }

  /// Draws where the second segment of a negative begins; false if there is no such place.
  bool draw_other(SegmentPair& pair) {
    const std::string& truth = texts_[pair.document_a][pair.end_a];
    for (int attempt = 0; attempt < 16; ++attempt) {
      if (lengths_.size() > 1) {
        pair.document_b = draws_.below(lengths_.size() - 1);
        pair.document_b += pair.document_b >= pair.document_a;
      }
      pair.begin_b = draws_.below(lengths_[pair.document_b].size());
      const bool same = pair.document_b == pair.document_a;
      if (same && pair.begin_b >= pair.begin_a && pair.begin_b <= pair.end_a) continue;
      if (texts_[pair.document_b][pair.begin_b] != truth) return true;
    }
    return false;
  }

  std::span<const std::vector<uint32_t>> lengths_;
  std::span<const DocumentReader::Document> texts_;
  const size_t target_;
  const bool vary_;
  Draws draws_;
  std::vector<SegmentPair> pairs_;
};

}  // namespace

std::vector<SegmentPair> make_pairs(std::span<const std::vector<uint32_t>> lengths,
                                    std::span<const DocumentReader::Document> texts, size_t target,
                                    bool vary, uint64_t key) {
  return PairMaker(lengths, texts, target, vary, key).make();
}

}  // namespace bert
