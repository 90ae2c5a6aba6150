#include "predict/sparse_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/weight_files.h"
#include "predict/text_limits.h"

namespace bert {

SparseTable SparseTable::open(const ModelDirectory& directory, const Tokenizer& tokenizer) {
  const JsonDocument* own = directory.find(file_names::kConfig);
  const auto path = own ? own->root().find("path") : std::nullopt;
  if (path && !path->is_null()) {
    throw Error(Error::Kind::unsupported, path->where(),
                fmt::format("found {}, wants the weights in {}", path->describe(),
                            file_names::kSafetensors));
  }
  const Weights weights = open_untied_weights(directory);
  const TensorView* tensor = weights.find("weight");
  if (!tensor || !tensor->is_weight() || tensor->shape.size() != 1 ||
      tensor->shape[0] < tokenizer.vocab_size()) {
    throw Error(Error::Kind::data, weights.path(),
                fmt::format("wants a tensor weight with a number for each of {} tokens",
                            tokenizer.vocab_size()));
  }
  SparseTable table;
  table.weights_ = tensor->floats();
  return table;
}

ReadOptions SparseTable::reading(const TaskRequest& request, const Tokenizer& tokenizer) {
  TextLimits limits;
  limits.own = tokenizer.model_max_length().value_or(limits.own);
  limits.truncates_left = tokenizer.truncates_left();
  ReadOptions reading = limits.reading(request);
  reading.encode.add_special_tokens = false;
  return reading;
}

void SparseTablePredictor::predict(const Sequences& sequences, size_t texts, const Use& use) {
  text_.assign(table_.weights().size(), 0.0f);
  size_t i = 0;
  for (size_t text = 0; text < texts; ++text) {
    for (; i < sequences.size() && sequences.texts()[i] == text; ++i) {
      for (const int32_t id : sequences[i].input_ids) {
        const auto entry = static_cast<size_t>(id);
        text_[entry] = table_.weights()[entry];
      }
    }
    use(text, text_);
    std::fill(text_.begin(), text_.end(), 0.0f);
  }
}

}  // namespace bert
