#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "api/handles.h"
#include "directory/static_files.h"
#include "predict/static_text.h"

using namespace bert;
using namespace bert::api;

static_assert(sizeof(bert_offset) == sizeof(Offset) && offsetof(bert_offset, end) == 4);

namespace {

bert_text borrowed(std::string_view text) {
  return text.empty() ? bert_text{nullptr, 0} : bert_text{text.data(), text.size()};
}

}  // namespace

int bert_tokenizer_open(const char* model, bert_tokenizer** tokenizer) {
  if (tokenizer) *tokenizer = nullptr;
  return guard([&] {
    need(tokenizer, "tokenizer");
    if (model && !*model) refuse("model", "found an empty name");
    *tokenizer = new bert_tokenizer{open_any_tokenizer(ModelDirectory::open(model ? model : ""))};
  });
}

void bert_tokenizer_close(bert_tokenizer* tokenizer) { delete tokenizer; }

const char* bert_tokenizer_warning(const bert_tokenizer* tokenizer, size_t index) {
  if (!tokenizer || index >= tokenizer->tokenizer.warnings().size()) return nullptr;
  return tokenizer->tokenizer.warnings()[index].c_str();
}

size_t bert_vocab_size(const bert_tokenizer* tokenizer) {
  return tokenizer ? tokenizer->tokenizer.vocab_size() : 0;
}

bert_text bert_token(const bert_tokenizer* tokenizer, int32_t id) {
  return tokenizer ? borrowed(tokenizer->tokenizer.token(id)) : bert_text{nullptr, 0};
}

int32_t bert_token_id(const bert_tokenizer* tokenizer, const char* token, size_t size) {
  int32_t id = -1;
  guard([&] {
    id = need(tokenizer, "tokenizer")
             .tokenizer.token_to_id(text_of(token, size, "token"))
             .value_or(-1);
  });
  return id;
}

bert_text bert_mask_token(const bert_tokenizer* tokenizer) {
  if (!tokenizer || tokenizer->tokenizer.mask_id() < 0) return {nullptr, 0};
  return borrowed(tokenizer->tokenizer.mask_token());
}

bert_encoding* bert_encoding_open(void) {
  bert_encoding* encoding = nullptr;
  guard([&] { encoding = (new OwnEncoding)->handle(); });
  return encoding;
}

void bert_encoding_close(bert_encoding* encoding) { delete OwnEncoding::of(encoding); }

int bert_encode(const bert_tokenizer* tokenizer, const char* text, size_t size, const char* pair,
                size_t pair_size, const bert_encode_options* options, bert_encoding* encoding) {
  return guard([&] {
    const Tokenizer& from = need(tokenizer, "tokenizer").tokenizer;
    OwnEncoding& to = *OwnEncoding::of(&need(encoding, "encoding"));
    const bert_encode_options given = read_options(options);
    EncodeOptions encode;
    encode.add_special_tokens = !given.no_special_tokens;
    encode.max_length = given.max_length;
    encode.literal = given.literal != 0;
    const std::string_view first = text_of(text, size, "text");
    to.clear();
    if (const auto second = pair_of(pair, pair_size)) {
      from.encode_pair(first, *second, encode, to, to.scratch);
    } else {
      from.encode(first, encode, to, to.scratch);
    }
  });
}

size_t bert_encoding_size(const bert_encoding* e) { return e ? tokens_of(e)->size() : 0; }

const int32_t* bert_encoding_ids(const bert_encoding* e) {
  return e ? tokens_of(e)->input_ids.data() : nullptr;
}

const int32_t* bert_encoding_type_ids(const bert_encoding* e) {
  return e ? tokens_of(e)->token_type_ids.data() : nullptr;
}

const bert_offset* bert_encoding_offsets(const bert_encoding* e) {
  return e ? reinterpret_cast<const bert_offset*>(tokens_of(e)->offsets.data()) : nullptr;
}

const int32_t* bert_encoding_word_ids(const bert_encoding* e) {
  return e ? tokens_of(e)->word_ids.data() : nullptr;
}

const int8_t* bert_encoding_sequence_ids(const bert_encoding* e) {
  return e ? tokens_of(e)->sequence_ids.data() : nullptr;
}

size_t bert_encoding_dropped(const bert_encoding* e) { return e ? tokens_of(e)->dropped : 0; }

size_t bert_encoding_replaced(const bert_encoding* e) {
  return e ? tokens_of(e)->replaced_bytes : 0;
}

int bert_decode(const bert_tokenizer* tokenizer, const int32_t* ids, size_t count,
                int skip_special_tokens, char** text) {
  return guard([&] {
    const Tokenizer& from = need(tokenizer, "tokenizer").tokenizer;
    need(text, "text");
    if (count > 0) need(ids, "ids");
    if (count > PTRDIFF_MAX / sizeof(int32_t)) refuse("count", fmt::format("found {}", count));
    const std::string decoded = from.decode({ids, count}, skip_special_tokens != 0);
    auto* copy = static_cast<char*>(std::malloc(decoded.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, decoded.c_str(), decoded.size() + 1);
    *text = copy;
  });
}
