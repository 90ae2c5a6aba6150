#include "tokenizer/parts/token_decoder.h"

#include <string_view>

#include "text/unicode.h"
#include "tokenizer/parts/byte_level.h"
#include "tokenizer/parts/clean_up.h"

namespace bert {
namespace {

using Spellings = std::vector<std::string>;
constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t done = 0;
  while (!from.empty()) {
    const size_t at = text.find(from, done);
    if (at == std::string_view::npos) break;
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  return out.append(text, done);
}

/// Bytes as text: U+FFFD for each maximal invalid part.
std::string valid_utf8(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, i);
    out += step.valid ? bytes.substr(i, step.length) : kReplacementText;
    i += step.length;
  }
  return out;
}

void decode_wordpiece(const DecoderPart& part, Spellings& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) {
      const bool continues = tokens[i].starts_with(part.prefix);
      tokens[i] = continues ? tokens[i].substr(part.prefix.size()) : " " + tokens[i];
    }
    if (part.cleanup) tokens[i] = clean_up_tokens(std::move(tokens[i]));
  }
}

void decode_byte_level(Spellings& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) append_byte_level_bytes(token, bytes);
  tokens.assign(1, valid_utf8(bytes));
}

void decode_metaspace(const DecoderPart& part, Spellings& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = replaced(tokens[i], part.replacement, i == 0 && part.drops_first ? "" : " ");
  }
}

/// The byte that "<0xE2>" stands for; -1: none.
int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

/// Neighbours that stand for bytes become one text, or U+FFFD each if they are not UTF-8.
void decode_byte_fallback(Spellings& tokens) {
  Spellings out;
  std::string bytes;
  const auto end_bytes = [&] {
    bool valid = true;
    for (size_t i = 0; valid && i < bytes.size();) {
      const Utf8Step step = utf8_step(bytes, i);
      valid = step.valid;
      i += step.length;
    }
    if (valid && !bytes.empty()) out.push_back(bytes);
    if (!valid) out.insert(out.end(), bytes.size(), std::string(kReplacementText));
    bytes.clear();
  };
  for (std::string& token : tokens) {
    const int byte = fallback_byte(token);
    if (byte >= 0) {
      bytes.push_back(static_cast<char>(byte));
    } else {
      end_bytes();
      out.push_back(std::move(token));
    }
  }
  end_bytes();
  tokens = std::move(out);
}

void fuse(Spellings& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens.assign(1, std::move(all));
}

/// Takes up to `start` and `stop` characters `content` from the ends of each token.
void strip(const DecoderPart& part, Spellings& tokens) {
  if (part.content.empty()) return;
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (size_t k = 0; k < part.start && rest.starts_with(part.content); ++k) {
      rest.remove_prefix(part.content.size());
    }
    for (size_t k = 0; k < part.stop && rest.ends_with(part.content); ++k) {
      rest.remove_suffix(part.content.size());
    }
    token = std::string(rest);
  }
}

void run(const DecoderPart& part, Spellings& tokens) {
  switch (part.kind) {
    case DecoderPart::Kind::wordpiece:
      return decode_wordpiece(part, tokens);
    case DecoderPart::Kind::byte_level:
      return decode_byte_level(tokens);
    case DecoderPart::Kind::metaspace:
      return decode_metaspace(part, tokens);
    case DecoderPart::Kind::byte_fallback:
      return decode_byte_fallback(tokens);
    case DecoderPart::Kind::fuse:
      return fuse(tokens);
    case DecoderPart::Kind::strip:
      return strip(part, tokens);
    case DecoderPart::Kind::bpe:
      for (size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = replaced(tokens[i], part.suffix, i + 1 == tokens.size() ? "" : " ");
      }
      return;
    case DecoderPart::Kind::replace:
      for (std::string& token : tokens) token = replaced(token, part.pattern, part.content);
  }
}

}  // namespace

std::string PartsDecoder::decode(std::span<const Token> tokens) const {
  Spellings spellings;
  for (const Token& token : tokens) spellings.emplace_back(token.text);
  for (const DecoderPart& part : parts_) run(part, spellings);
  std::string text;
  for (size_t i = 0; i < spellings.size(); ++i) {
    if (joins_ && i > 0) text.push_back(' ');
    text += spellings[i];
  }
  return text;
}

}  // namespace bert
