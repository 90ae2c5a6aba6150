// A model of sentencepiece, after a text (long_text.h): as the library of that name runs it, and as
// the classes of transformers that read such a file.
#include "tokenizer/models/sentencepiece.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "long_text.h"
#include "tokenizer/engines/composed.h"
#include "tokenizer/files/sentencepiece_parts.h"
#include "tokenizer/parts/text_normalizer.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void run(const bert::SentencePiece& model, const std::string& text) {
  bert::NormalText in, out;
  bert::append_text(text, 0, in);
  model.normalize(in, out);
  require(out.origins.size() == out.text.size());
  for (const auto& origin : out.origins) {
    require(origin.begin <= origin.end && origin.end <= text.size());
  }
  std::vector<bert::Subword> pieces;
  model.split(out.text, pieces);
  std::vector<std::string_view> spellings;
  for (const bert::Subword& piece : pieces) {
    require(piece.begin < piece.end && piece.end <= out.text.size());
    require(piece.id >= 0 && static_cast<size_t>(piece.id) < model.size());
    spellings.push_back(model.piece(piece.id));
  }
  model.decode(spellings);
}

void run(const bert::SentencePieceTokenizer& made, const std::string& text) {
  const bert::Composed composed(made.parts, made.vocab, made.parts.model.unk_id.value_or(-1));
  bert::Composed::Scratch scratch(composed);
  bert::PieceBuffer buffer;
  const bert::PieceBuffer::Sink sink = [&](std::span<const bert::Piece> pieces) {
    for (const bert::Piece& piece : pieces) {
      require(piece.offset.begin <= piece.offset.end && piece.offset.end <= text.size());
      require(piece.id >= 0 && static_cast<size_t>(piece.id) < made.vocab.pieces());
    }
    return true;
  };
  buffer.start(&sink, 64);
  composed.run(text, 0, text.size(), false, scratch, buffer);
  buffer.flush();
}

/// What is refused is refused as a fault of the file.
void attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const bert::Error& error) {
    using Kind = bert::Error::Kind;
    require(error.kind() == Kind::data || error.kind() == Kind::unsupported);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string text = take_long_text(input);
  bert::SentencePieceFile file;
  bool read = false;
  attempt([&] {
    file = bert::parse_sentencepiece(input, "fuzz");
    read = true;
  });
  if (!read) return 0;
  attempt([&] { run(bert::SentencePiece(file, "fuzz"), text); });
  for (const bert::TokenizerClass& row : bert::tokenizer_classes()) {
    if (!row.sentencepiece) continue;
    const bert::SpecialNames names = bert::TokenizerFacts{}.names(row.names);
    attempt([&] { run(bert::make_tokenizer(file, row, names, {}, "fuzz"), text); });
  }
  return 0;
}
