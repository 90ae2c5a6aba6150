#include "rows/text_vectors.h"

#include <algorithm>

namespace bert {

void TextVectorWorker::run(std::span<const Record> records, Rows&) {
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) read(records[i], false, i);
  const Matrix vectors = predictor_.predict(sequences_, records.size(), scratch_of_vectors_);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!is_finite({vectors.row(i), vectors.cols})) note_non_finite(records[i]);
  }
  sink_(records, vectors);
}

void OrderedVectors::add(std::span<const Record> records, ConstMatrix vectors) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < records.size(); ++i) {
    vectors_[records[i].number].assign(vectors.row(i), vectors.row(i) + vectors.cols);
  }
}

void OrderedVectors::take(std::span<const Record> records,
                          const std::function<void(std::span<const float>)>& use) {
  const std::lock_guard lock(mutex_);
  for (const Record& record : records) {
    if (const auto node = vectors_.extract(record.number)) use(node.mapped());
  }
}

void TextVectors::add(std::span<const Record> records, ConstMatrix vectors) {
  if (records.empty()) return;
  const std::lock_guard lock(mutex_);
  const size_t rows = records.back().number;
  if (rows > states_.size()) states_.resize(rows, State::absent);
  while (blocks_.size() * kBlock < rows) {
    blocks_.push_back(std::make_unique<float[]>(kBlock * width_));  // zeros
  }
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t row = records[i].number - 1;
    const bool finite = is_finite({vectors.row(i), width_});
    states_[row] = finite ? State::finite : State::not_finite;
    if (!finite) continue;
    std::copy_n(vectors.row(i), width_, &blocks_[row / kBlock][row % kBlock * width_]);
  }
}

VectorSource TextVectors::source() const {
  const auto read = [this](size_t first, size_t count, Buffer& scratch) -> ConstMatrix {
    const auto row = [this](size_t i) { return &blocks_[i / kBlock][i % kBlock * width_]; };
    if (count == 0) return {nullptr, 0, width_};
    if (first / kBlock == (first + count - 1) / kBlock) return {row(first), count, width_};
    const Matrix copied = scratch.matrix(count, width_);
    for (size_t i = 0; i < count; ++i) std::copy_n(row(first + i), width_, copied.row(i));
    return copied;
  };
  return {rows(), width_, read};
}

}  // namespace bert
