#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.h"
#include "model/config.h"

namespace bert {

/// A tensor that a model learns.
struct Parameter {
  std::string name;  ///< canonical, see weights.h
  std::vector<size_t> shape;

  uint64_t count() const;
};

/// The parameters of the encoder that `config` describes, from the embeddings up, and of BERT's
/// pooler: what transformers' BertModel, DistilBertModel and ElectraModel have. 109,482,240 numbers
/// for bert-base-uncased. Heads are not in it.
BERT_API std::vector<Parameter> model_parameters(const Config& config);

/// The sum of their counts.
BERT_API uint64_t count_parameters(const std::vector<Parameter>& parameters);

}  // namespace bert
