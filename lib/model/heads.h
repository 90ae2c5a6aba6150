#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"
#include "model/family.h"

namespace bert {

/// What stands over an encoder, or what an encoder is trained for.
enum class HeadKind : uint8_t {
  classify,       ///< one label a text (or several, or a number)
  tokens,         ///< one label a token
  spans,          ///< where an answer begins and ends
  pretrain,       ///< masked LM, and next sentence where the family has it
  vectors,        ///< the mean of the hidden states; no tensors
  masked_lm,      ///< the word behind each masked token
  next_sentence,  ///< whether the second text follows the first
  open_entities,  ///< entities of names that come with the text (GLiNER)
  discriminator,  ///< whether each token is the true one (ELECTRA); no tool reads it
};

struct HeadSpec {
  HeadKind kind;
  std::string_view task;          ///< as transformers' pipelines call it
  std::string_view class_suffix;  ///< rest of transformers' classes, behind the family's prefix
  std::string_view tools;         ///< that want it; empty: none
  std::string_view info;          ///< bert-info's word for it; empty: it is none of its own
  std::string_view absent;        ///< what is said of a model that lacks it
};

/// Every kind once, in the order of bert-info's words.
BERT_API std::span<const HeadSpec> head_specs();
BERT_API const HeadSpec& head_spec(HeadKind kind);
/// nullptr if no head of a model is for this task.
const HeadSpec* head_of_task(std::string_view task);
/// What transformers calls a model of this family with this head: BertForMaskedLM.
BERT_API std::string class_name(HeadKind kind, const Family& family);
/// Whether transformers has a class of this name that some tool knows.
bool is_known_class(std::string_view name);

/// Whether a model has a head (without a name): its tensors tell, and where those of two heads are
/// called alike or a head has none of its own, its architectures. `has_tensor` is asked for
/// canonical names.
bool has_head(HeadKind kind, const Config& config,
              const std::function<bool(std::string_view)>& has_tensor);

/// How the names of all heads' own tensors begin, without that of the pooler.
std::span<const std::string_view> head_tensor_prefixes();

}  // namespace bert
