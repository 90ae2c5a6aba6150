#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "base/error.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/clean_up.h"
#include "tokenizer/composed.h"
#include "tokenizer/decoder.h"
#include "tokenizer/dictionary_words.h"
#include "tokenizer/named_pieces.h"
#include "tokenizer/offset_trimmer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/truncation.h"
#include "tokenizer/word_marks.h"
#include "tokenizer/wordpiece.h"

namespace bert {
namespace {

constexpr size_t kPortion = 4096;  // pieces handed on at once

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerFiles read);

  const uint64_t serial;  ///< tells tokenizers apart, also those that lived at the same address
  TokenizerFiles files;
  std::optional<Composed> composed;  ///< one of these four
  std::optional<NamedPieces> named;
  std::optional<DictionaryWords> words;
  std::optional<WordPiece> wordpiece;
  AddedTokenMatcher raw;         ///< added tokens of the text as it is
  AddedTokenMatcher normalized;  ///< of the normalised text
  OffsetTrimmer trimmer;
  Decoder decoder;
  WordMarks marks;
  std::vector<bool> special;  ///< [vocab_size]
  /// Tokens of `normalized` whose normalised text, which is how the reference spells them, is
  /// another.
  std::unordered_map<int32_t, std::string> respelled;
  int32_t cls_id;
  int32_t sep_id;
  int32_t pad_id;
  int32_t mask_id;

  void add_pattern(const AddedToken& token);
  void segment(std::string_view text, size_t begin, size_t end, bool literal,
               Tokenizer::Scratch::State& scratch, PieceBuffer& out) const;
  void split_normalized(const std::vector<NormalizedChar>& chars, bool literal,
                        WordPiece::Scratch& scratch, PieceBuffer& out) const;
};

struct Tokenizer::Scratch::State {
  explicit State(const Tokenizer::State& tokenizer) {
    if (tokenizer.composed) composed.emplace(*tokenizer.composed);
    if (tokenizer.named) named.emplace();
    if (tokenizer.words) words.emplace();
    if (tokenizer.wordpiece) wordpiece.emplace(*tokenizer.wordpiece);
  }
  /// Words so far in the text, and invalid parts of UTF-8.
  int32_t& next_word() {
    return composed ? composed->next_word
           : named  ? named->next_word
           : words  ? words->next_word
                    : wordpiece->next_word;
  }
  size_t replaced() const {
    return composed ? composed->replaced
           : named  ? named->replaced
           : words  ? words->replaced
                    : wordpiece->replaced;
  }

  std::optional<Composed::Scratch> composed;  ///< one of these four
  std::optional<NamedPieces::Scratch> named;
  std::optional<DictionaryWords::Scratch> words;
  std::optional<WordPiece::Scratch> wordpiece;
  PieceBuffer buffer;
  std::vector<NormalizedChar> chars;
  std::vector<Piece> first;   ///< pieces of the text
  std::vector<Piece> second;  ///< of the second text
  uint64_t owner = 0;         ///< serial of the tokenizer whose words the caches hold
};

Tokenizer::Scratch::Scratch() = default;
Tokenizer::Scratch::Scratch(Scratch&&) noexcept = default;
Tokenizer::Scratch& Tokenizer::Scratch::operator=(Scratch&&) noexcept = default;
Tokenizer::Scratch::~Scratch() = default;

Tokenizer::State::State(TokenizerFiles read)
    : serial(next_serial()), files(std::move(read)), marks(files) {
  if (files.parts) {
    composed.emplace(*files.parts, files.vocab, files.wordpiece.unk_id);
    *files.parts = {};  // their tables are in the model
  } else if (files.sentencepiece) {
    named.emplace(files.sentencepiece, files.vocab, files.wordpiece.unk_id);
  } else if (files.dictionary) {
    words.emplace(files.vocab);
  } else {
    wordpiece.emplace(files.vocab, files.wordpiece);
  }
  special.resize(files.vocab.size());
  // Special tokens are looked for before others with the same text.
  for (const bool special_first : {true, false}) {
    for (const AddedToken& token : files.added_tokens) {
      if (token.special != special_first) continue;
      if (token.special) special[static_cast<size_t>(token.id)] = true;
      add_pattern(token);
    }
  }
  raw.finish();
  normalized.finish();
  if (composed) composed->set_added(&normalized);
  if (files.trim_offsets) {
    trimmer = OffsetTrimmer(files.vocab, files.added_tokens, files.add_prefix_space);
  }
  if (files.has_decoder) decoder = Decoder(files.decoders);
  cls_id = files.vocab.find(files.cls_token);
  sep_id = files.vocab.find(files.sep_token);
  pad_id = files.vocab.find(files.pad_token);
  mask_id = files.vocab.find(files.mask_token);
}

void Tokenizer::State::add_pattern(const AddedToken& token) {
  if (!token.normalized) {
    raw.add(token.content, token);
    return;
  }
  std::string pattern;
  if (composed) {
    pattern = composed->normalizer().run(token.content);
  } else {
    Normalizer normalizer(files.wordpiece.normalizer);
    normalizer.start(token.content, 0);
    for (NormalizedChar c; normalizer.next(c);) {
      char bytes[4];
      pattern.append(bytes, encode_utf8(c.code_point, bytes));
    }
  }
  if (pattern != token.content) respelled.emplace(token.id, pattern);
  normalized.add(std::move(pattern), token);
}

/// The pieces of text[begin, end), in which no token of `raw` stands.
void Tokenizer::State::segment(std::string_view text, size_t begin, size_t end, bool literal,
                               Tokenizer::Scratch::State& buffers, PieceBuffer& out) const {
  if (composed) {
    composed->run(text, begin, end, literal, *buffers.composed, out);
    return;
  }
  if (named) {
    named->run(text, begin, end, *buffers.named, out);
    return;
  }
  if (words) {
    words->run(text, begin, end, *buffers.words, out);
    return;
  }
  WordPiece::Scratch& scratch = *buffers.wordpiece;
  if (normalized.empty()) {
    wordpiece->run(text, begin, end, scratch, out);
    return;
  }
  std::vector<NormalizedChar>& chars = buffers.chars;
  chars.clear();
  scratch.normalizer.start(text.substr(begin, end - begin), static_cast<uint32_t>(begin));
  for (NormalizedChar c; scratch.normalizer.next(c);) chars.push_back(c);
  scratch.replaced += scratch.normalizer.replaced();
  split_normalized(chars, literal, scratch, out);
}

void Tokenizer::State::split_normalized(const std::vector<NormalizedChar>& chars, bool literal,
                                        WordPiece::Scratch& scratch, PieceBuffer& out) const {
  std::string text;
  for (const NormalizedChar& c : chars) {
    char bytes[4];
    text.append(bytes, encode_utf8(c.code_point, bytes));
  }
  size_t at = 0;  // bytes of `text` and characters that are done
  size_t done = 0;
  const auto skip = [&](size_t to, auto use) {
    for (; at < to; ++done) {
      use(chars[done]);
      at += decode_utf8(text, at).length;
    }
  };
  size_t from = 0;
  size_t taken = 0;
  AddedTokenMatcher::Match match{};
  while (!out.stopped() && normalized.next(text, literal, from, taken, match)) {
    skip(match.begin, [&](const NormalizedChar& c) { wordpiece->feed(c, scratch, out); });
    wordpiece->finish_word(scratch, out);
    const size_t first = done;
    skip(match.end, [](const NormalizedChar&) {});
    if (done > first) {
      out.push({match.token->id, {chars[first].begin, chars[done - 1].end}, scratch.next_word++});
    }
    out.flush_if_full();
  }
  skip(text.size(), [&](const NormalizedChar& c) {
    wordpiece->feed(c, scratch, out);
    out.flush_if_full();
  });
  wordpiece->finish_word(scratch, out);
}

Tokenizer::Tokenizer() = default;
Tokenizer::Tokenizer(const Tokenizer&) = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::open(const ModelDirectory& directory) {
  Tokenizer tokenizer;
  tokenizer.state_ = std::make_shared<const State>(read_tokenizer_files(directory));
  return tokenizer;
}

Tokenizer Tokenizer::open_words(const std::string& path) {
  if (path.empty()) throw Error::of_field("words", "is empty, wants a file with a word a line");
  TokenizerFiles files;
  files.vocab = read_dictionary(path);
  files.dictionary = true;
  files.wordpiece.unk_id = DictionaryWords::kUnknown;
  Tokenizer tokenizer;
  tokenizer.state_ = std::make_shared<const State>(std::move(files));
  return tokenizer;
}

Tokenizer Tokenizer::with_marker(int32_t id) const {
  Frame frame = this->frame();
  frame.before.push_back({std::string(token(id)), frame.type_ids[0], id});
  Tokenizer marked = *this;
  marked.marked_ = std::make_shared<const Frame>(std::move(frame));
  return marked;
}

Tokenizer Tokenizer::open_target(const ModelDirectory& directory) {
  Tokenizer tokenizer;
  tokenizer.state_ = std::make_shared<const State>(read_target_files(directory));
  return tokenizer;
}

Tokenizer Tokenizer::open_alone(const ModelDirectory& directory) {
  Tokenizer tokenizer;
  tokenizer.state_ = std::make_shared<const State>(read_tokenizer_alone(directory));
  return tokenizer;
}

/// The scratch's buffers, made for this tokenizer on first use.
Tokenizer::Scratch::State& Tokenizer::prepare(Scratch& scratch) const {
  if (!scratch.state_ || scratch.state_->owner != state_->serial) {
    scratch.state_ = std::make_unique<Scratch::State>(*state_);
    scratch.state_->owner = state_->serial;
  }
  return *scratch.state_;
}

size_t Tokenizer::for_each_piece(std::string_view text, bool literal, Scratch& scratch,
                                 const std::function<bool(std::span<const Piece>)>& sink) const {
  return run(text, literal, kPortion, prepare(scratch), sink);
}

/// Hands `sink` portions of about `portion` pieces. Returns the invalid parts.
size_t Tokenizer::run(std::string_view text, bool literal, size_t portion, Scratch::State& scratch,
                      const std::function<bool(std::span<const Piece>)>& sink) const {
  if (text.size() >= UINT32_MAX) {
    throw Error(Error::Kind::data, "", "the text has 4 GiB or more, offsets have 32 bits");
  }
  PieceBuffer& out = scratch.buffer;
  PieceBuffer::Edit trim;
  if (!state_->trimmer.empty()) {
    trim = [&, first = true](std::span<Piece> pieces) mutable {
      state_->trimmer.trim(text, pieces, first);
      first = false;
    };
  }
  out.start(&sink, std::min(portion, kPortion), std::move(trim));
  if (scratch.composed) state_->composed->start(*scratch.composed);
  if (scratch.named) state_->named->start(*scratch.named);
  if (scratch.words) state_->words->start(*scratch.words);
  if (scratch.wordpiece) state_->wordpiece->start(*scratch.wordpiece);
  size_t begin = 0;
  size_t from = 0;
  size_t taken = 0;
  AddedTokenMatcher::Match match{};
  while (!out.stopped() && state_->raw.next(text, literal, from, taken, match)) {
    if (begin < match.begin) {
      state_->segment(text, begin, match.begin, literal, scratch, out);
    }
    out.push({match.token->id,
              {static_cast<uint32_t>(match.begin), static_cast<uint32_t>(match.end)},
              scratch.next_word()++});
    out.flush_if_full();
    begin = match.end;
  }
  if (!out.stopped() && begin < text.size()) {
    state_->segment(text, begin, text.size(), literal, scratch, out);
  }
  out.flush();
  return scratch.replaced();
}

/// At most `limit` + 1 pieces of a text, which tell whether it has more than `limit`.
size_t Tokenizer::collect(std::string_view text, bool literal, size_t limit,
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

namespace {

/// Pushes `kept` of the pieces: if that is not all, at most `tail` of the last and others from the
/// first on. Returns how many of the first.
size_t push_ends(std::span<const Piece> pieces, size_t kept, size_t tail, FramedText& framed) {
  const size_t head = kept < pieces.size() ? kept - std::min(tail, kept) : kept;
  for (const Piece& piece : pieces.first(head)) framed.push(piece);
  for (const Piece& piece : pieces.last(kept - head)) framed.push(piece);
  return head;
}

}  // namespace

void Tokenizer::encode(std::string_view text, const EncodeOptions& options, Encoding& out,
                       Scratch& scratch) const {
  Scratch::State& buffers = prepare(scratch);
  out.clear();
  size_t room = content_limit(options, added_tokens_single());
  if (options.tail > 0 && room < kNoLimit) return encode_ends(text, options, room, out, buffers);
  FramedText framed(frame(), out, options.add_special_tokens);
  // Pieces go straight to the encoding: a text may have many millions.
  const auto append = [&](std::span<const Piece> portion) {
    const size_t kept = std::min(portion.size(), room);
    for (const Piece& piece : portion.first(kept)) framed.push(piece);
    room -= kept;
    out.dropped += portion.size() - kept;
    return out.dropped == 0 || options.count_dropped;
  };
  const size_t portion = room < kNoLimit ? room + 1 : kNoLimit;
  out.replaced_bytes = run(text, options.literal, portion, buffers, append);
  framed.finish();
  if (out.dropped > 0 && options.truncation == Truncation::only_second) throw_no_second_text();
}

/// Begin and end of a text.
void Tokenizer::encode_ends(std::string_view text, const EncodeOptions& options, size_t room,
                            Encoding& out, Scratch::State& buffers) const {
  out.replaced_bytes = collect(text, options.literal, kNoLimit, buffers, buffers.first);
  FramedText framed(frame(), out, options.add_special_tokens);
  const size_t kept = std::min(room, buffers.first.size());
  const size_t head = push_ends(buffers.first, kept, options.tail, framed);
  framed.finish();
  out.dropped = buffers.first.size() - kept;
  if (out.dropped == 0) return;
  out.window_begin = head + (options.add_special_tokens ? frame().before.size() : 0);
  out.before = out.dropped;
}

void Tokenizer::encode_pair(std::string_view text, std::string_view text_pair,
                            const EncodeOptions& options, Encoding& out, Scratch& scratch) const {
  Scratch::State& buffers = prepare(scratch);
  out.clear();
  const size_t limit = content_limit(options, added_tokens_pair());
  const size_t most = options.tail > 0 || options.count_dropped ? kNoLimit : limit;
  const size_t replaced = collect(text, options.literal, most, buffers, buffers.first);
  out.replaced_bytes =
      replaced + collect(text_pair, options.literal, most, buffers, buffers.second);
  if (limit % 2 == 1 && buffers.first.size() > limit && buffers.second.size() > limit) {
    // Both give way, and the odd token stays with the longer one.
    collect(text, options.literal, kNoLimit, buffers, buffers.first);
    collect(text_pair, options.literal, kNoLimit, buffers, buffers.second);
  }
  const Kept kept =
      truncate_pair(buffers.first.size(), buffers.second.size(), limit, options.truncation);
  out.dropped = buffers.first.size() - kept.first + buffers.second.size() - kept.second;
  FramedText framed(pair_frame(), out, options.add_special_tokens);
  push_ends(buffers.first, kept.first, options.tail, framed);
  framed.next();
  push_ends(buffers.second, kept.second, options.tail, framed);
  framed.finish();
}

void Tokenizer::encode_windows(std::string_view text, const EncodeOptions& options, size_t stride,
                               std::vector<Encoding>& windows, Scratch& scratch) const {
  Scratch::State& buffers = prepare(scratch);
  const size_t limit = content_limit(options, added_tokens_single());
  const size_t replaced = collect(text, options.literal, kNoLimit, buffers, buffers.first);
  const std::span<const Piece> pieces = buffers.first;
  const size_t count = window_count(pieces.size(), limit, stride);
  windows.resize(count);
  for (size_t w = 0; w < count; ++w) {
    windows[w].clear();
    windows[w].replaced_bytes = replaced;
    const size_t begin = windows[w].before = w * (limit - stride);
    FramedText framed(frame(), windows[w], options.add_special_tokens);
    const auto part = pieces.subspan(begin, std::min(limit, pieces.size() - begin));
    for (const Piece& piece : part) framed.push(piece);
    framed.finish();
  }
}

void Tokenizer::encode_pair_windows(std::string_view question, std::string_view context,
                                    const EncodeOptions& options, size_t stride,
                                    std::vector<Encoding>& windows, Scratch& scratch) const {
  Scratch::State& buffers = prepare(scratch);
  const size_t limit = content_limit(options, added_tokens_pair());
  size_t replaced = collect(question, options.literal, kNoLimit, buffers, buffers.first);
  replaced += collect(context, options.literal, kNoLimit, buffers, buffers.second);
  const std::span<const Piece> pieces = buffers.second;
  const Kept kept =
      truncate_pair(buffers.first.size(), pieces.size(), limit, Truncation::only_second);
  const size_t room = kept.second < pieces.size() ? kept.second : kNoLimit;
  const size_t count = window_count(pieces.size(), room, stride);
  windows.resize(count);
  for (size_t w = 0; w < count; ++w) {
    windows[w].clear();
    windows[w].replaced_bytes = replaced;
    const size_t begin = windows[w].before = w == 0 ? 0 : w * (room - stride);
    FramedText framed(pair_frame(), windows[w], options.add_special_tokens);
    for (const Piece& piece : buffers.first) framed.push(piece);
    framed.next();
    const auto part = pieces.subspan(begin, std::min(room, pieces.size() - begin));
    for (const Piece& piece : part) framed.push(piece);
    framed.finish();
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<NamedPieces::Token> tokens;
  for (const int32_t id : ids) {
    const std::string_view piece = token(id);
    if (piece.empty()) continue;
    // A special token that normalising respells is not known as one here, as in the reference.
    const bool special = is_special(id) && !state_->respelled.contains(id);
    if (!skip_special_tokens || !special) tokens.push_back({piece, special});
  }
  std::string text;
  if (state_->named) {
    text = state_->named->decode(tokens);
  } else {
    std::vector<std::string> spellings;
    for (const auto& [piece, special] : tokens) spellings.emplace_back(piece);
    text = state_->decoder.decode(std::move(spellings));
  }
  return state_->files.text_cleanup ? clean_up_text(std::move(text)) : text;
}

size_t Tokenizer::vocab_size() const { return state_->files.vocab.size(); }

std::string_view Tokenizer::token(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= vocab_size()) return {};
  if (!state_->respelled.empty()) {
    const auto found = state_->respelled.find(id);
    if (found != state_->respelled.end()) return found->second;
  }
  return state_->files.vocab.text(id);
}

void Tokenizer::append_tokens(std::span<const Piece> pieces, std::string& out) const {
  if (!state_->respelled.empty()) {
    for (const Piece& piece : pieces) out.append(token(piece.id)).push_back(' ');
    return;
  }
  state_->files.vocab.append_texts(pieces, out);
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const int32_t id = state_->files.vocab.find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

bool Tokenizer::marks_beginnings() const { return state_->marks.marks_beginnings(); }

bool Tokenizer::marks_continuations() const { return state_->marks.marks_continuations(); }

bool Tokenizer::continues_word(int32_t id) const {
  return !is_special(id) && state_->marks.continues_word(token(id));
}

std::string_view Tokenizer::piece_text(int32_t id) const {
  return is_special(id) ? token(id) : state_->marks.text(id, token(id));
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < vocab_size() &&
         state_->special[static_cast<size_t>(id)];
}

std::vector<std::pair<std::string, int32_t>> Tokenizer::special_tokens() const {
  std::vector<std::pair<std::string, int32_t>> tokens;
  for (const AddedToken& token : state_->files.added_tokens) {
    if (token.special) tokens.emplace_back(token.content, token.id);
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  return tokens;
}

int32_t Tokenizer::unk_id() const { return state_->files.wordpiece.unk_id; }
int32_t Tokenizer::cls_id() const { return state_->cls_id; }
int32_t Tokenizer::sep_id() const { return state_->sep_id; }
int32_t Tokenizer::pad_id() const { return state_->pad_id; }
int32_t Tokenizer::mask_id() const { return state_->mask_id; }
std::string_view Tokenizer::mask_token() const { return state_->files.mask_token; }
bool Tokenizer::lowercase() const { return state_->files.lowercase; }
const std::string& Tokenizer::case_fault() const { return state_->files.case_fault; }
const Frame& Tokenizer::frame() const { return marked_ ? *marked_ : state_->files.frames.single; }
const Frame& Tokenizer::pair_frame() const { return state_->files.frames.pair; }
size_t Tokenizer::added_tokens_single() const { return frame().added(); }
size_t Tokenizer::added_tokens_pair() const { return pair_frame().added(); }
std::optional<size_t> Tokenizer::model_max_length() const { return state_->files.model_max_length; }

bool Tokenizer::truncates_left() const { return state_->files.truncates_left; }
const std::vector<std::string>& Tokenizer::warnings() const { return state_->files.warnings; }

}  // namespace bert
