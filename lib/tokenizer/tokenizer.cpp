#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "tokenizer/engines/dictionary_words.h"
#include "tokenizer/parts/clean_up.h"
#include "tokenizer/tokenizer_state.h"
#include "tokenizer/truncation.h"

namespace bert {

Tokenizer::Scratch::Scratch() = default;
Tokenizer::Scratch::Scratch(Scratch&&) noexcept = default;
Tokenizer::Scratch& Tokenizer::Scratch::operator=(Scratch&&) noexcept = default;
Tokenizer::Scratch::~Scratch() = default;

Tokenizer::Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(const Tokenizer&) = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::open(const ModelDirectory& directory) {
  Tokenizer tokenizer(
      std::make_shared<const State>(read_tokenizer_files(directory, TokenizerSide::source)));
  const Languages& languages = tokenizer.languages();
  return languages.list.empty() ? tokenizer : tokenizer.with_language(languages.source);
}

Tokenizer Tokenizer::open_words(const std::string& path) {
  if (path.empty()) throw Error::of_field("words", "is empty, wants a file with a word a line");
  TokenizerFiles files;
  files.vocab = read_dictionary(path);
  files.engine = Dictionary{};
  files.unk_id = DictionaryWords::kUnknown;
  return Tokenizer(std::make_shared<const State>(std::move(files)));
}

Tokenizer Tokenizer::with_marker(int32_t id) const {
  Frame frame = this->frame();
  frame.before.push_back({std::string(token(id)), frame.type_ids[0], id});
  Tokenizer marked = *this;
  marked.marked_ = std::make_shared<const Frame>(std::move(frame));
  return marked;
}

Tokenizer Tokenizer::with_language(int32_t id) const {
  const Languages& known = languages();
  Frame frame = state_->files.frames.single;
  if (id >= 0) {
    const FrameToken language{std::string(token(id)), 0, id};
    known.behind ? frame.after.push_back(language)
                 : static_cast<void>(frame.before.insert(frame.before.begin(), language));
  }
  Tokenizer other = *this;
  other.marked_ = std::make_shared<const Frame>(std::move(frame));
  return other;
}

const Languages& Tokenizer::languages() const { return state_->files.languages; }

Tokenizer Tokenizer::open_target(const ModelDirectory& directory) {
  return Tokenizer(
      std::make_shared<const State>(read_tokenizer_files(directory, TokenizerSide::target)));
}

Tokenizer Tokenizer::open_alone(const ModelDirectory& directory) {
  return Tokenizer(
      std::make_shared<const State>(read_tokenizer_files(directory, TokenizerSide::alone)));
}

/// The scratch's buffers, made for this tokenizer on first use.
Tokenizer::Scratch::State& Tokenizer::prepare(Scratch& scratch) const {
  if (!scratch.state_ || scratch.state_->owner != state_->serial) {
    scratch.state_ = std::make_unique<Scratch::State>(*state_);
  }
  return *scratch.state_;
}

size_t Tokenizer::for_each_piece(std::string_view text, bool literal, Scratch& scratch,
                                 const std::function<bool(std::span<const Piece>)>& sink) const {
  return state_->run(text, literal, kNoLimit, prepare(scratch), sink);
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
  out.replaced_bytes = state_->run(text, options.literal, portion, buffers, append);
  framed.finish();
  if (out.dropped > 0 && options.truncation == Truncation::only_second) throw_no_second_text();
}

/// Begin and end of a text.
void Tokenizer::encode_ends(std::string_view text, const EncodeOptions& options, size_t room,
                            Encoding& out, Scratch::State& buffers) const {
  out.replaced_bytes = state_->collect(text, options.literal, kNoLimit, buffers, buffers.first);
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
  const size_t replaced = state_->collect(text, options.literal, most, buffers, buffers.first);
  out.replaced_bytes =
      replaced + state_->collect(text_pair, options.literal, most, buffers, buffers.second);
  if (limit % 2 == 1 && buffers.first.size() > limit && buffers.second.size() > limit) {
    // Both give way, and the odd token stays with the longer one.
    state_->collect(text, options.literal, kNoLimit, buffers, buffers.first);
    state_->collect(text_pair, options.literal, kNoLimit, buffers, buffers.second);
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
  const size_t replaced = state_->collect(text, options.literal, kNoLimit, buffers, buffers.first);
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
  size_t replaced = state_->collect(question, options.literal, kNoLimit, buffers, buffers.first);
  replaced += state_->collect(context, options.literal, kNoLimit, buffers, buffers.second);
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
  std::vector<Decoder::Token> tokens;
  for (const int32_t id : ids) {
    const std::string_view piece = token(id);
    if (piece.empty()) continue;
    // A special token that normalising respells is not known as one here, as in the reference.
    const bool special = is_special(id) && !state_->respelled.contains(id);
    if (!skip_special_tokens || !special) tokens.push_back({piece, special});
  }
  std::string text = state_->decoder->decode(tokens);
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

int32_t Tokenizer::unk_id() const { return state_->files.unk_id; }
int32_t Tokenizer::cls_id() const { return state_->ids[Special::cls]; }
int32_t Tokenizer::sep_id() const { return state_->ids[Special::sep]; }
int32_t Tokenizer::pad_id() const { return state_->ids[Special::pad]; }
int32_t Tokenizer::mask_id() const { return state_->ids[Special::mask]; }
std::string_view Tokenizer::mask_token() const { return state_->files.names[Special::mask]; }
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
