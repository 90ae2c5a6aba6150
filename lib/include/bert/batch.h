#pragma once

#include <bert/bert.h>
#include <bert/encoding.h>
#include <bert/matrix.h>
#include <bert/model.h>

#include <memory>
#include <string_view>

namespace bert {
inline namespace v0 {

struct BatchOptions {
  size_t max_length = 0;  ///< less than the model's; 0: that
  int threads = 1;        ///< that share each product
  bool strict = false;    ///< a text that is too long or not UTF-8 is an error, not cut or replaced
  bool literal = false;   ///< a special token that is typed in the text stays text
};

/// Texts that are computed together: S sequences, T tokens. Results are views that stay until the
/// next call. No number depends on what else is in the batch. One thread at a time. See heads.h and
/// pooling.h for what can be asked.
class Batch {
 public:
  explicit Batch(const Model& model, const BatchOptions& options = {})
      : model_(model), c_(nullptr, bert_batch_close) {
    bert_batch_options c = {};
    c.size = sizeof c;
    c.max_length = options.max_length;
    c.threads = options.threads;
    c.strict = options.strict;
    c.literal = options.literal;
    bert_batch* opened = nullptr;
    check(bert_batch_open(model.c(), &c, &opened));
    c_.reset(opened);
  }

  /// One that a stream lends.
  Batch(const Model& model, bert_batch* lent) : model_(model), c_(lent, [](bert_batch*) {}) {}

  Batch& add(std::string_view text) {
    const bert_text one = detail::text(text);
    check(bert_batch_add(c(), one.data, one.size, nullptr, 0));
    return *this;
  }
  Batch& add_pair(std::string_view text, std::string_view pair) {
    const bert_text one = detail::text(text), two = detail::text(pair);
    check(bert_batch_add(c(), one.data, one.size, two.data, two.size));
    return *this;
  }
  /// Tokens as they are, special ones included.
  Batch& add_ids(Span<const int32_t> ids) {
    check(bert_batch_add_ids(c(), ids.data(), nullptr, ids.size()));
    return *this;
  }
  void clear() { bert_batch_clear(c()); }

  size_t size() const { return bert_batch_size(c_.get()); }  ///< S
  size_t begin(size_t sequence) const {
    return bert_batch_begin(c_.get(), sequence);
  }                                                ///< row of [T, ..]
  size_t tokens() const { return begin(size()); }  ///< T
  /// The tokens of a sequence, until the batch is changed.
  Encoding encoding(size_t sequence) const {
    return Encoding(bert_batch_encoding(c_.get(), sequence));
  }

  /// The embedding layer's output [T, H].
  Matrix embeddings() {
    bert_matrix out = {};
    check(bert_embeddings(c(), &out));
    return out;
  }
  /// [T, H]; layer 0 is the embedding layer, -1 the last.
  Matrix hidden_states(int layer = -1) {
    bert_matrix out = {};
    check(bert_hidden_states(c(), layer, &out));
    return out;
  }
  /// [n, n] of one sequence: row i is what token i attends to. Layer and head count from 1; -1 is
  /// the last.
  Matrix attention_weights(size_t sequence, int layer, int head) {
    bert_matrix out = {};
    check(bert_attention_weights(c(), sequence, layer, head, &out));
    return out;
  }

  const Model& model() const { return model_; }
  bert_batch* c() { return c_.get(); }

 private:
  Model model_;
  std::unique_ptr<bert_batch, void (*)(bert_batch*)> c_;
};

}  // namespace v0
}  // namespace bert
