#include "tokenizer/tokenizer_state.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "tokenizer/engines/composed.h"
#include "tokenizer/engines/dictionary_words.h"
#include "tokenizer/engines/named_pieces.h"
#include "tokenizer/engines/unknown_words.h"
#include "tokenizer/engines/wordpiece.h"
#include "tokenizer/truncation.h"

namespace bert {
namespace {

constexpr size_t kPortion = 4096;  // pieces handed on at once

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

using SharedPieces = std::shared_ptr<const SentencePiece>;

/// Makes the engine of each kind of parts.
struct MakeEngine {
  const TokenizerFiles& files;

  using Made = std::unique_ptr<Engine>;
  Made operator()(WordPieceOptions options) const {
    options.unk_id = files.unk_id;
    return std::make_unique<WordPiece>(files.vocab, options);
  }
  Made operator()(const TokenizerParts& parts) const {
    return std::make_unique<Composed>(parts, files.vocab, files.unk_id);
  }
  Made operator()(const SharedPieces& pieces) const {
    return std::make_unique<NamedPieces>(pieces, files.vocab, files.unk_id,
                                         files.languages.list.empty());
  }
  Made operator()(Dictionary) const { return std::make_unique<DictionaryWords>(files.vocab); }
  Made operator()(OnlyAddedTokens) const { return std::make_unique<UnknownWords>(files.unk_id); }
};

std::unique_ptr<Decoder> make_decoder(const TokenizerFiles& files) {
  if (const auto* pieces = std::get_if<SharedPieces>(&files.engine)) {
    return std::make_unique<NamedPiecesDecoder>(*pieces);
  }
  return std::make_unique<PartsDecoder>(files.decoders, !files.has_decoder);
}

}  // namespace

Tokenizer::State::State(TokenizerFiles read)
    : serial(next_serial()),
      files(std::move(read)),
      marks(files),
      engine(std::visit(MakeEngine{files}, files.engine)),
      decoder(make_decoder(files)) {
  files.engine = {};  // its tables are in the engine
  special.resize(files.vocab.size());
  add_patterns();
  for (const Language& language : files.languages.list) {
    special[static_cast<size_t>(language.id)] = true;
  }
  engine->set_added(&normalized);
  if (files.trim_offsets) {
    trimmer = OffsetTrimmer(files.vocab, files.added_tokens, files.add_prefix_space);
  }
  for (const Special s : kNamedTokens) ids[s] = files.vocab.find(files.names[s]);
}

/// Special tokens are looked for before others with the same text.
void Tokenizer::State::add_patterns() {
  for (const bool special_first : {true, false}) {
    for (const AddedToken& token : files.added_tokens) {
      if (token.special != special_first) continue;
      if (token.special) special[static_cast<size_t>(token.id)] = true;
      if (!token.normalized) {
        raw.add(token.content, token);
        continue;
      }
      std::string pattern = engine->normalize_token(token.content);
      if (pattern != token.content) respelled.emplace(token.id, pattern);
      normalized.add(std::move(pattern), token);
    }
  }
  raw.finish();
  normalized.finish();
}

size_t Tokenizer::State::run(std::string_view text, bool literal, size_t portion,
                             Scratch::State& scratch, const PieceBuffer::Sink& sink) const {
  if (text.size() >= UINT32_MAX) {
    throw Error(Error::Kind::data, "", "the text has 4 GiB or more, offsets have 32 bits");
  }
  PieceBuffer& out = scratch.buffer;
  PieceBuffer::Edit trim;
  if (!trimmer.empty()) {
    trim = [&, first = true](std::span<Piece> pieces) mutable {
      trimmer.trim(text, pieces, first);
      first = false;
    };
  }
  out.start(&sink, std::min(portion, kPortion), std::move(trim));
  Engine::Scratch& counts = *scratch.engine;
  counts.next_word = 0;
  counts.replaced = 0;
  size_t begin = 0;
  size_t from = 0;
  size_t taken = 0;
  AddedTokenMatcher::Match match{};
  while (!out.stopped() && raw.next(text, literal, from, taken, match)) {
    if (begin < match.begin) engine->run(text, begin, match.begin, literal, counts, out);
    const Offset offset{static_cast<uint32_t>(match.begin), static_cast<uint32_t>(match.end)};
    out.push({match.token->id, offset, counts.next_word++});
    out.flush_if_full();
    begin = match.end;
  }
  if (!out.stopped() && begin < text.size()) {
    engine->run(text, begin, text.size(), literal, counts, out);
  }
  out.flush();
  return counts.replaced;
}

size_t Tokenizer::State::collect(std::string_view text, bool literal, size_t limit,
                                 Scratch::State& scratch, std::vector<Piece>& pieces) const {
  pieces.clear();
  const size_t enough = limit < kNoLimit ? limit + 1 : kNoLimit;
  return run(text, literal, enough, scratch, [&](std::span<const Piece> portion) {
    const size_t take = std::min(portion.size(), enough - pieces.size());
    pieces.insert(pieces.end(), portion.begin(),
                  portion.begin() + static_cast<std::ptrdiff_t>(take));
    return pieces.size() < enough;
  });
}

}  // namespace bert
