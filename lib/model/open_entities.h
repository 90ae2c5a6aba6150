#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/export.h"

namespace bert {

class Json;
struct Config;
struct TensorSpec;

/// Which of a word's pieces is the word.
enum class WordPooling : uint8_t { first, last, mean, max };

/// What gliner_config.json says of a head that finds entities of any names (GLiNER, Zaratiana et
/// al. 2023): the names are a part of the text, and each span of words is compared with each name.
struct BERT_API OpenEntities {
  size_t width = 0;        ///< G, the length of a word's vector; 0: the model has no such head
  bool of_words = false;   ///< token_level: each word begins, ends or lies in a name; else spans
  size_t max_width = 12;   ///< words of a span
  size_t max_words = 384;  ///< words of a text
  size_t rnn_layers = 1;   ///< layers of a bidirectional LSTM over the words
  WordPooling pooling = WordPooling::first;
  bool at_mark = true;  ///< a name's vector is that of the mark before it, else of the next token
  /// The marks before a name and behind all names.
  std::string name_mark = "<<ENT>>", end_mark = "<<SEP>>";
  /// The id of the mark before a name; -1: the marks stand behind the tokenizer's own tokens.
  int32_t mark_id = -1;
  std::string encoder;  ///< model_name; whose tokenizer the model has, if it brings none

  explicit operator bool() const { return width > 0; }

  /// Throws Error(unsupported) that names what is computed otherwise.
  static OpenEntities read(const Json& root);
};

/// The names of its tensors, without `.weight` and `.bias`.
namespace open_entity_names {
inline constexpr const char* kProjection = "token_rep_layer.projection";
inline constexpr const char* kRnn = "rnn.lstm";
inline constexpr const char* kStart = "span_rep_layer.span_rep_layer.project_start";
inline constexpr const char* kEnd = "span_rep_layer.span_rep_layer.project_end";
inline constexpr const char* kSpan = "span_rep_layer.span_rep_layer.out_project";
inline constexpr const char* kName = "prompt_rep_layer";
inline constexpr const char* kScorerWord = "scorer.proj_token";
inline constexpr const char* kScorerName = "scorer.proj_label";
inline constexpr const char* kScorer = "scorer.out_mlp";
}  // namespace open_entity_names

/// A linear layer of the head: weight [out, in] and bias [out].
BERT_API std::vector<TensorSpec> open_entity_linear(const std::string& name, size_t out, size_t in);
/// All tensors of the head of a model of this config.
BERT_API std::vector<TensorSpec> open_entity_tensors(const Config& config);

}  // namespace bert
