#include "tokenizer/engines/named_pieces.h"

#include "text/unicode.h"
#include "tokenizer/parts/text_normalizer.h"

namespace bert {
namespace {

/// The length of a language's code that `text` begins with; 0: there is none.
size_t language_code(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const size_t end = text.find("<<");
  return end == std::string_view::npos ? 0 : end + 2;
}

/// What Python's str.strip() takes.
bool is_blank(char32_t c) { return (c >= 0x1C && c <= 0x1F) || (char_class(c) & kCharWhite) != 0; }

std::string strip(std::string_view text) {
  size_t begin = text.size(), end = 0;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    if (!is_blank(c.code_point)) {
      begin = std::min(begin, i);
      end = i + c.length;
    }
    i += c.length;
  }
  return end == 0 ? std::string() : std::string(text.substr(begin, end - begin));
}

}  // namespace

NamedPieces::NamedPieces(std::shared_ptr<const SentencePiece> model, const Vocab& vocab,
                         int32_t unk_id, bool codes)
    : model_(std::move(model)), vocab_(vocab), unk_id_(unk_id), codes_(codes) {
  ids_.reserve(model_->size());
  for (size_t id = 0; id < model_->size(); ++id) {
    ids_.push_back(named(model_->piece(static_cast<int32_t>(id))));
  }
}

int32_t NamedPieces::named(std::string_view piece) const {
  const int32_t id = vocab_.find(piece);
  return id < 0 ? unk_id_ : id;
}

std::unique_ptr<Engine::Scratch> NamedPieces::make_scratch() const {
  return std::make_unique<Scratch>();
}

void NamedPieces::run(std::string_view text, size_t begin, size_t end, bool /*literal*/,
                      Engine::Scratch& any_scratch, PieceBuffer& out) const {
  auto& scratch = static_cast<Scratch&>(any_scratch);
  std::string_view rest = text.substr(begin, end - begin);
  if (const size_t code = codes_ ? language_code(rest) : 0; code > 0) {
    const auto at = static_cast<uint32_t>(begin);
    out.push(
        {named(rest.substr(0, code)), {at, at + static_cast<uint32_t>(code)}, scratch.next_word++});
    rest.remove_prefix(code);
    begin += code;
  }
  scratch.raw.clear();
  scratch.replaced += append_text(rest, static_cast<uint32_t>(begin), scratch.raw);
  model_->normalize(scratch.raw, scratch.text);
  const std::string_view normal = scratch.text.text;
  scratch.subwords.clear();
  model_->split(normal, scratch.subwords);
  bool first = true;
  for (const Subword& s : scratch.subwords) {
    const std::string_view piece = normal.substr(s.begin, s.end - s.begin);
    if (piece.starts_with(SentencePiece::kBlank) && !first) ++scratch.next_word;
    first = false;
    const int32_t id = s.id == model_->unk_id() ? named(piece) : ids_[static_cast<size_t>(s.id)];
    const Offset offset{scratch.text.origins[s.begin].begin, scratch.text.origins[s.end - 1].end};
    out.push({id, offset, scratch.next_word});
    out.flush_if_full();
    if (out.stopped()) return;
  }
  if (!first) ++scratch.next_word;
}

std::string NamedPiecesDecoder::decode(std::span<const Token> tokens) const {
  std::string text;
  std::vector<std::string_view> pieces;
  const auto end_pieces = [&] {
    text += model_->decode(pieces);
    pieces.clear();
  };
  for (const Token& token : tokens) {
    if (!token.special) {
      pieces.push_back(token.text);
      continue;
    }
    end_pieces();
    text.append(token.text).push_back(' ');
  }
  end_pieces();
  for (size_t i = 0; (i = text.find(SentencePiece::kBlank, i)) != std::string::npos; ++i) {
    text.replace(i, SentencePiece::kBlank.size(), " ");
  }
  return strip(text);
}

}  // namespace bert
