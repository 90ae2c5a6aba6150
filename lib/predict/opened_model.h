#pragma once

#include <optional>
#include <string>
#include <vector>

#include "directory/sentence_modules.h"
#include "encoder/model.h"
#include "predict/sequences.h"
#include "predict/static_text.h"
#include "predict/task.h"

namespace bert {

/// How many tokens of a text the sentence modules allow, if they say so.
struct ModuleLimit {
  std::optional<size_t> tokens = {};
  std::string source = {};  ///< the setting that says so; empty: it needs no telling

  static ModuleLimit of(const SentenceModules& modules) {
    return {modules.settings.max_length, modules.settings.max_length_source()};
  }
};

enum class ModelsTaken {
  layers,
  any,  ///< also static vectors
};

/// The tokenizer of the directory; its warnings go to request.warn. Throws Error as
/// Tokenizer::open, and unsupported for static vectors that are not taken.
BERT_API Tokenizer open_tokenizer(const TaskRequest& request,
                                  ModelsTaken taken = ModelsTaken::layers);

/// How texts are read that only become tokens: only the user limits them. `special`: with special
/// tokens. Throws Error(usage) if nothing of a text would be left.
BERT_API ReadOptions reading_of_tokens(const TaskRequest& request, const Tokenizer& tokenizer,
                                       bool special, bool pair);

/// A tokenizer and the model that reads its tokens, opened as a user asks. What predicts borrows
/// both, so it stays where it is.
class BERT_API OpenedModel {
 public:
  /// The model has the head of the task, or the one that the request names. Throws Error as
  /// open_tokenizer, Model::open, parse_heads and StaticText::open.
  explicit OpenedModel(const TaskRequest& request, ModelsTaken taken = ModelsTaken::layers);
  OpenedModel(const OpenedModel&) = delete;
  OpenedModel& operator=(const OpenedModel&) = delete;

  const TaskRequest& request() const { return request_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Throws Error(unsupported) if these are static vectors, which have no layers.
  const Model& model() const;
  const StaticText* fixed() const { return fixed_ ? &*fixed_ : nullptr; }  ///< nullptr: has layers
  Precision precision() const { return model_ ? model_->precision() : Precision::f32; }

  /// Opens the model again, with its head of this kind. Nothing may have borrowed it.
  void take_head(HeadKind kind);

  /// How the task's texts are read. max_length is the smallest of the model's positions, of the
  /// task's window, and of what the first of these says: the user, the modules, the tokenizer.
  /// Throws Error if that leaves no room for a text.
  ReadOptions reading(const ModuleLimit& limit = {}) const {
    return reading(request_.task, tokenizer_, limit);
  }
  /// The same for another row of the table, or another tokenizer.
  ReadOptions reading(const TaskSpec& task, const Tokenizer& tokenizer,
                      const ModuleLimit& limit = {}) const;

  /// The weights that are no numbers, each with its file.
  std::vector<std::string> bad_weights() const;
  /// Does with more weights of the directory as the request says.
  void settle(const Weights& weights) const;

 private:
  Model open_model(std::optional<HeadKind> kind) const;
  StaticText open_static(const StaticFiles& files) const;
  ReadOptions static_reading() const;
  void check_weights(const Weights& weights) const;

  const TaskRequest request_;
  const Tokenizer tokenizer_;
  std::optional<Model> model_;  ///< layers, or ...
  std::optional<StaticText> fixed_;
};

}  // namespace bert
