#pragma once

#include <bert/bert.h>
#include <bert/error.h>
#include <bert/tokenizer.h>

#include <memory>
#include <string>
#include <vector>

namespace bert {
inline namespace v0 {

enum class Dtype {
  automatic = BERT_DTYPE_AUTO,
  f32 = BERT_F32,
  bf16 = BERT_BF16,
  int8 = BERT_INT8
};

struct ModelOptions {
  std::string task{};  ///< which head: fill-mask, text-classification, token-classification,
                       ///< question-answering, next-sentence-prediction; "": the bare encoder
  std::string head{};  ///< which of several heads for the task; "": the first that fits
  Dtype dtype = Dtype::automatic;
  bool no_mmap = false;  ///< copy the weights into memory: their files may change
};

/// A BERT model with its tokenizer and one head. Copies share it; any number of threads may use it.
class Model {
 public:
  /// A directory, the name of an installed model, or nothing for the default model. Throws Error
  /// naming the file.
  explicit Model(const std::string& model, const ModelOptions& options = {})
      : Model(model.c_str(), options) {}
  explicit Model(const char* model = nullptr, const ModelOptions& options = {}) {
    bert_model_options c = {};
    c.size = sizeof c;
    c.task = options.task.empty() ? nullptr : options.task.c_str();
    c.head = options.head.empty() ? nullptr : options.head.c_str();
    c.dtype = static_cast<bert_dtype>(options.dtype);
    c.no_mmap = options.no_mmap;
    bert_model* opened = nullptr;
    check(bert_model_open(model, &c, &opened));
    c_ = std::shared_ptr<bert_model>(opened, bert_model_close);
  }

  Tokenizer tokenizer() const {
    return Tokenizer(std::shared_ptr<const bert_tokenizer>(c_, bert_model_tokenizer(c_.get())));
  }
  size_t hidden_size() const { return bert_hidden_size(c()); }               ///< H
  size_t layers() const { return bert_layer_count(c()); }                    ///< L
  size_t attention_heads() const { return bert_attention_head_count(c()); }  ///< A
  size_t max_length() const { return bert_max_length(c()); }  ///< tokens of a sequence
  /// Of the head, in the order of its columns; none if it has no labels.
  std::vector<std::string> labels() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < bert_label_count(c()); ++i) names.emplace_back(bert_label(c(), i));
    return names;
  }

  const bert_model* c() const { return c_.get(); }

 private:
  std::shared_ptr<const bert_model> c_;
};

}  // namespace v0
}  // namespace bert
