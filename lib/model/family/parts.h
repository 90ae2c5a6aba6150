#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "model/config.h"
#include "model/family.h"

namespace bert::family_rows {

/// What the tables of families are made of; family.cpp alone includes them.

inline constexpr size_t kMaxWidth = size_t{1} << 20, kMaxRows = size_t{1} << 27, kMaxLayers = 1000;

struct Naming {
  std::string_view model_type, class_prefix;
  std::string_view tensor_prefix = {};  ///< empty: the same
};

/// The same models under another name.
constexpr Family like(Family family, const Naming& naming) {
  family.model_type = naming.model_type;
  family.class_prefix = naming.class_prefix;
  if (!naming.tensor_prefix.empty()) family.tensor_prefix = naming.tensor_prefix;
  return family;
}

/// A table with more rows behind it.
template <typename Row, size_t N, typename... More>
constexpr std::array<Row, N + sizeof...(More)> with(const std::array<Row, N>& rows,
                                                    const More&... more) {
  std::array<Row, N + sizeof...(More)> all{};
  size_t n = 0;
  for (const Row& row : rows) all[n++] = row;
  ((all[n++] = more), ...);
  return all;
}

/// What sizes are where config.json is silent, of a family that names them as BERT does.
struct BertSizes {
  size_t vocab, positions, least_positions = 1, hidden, layers, heads, inner;
};
constexpr std::array<SizeKey, 6> bert_sizes(const BertSizes& s) {
  return {{{&Config::vocab_size, {"vocab_size"}, s.vocab, kMaxRows},
           {&Config::max_position_embeddings,
            {"max_position_embeddings"},
            s.positions,
            kMaxRows,
            s.least_positions},
           {&Config::hidden_size, {"hidden_size"}, s.hidden, kMaxWidth},
           {&Config::num_hidden_layers, {"num_hidden_layers"}, s.layers, kMaxLayers, 0},
           {&Config::num_attention_heads, {"num_attention_heads"}, s.heads, kMaxWidth},
           {&Config::intermediate_size, {"intermediate_size"}, s.inner, kMaxWidth}}};
}
constexpr SizeKey types_size(size_t absent, size_t least) {
  return {&Config::type_vocab_size, {"type_vocab_size"}, absent, kMaxRows, least, false};
}

/// What newer classes of transformers call the products of a layer.
inline constexpr std::array<Renaming, 7> kProjections{
    {{"self_attn.q_proj.", "attention.self.query."},
     {"self_attn.k_proj.", "attention.self.key."},
     {"self_attn.v_proj.", "attention.self.value."},
     {"self_attn.o_proj.", "attention.output.dense."},
     {"mlp.gate_proj.", "intermediate.dense."},
     {"mlp.up_proj.", "intermediate.up."},
     {"mlp.down_proj.", "output.dense."}}};

/// Names of the masked LM head of RoBERTa and of those after it.
inline constexpr std::array<Renaming, 4> kLmHead{
    {{"lm_head.dense.", "cls.predictions.transform.dense."},
     {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."},
     {"lm_head.decoder.", "cls.predictions.decoder."},
     {"lm_head.bias", "cls.predictions.bias"}}};

inline constexpr FixedKey kAbsolute[] = {
    {"position_embedding_type", "absolute", "relative positions are not supported"},
    {"is_decoder", "false", "decoders are not supported"},
    {"add_cross_attention", "false", "decoders are not supported"}};

}  // namespace bert::family_rows
