#include "tokenizer/word_marks.h"

#include <algorithm>

#include "tokenizer/parts/byte_level.h"

namespace bert {
namespace {

constexpr std::string_view kByteLevelBlank = "\xC4\xA0";

/// The mark of a composition whose pieces say where words begin; "": it has none.
std::string mark_of(const TokenizerParts& parts) {
  for (const PreTokenizerPart& part : parts.pre_tokenizers) {
    if (part.kind == PreTokenizerPart::Kind::byte_level) return std::string(kByteLevelBlank);
    if (part.kind == PreTokenizerPart::Kind::metaspace) return part.replacement;
  }
  // Llama's layout: the normalizer writes the mark.
  for (const NormalizerPart& part : parts.normalizers) {
    const bool of_blank = part.kind == NormalizerPart::Kind::replace_text && part.pattern == " ";
    if (of_blank && !part.content.empty()) return part.content;
  }
  return {};
}

}  // namespace

WordMarks::WordMarks(const TokenizerFiles& files) {
  const TokenizerParts* parts = files.parts();
  if (parts) mark_ = mark_of(*parts);
  if (std::holds_alternative<std::shared_ptr<const SentencePiece>>(files.engine)) {
    mark_ = SentencePiece::kBlank;
  }
  beginnings_ = !mark_.empty();
  if (!beginnings_) {
    const bool bpe = parts && parts->model.kind == SubwordPart::Kind::bpe;
    mark_ = bpe ? parts->model.prefix : std::string(files.vocab.continuing_prefix());
  }
  if (mark_ != kByteLevelBlank) return;
  for (size_t id = 0; id < files.vocab.size(); ++id) {
    std::string_view token = files.vocab.text(static_cast<int32_t>(id));
    if (token.starts_with(mark_)) token.remove_prefix(mark_.size());
    append_byte_level_bytes(token, bytes_);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
}

std::string_view WordMarks::text(int32_t id, std::string_view token) const {
  const auto i = static_cast<size_t>(id);
  if (id >= 0 && i < ends_.size()) {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  if (!mark_.empty() && token.starts_with(mark_)) token.remove_prefix(mark_.size());
  return token;
}

}  // namespace bert
