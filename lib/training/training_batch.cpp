#include "training/training_batch.h"

#include <span>

namespace bert::training {
namespace {

/// Copies sequences [first, last).
void copy_part(const PackedBatch& from, size_t first, size_t last, PackedBatch& to) {
  if (from.empty()) return;
  for (size_t s = first; s < last; ++s) {
    to.append(std::span(from.input_ids).subspan(from.begin(s), from.length(s)),
              std::span(from.token_type_ids).subspan(from.begin(s), from.length(s)));
    if (!from.attended.empty()) to.attended.push_back(from.attended[s]);
  }
}

/// Copies items [first, last) of `from`, which has `width` values per item or is empty.
template <typename T>
void copy_part(const std::vector<T>& from, size_t width, size_t first, size_t last,
               std::vector<T>& to) {
  to.clear();
  if (from.empty()) return;
  to.assign(from.begin() + static_cast<std::ptrdiff_t>(first * width),
            from.begin() + static_cast<std::ptrdiff_t>(last * width));
}

}  // namespace

void TrainingBatch::clear() {
  batch.clear();
  target.clear();
  token_labels.clear();
  sequence_labels.clear();
  values.clear();
  teacher.clear();
  starts.clear();
  ends.clear();
  texts.clear();
}

void slice(const TrainingBatch& from, size_t first, size_t last, TrainingBatch& to) {
  const PackedBatch& batch = from.batch;
  to.clear();
  to.head = from.head;
  copy_part(batch, first, last, to.batch);
  copy_part(from.target, first, last, to.target);
  const size_t labels = batch.sequences() > 0 ? from.values.size() / batch.sequences() : 0;
  copy_part(from.token_labels, 1, batch.cu_seq_lens[first], batch.cu_seq_lens[last],
            to.token_labels);
  copy_part(from.sequence_labels, 1, first, last, to.sequence_labels);
  copy_part(from.values, labels, first, last, to.values);
  to.teacher_of_tokens = from.teacher_of_tokens;
  if (from.teacher_of_tokens) {
    copy_part(from.teacher, from.teacher.size() / batch.tokens(), batch.cu_seq_lens[first],
              batch.cu_seq_lens[last], to.teacher);
  } else if (!from.teacher.empty()) {
    copy_part(from.teacher, from.teacher.size() / batch.sequences(), first, last, to.teacher);
  }
  copy_part(from.starts, 1, first, last, to.starts);
  copy_part(from.ends, 1, first, last, to.ends);
}

}  // namespace bert::training
