#pragma once

#include <bert/bert.h>
#include <bert/encoding.h>
#include <bert/error.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bert {
inline namespace v0 {

struct EncodeOptions {
  size_t max_length = 0;           ///< tokens at most, special ones included; 0: no limit
  bool add_special_tokens = true;  ///< [CLS] and [SEP]
  bool literal = false;            ///< a special token that is typed in the text stays text
};

/// The tokenizer of a model, equal to Hugging Face tokenizers. Copies share it; any number of
/// threads may use it.
class Tokenizer {
 public:
  /// A directory, the name of an installed model, or nothing for the default model.
  explicit Tokenizer(const std::string& model) : Tokenizer(model.c_str()) {}
  explicit Tokenizer(const char* model = nullptr) {
    bert_tokenizer* opened = nullptr;
    check(bert_tokenizer_open(model, &opened));
    c_ = std::shared_ptr<bert_tokenizer>(opened, bert_tokenizer_close);
  }
  /// One that belongs to something else, as a model.
  explicit Tokenizer(std::shared_ptr<const bert_tokenizer> tokenizer) : c_(std::move(tokenizer)) {}

  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const {
    Encoding out;
    encode(text, std::nullopt, options, out);
    return out;
  }
  Encoding encode_pair(std::string_view text, std::string_view pair,
                       const EncodeOptions& options = {}) const {
    Encoding out;
    encode(text, pair, options, out);
    return out;
  }
  /// Into an encoding whose memory is used again.
  void encode(std::string_view text, std::optional<std::string_view> pair,
              const EncodeOptions& options, Encoding& out) const {
    bert_encode_options c = {};
    c.size = sizeof c;
    c.max_length = options.max_length;
    c.no_special_tokens = !options.add_special_tokens;
    c.literal = options.literal;
    const bert_text first = detail::text(text);
    const bert_text second = pair ? detail::text(*pair) : bert_text{nullptr, 0};
    check(bert_encode(c_.get(), first.data, first.size, second.data, second.size, &c, out.c()));
  }
  std::string decode(Span<const int32_t> ids, bool skip_special_tokens = true) const {
    char* text = nullptr;
    check(bert_decode(c_.get(), ids.data(), ids.size(), skip_special_tokens, &text));
    const std::unique_ptr<char, void (*)(void*)> owner(text, bert_free);
    return text;
  }

  size_t vocab_size() const { return bert_vocab_size(c_.get()); }  ///< the largest id + 1
  /// "" if there is no such id.
  std::string_view token(int32_t id) const { return detail::view(bert_token(c_.get(), id)); }
  std::optional<int32_t> id(std::string_view token) const {
    const bert_text text = detail::text(token);
    const int32_t id = bert_token_id(c_.get(), text.data, text.size);
    return id < 0 ? std::nullopt : std::optional<int32_t>(id);
  }
  /// "[MASK]", as this vocabulary spells it; "" if it has none.
  std::string_view mask_token() const { return detail::view(bert_mask_token(c_.get())); }

  const bert_tokenizer* c() const { return c_.get(); }

 private:
  std::shared_ptr<const bert_tokenizer> c_;
};

}  // namespace v0
}  // namespace bert
