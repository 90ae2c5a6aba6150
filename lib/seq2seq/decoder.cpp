#include "seq2seq/decoder.h"

#include "seq2seq/transformer.h"

namespace bert {

std::unique_ptr<Seq2Seq> Seq2Seq::open(const std::string& directory,
                                       std::optional<Precision> precision) {
  return Transformer::open(directory, precision);
}

}  // namespace bert
