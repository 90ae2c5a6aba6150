#include "seq2seq/decoder.h"

#include "seq2seq/recurrent_pair.h"
#include "seq2seq/transformer.h"

namespace bert {

std::unique_ptr<Seq2Seq> Seq2Seq::open(const ModelDirectory& directory,
                                       std::optional<Precision> precision) {
  if (directory.kind() == ModelDirectory::Kind::recurrent) {
    return RecurrentPair::open(directory, precision);
  }
  return Transformer::open(directory, precision);
}

}  // namespace bert
