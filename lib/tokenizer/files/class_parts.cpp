#include "tokenizer/files/class_parts.h"

#include <utility>

namespace bert {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";

/// The tables of the model, and nothing else of what the file says.
TokenizerParts only_tables(TokenizerParts&& written) {
  TokenizerParts parts;
  parts.model.kind = written.model.kind;
  parts.model.merges = std::move(written.model.merges);
  parts.model.scores = std::move(written.model.scores);
  parts.model.where = std::move(written.model.where);
  parts.has_decoder = true;
  return parts;
}

DecoderPart decoder(DecoderPart::Kind kind) {
  DecoderPart part;
  part.kind = kind;
  return part;
}

/// The decoder of Gemma and Llama.
std::vector<DecoderPart> bytes_decoders() {
  DecoderPart replace = decoder(DecoderPart::Kind::replace);
  replace.pattern = kMark;
  replace.content = " ";
  return {replace, decoder(DecoderPart::Kind::byte_fallback), decoder(DecoderPart::Kind::fuse)};
}

void byte_level_parts(TokenizerParts& parts, WordPattern words, const TokenizerFlags& flags) {
  parts = only_tables(std::move(parts));
  parts.normalizers.emplace_back().kind = NormalizerPart::Kind::normal_form;
  PreTokenizerPart& split = parts.pre_tokenizers.emplace_back();
  split.kind = PreTokenizerPart::Kind::split_words;
  split.words = words;
  PreTokenizerPart& bytes = parts.pre_tokenizers.emplace_back();
  bytes.kind = PreTokenizerPart::Kind::byte_level;
  bytes.use_regex = false;
  bytes.add_prefix_space = flags.add_prefix_space.value_or(false);
  parts.decoders = {decoder(DecoderPart::Kind::byte_level)};
}

}  // namespace

void gemma_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags&) {
  parts = only_tables(std::move(parts));
  parts.model.fuse_unk = parts.model.byte_fallback = true;
  parts.model.unk_token = names[Special::unk];
  NormalizerPart& replace = parts.normalizers.emplace_back();
  replace.kind = NormalizerPart::Kind::replace_text;
  replace.pattern = " ";
  replace.content = kMark;
  PreTokenizerPart& split = parts.pre_tokenizers.emplace_back();
  split.kind = PreTokenizerPart::Kind::split_text;
  split.pattern = " ";
  split.behaviour = SplitBehaviour::merged_with_previous;
  parts.decoders = bytes_decoders();
}

void llama_parts(TokenizerParts& parts, const SpecialNames&, const TokenizerFlags& flags) {
  using Prepend = PreTokenizerPart::Prepend;
  parts = only_tables(std::move(parts));
  parts.model.fuse_unk = parts.model.byte_fallback = true;
  const bool prefix = flags.add_prefix_space.value_or(true);
  PreTokenizerPart& marks = parts.pre_tokenizers.emplace_back();
  marks.kind = PreTokenizerPart::Kind::metaspace;
  marks.split = false;
  marks.prepend = !prefix                        ? Prepend::never
                  : flags.legacy.value_or(false) ? Prepend::always
                                                 : Prepend::first;
  parts.decoders = bytes_decoders();
  if (!prefix) return;
  DecoderPart& strip = parts.decoders.emplace_back(decoder(DecoderPart::Kind::strip));
  strip.content = " ";
  strip.start = 1;
}

void gpt2_parts(TokenizerParts& parts, const SpecialNames&, const TokenizerFlags& flags) {
  parts = only_tables(std::move(parts));
  PreTokenizerPart& bytes = parts.pre_tokenizers.emplace_back();
  bytes.kind = PreTokenizerPart::Kind::byte_level;
  bytes.add_prefix_space = flags.add_prefix_space.value_or(false);
  parts.decoders = {decoder(DecoderPart::Kind::byte_level)};
}

void qwen2_parts(TokenizerParts& parts, const SpecialNames&, const TokenizerFlags& flags) {
  byte_level_parts(parts, WordPattern::qwen2, flags);
}

void qwen3_5_parts(TokenizerParts& parts, const SpecialNames&, const TokenizerFlags& flags) {
  byte_level_parts(parts, WordPattern::qwen3_5, flags);
}

void t5_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags&) {
  std::vector<NormalizerPart> normalizers = std::move(parts.normalizers);
  parts = only_tables(std::move(parts));
  parts.model.unk_id = 2;
  parts.model.unk_token = names[Special::unk];
  for (NormalizerPart& part : normalizers) {
    if (part.kind != NormalizerPart::Kind::precompiled) continue;
    parts.normalizers.push_back(std::move(part));
    break;
  }
  parts.pre_tokenizers.emplace_back().kind = PreTokenizerPart::Kind::whitespace_split;
  parts.pre_tokenizers.emplace_back().kind = PreTokenizerPart::Kind::metaspace;
  parts.decoders = {decoder(DecoderPart::Kind::metaspace)};
}

}  // namespace bert
