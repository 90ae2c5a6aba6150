#include "predict/next_sentence.h"

#include <cmath>
#include <limits>

namespace bert {

double NextSentence::probability() const {
  if (!has_pair) return std::numeric_limits<double>::quiet_NaN();
  return 1.0 / (1.0 + std::exp(static_cast<double>(not_next) - static_cast<double>(is_next)));
}

void NextSentencePredictor::predict(const Sequences& sequences, size_t texts, Batcher& batcher,
                                    std::vector<NextSentence>& out) const {
  out.assign(texts, {});
  batcher.run(model_, sequences.encodings(),
              [&](size_t first, const PackedBatch& batch, Matrix hidden) {
                const Matrix logits = head_.logits(batch, hidden, batcher.workspace());  // [S, 2]
                for (size_t s = 0; s < logits.rows; ++s) {
                  out[sequences.texts()[first + s]] = {true, logits.row(s)[0], logits.row(s)[1]};
                }
              });
}

}  // namespace bert
