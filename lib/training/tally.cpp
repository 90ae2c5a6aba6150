#include "training/tally.h"

namespace bert::training {

Tally& Tally::operator+=(const Tally& other) {
  token_loss += other.token_loss;
  sequence_loss += other.sequence_loss;
  tokens += other.tokens;
  sequences += other.sequences;
  labelled += other.labelled;
  tokens_right += other.tokens_right;
  sequences_right += other.sequences_right;
  input_tokens += other.input_tokens;
  return *this;
}

double Tally::loss() const {
  return (tokens > 0 ? token_loss / tokens : 0) + (sequences > 0 ? sequence_loss / sequences : 0);
}

}  // namespace bert::training
