#include "seq2seq/decoder.h"

#include "model/seq2seq_config.h"
#include "seq2seq/recurrent.h"
#include "seq2seq/transformer.h"

namespace bert {

std::unique_ptr<Seq2Seq> Seq2Seq::open(const std::string& directory,
                                       std::optional<Precision> precision) {
  if (seq2seq_kind(directory) == Seq2SeqKind::recurrent) {
    return RecurrentPair::open(directory, precision);
  }
  return Transformer::open(directory, precision);
}

}  // namespace bert
