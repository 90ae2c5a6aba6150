#include "seq2seq/decoder.h"

#include "base/error.h"
#include "directory/file_names.h"
#include "io/json.h"
#include "model/seq2seq_config.h"
#include "seq2seq/recurrent_pair.h"
#include "seq2seq/transformer.h"

namespace bert {

std::unique_ptr<Seq2Seq> Seq2Seq::open(const ModelDirectory& directory,
                                       std::optional<Precision> precision) {
  if (directory.kind() == ModelDirectory::Kind::recurrent) {
    return RecurrentPair::open(directory, precision);
  }
  if (!directory.translates() && !directory.static_files() &&
      seq2seq_family(directory.document(file_names::kConfig).root())) {
    throw Error(Error::Kind::unsupported, directory.file(file_names::kConfig),
                "its architecture writes no texts, wants one for conditional generation");
  }
  return Transformer::open(directory, precision);
}

}  // namespace bert
