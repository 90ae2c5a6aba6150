#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predict/sequences.h"
#include "predict/task.h"
#include "seq2seq/decoder.h"
#include "tokenizer/translation_tokenizers.h"

namespace bert {

/// A model that translates and its tokenizers, opened as a user asks: OpenedModel's like.
class BERT_API OpenedTranslator {
 public:
  /// Throws Error as Seq2Seq::open, parse_heads and TranslationTokenizers::open.
  explicit OpenedTranslator(const TaskRequest& request);
  OpenedTranslator(const OpenedTranslator&) = delete;
  OpenedTranslator& operator=(const OpenedTranslator&) = delete;

  const TaskRequest& request() const { return request_; }
  const Seq2Seq& model() const { return *model_; }
  const TranslationTokenizers& tokenizers() const { return tokenizers_; }
  Precision precision() const { return model_->precision(); }

  /// How sources are read. Throws Error if their limit leaves no room for one.
  ReadOptions reading() const;
  /// The weights that are no numbers, each with its file.
  std::vector<std::string> bad_weights() const;

 private:
  std::unique_ptr<Seq2Seq> open_model() const;
  TranslationTokenizers open_tokenizers() const;

  const TaskRequest request_;
  const std::unique_ptr<Seq2Seq> model_;
  const TranslationTokenizers tokenizers_;
};

}  // namespace bert
