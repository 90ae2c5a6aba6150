#include "tokenizer/models/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/models/symbol_joiner.h"

namespace bert {
namespace {

using Type = SentencePieceFile::Type;

/// An unknown character costs this much more than the worst piece.
constexpr float kUnknownPenalty = 10;
constexpr size_t kLongestPiece = 8000;  // bytes, as in sentencepiece

bool is_reserved(Type type) {
  return type == Type::control || type == Type::unknown || type == Type::byte;
}

/// Pieces of `file` for a trie: "" in the place of those that do not belong there.
auto texts_of(const SentencePieceFile& file, bool user_defined) {
  return [&file, user_defined](size_t id) -> std::string_view {
    const SentencePieceFile::Piece& piece = file.pieces[id];
    const bool wanted = user_defined ? piece.type == Type::user_defined : !is_reserved(piece.type);
    return wanted ? std::string_view(piece.text) : std::string_view();
  };
}

size_t char_end(std::string_view text, size_t i) { return i + decode_utf8(text, i).length; }

}  // namespace

SentencePiece::SentencePiece(SentencePieceFile file, const std::string& where)
    : file_((std::move(file))),
      pieces_(file_.pieces.size(), texts_of(file_, false)),
      user_defined_(file_.pieces.size(), texts_of(file_, true)) {
  check(where);
  if (!file_.charsmap.empty()) {
    charsmap_ = std::make_unique<Charsmap>(file_.charsmap, where, Charsmap::Rule::longest);
  }
  least_score_ = std::numeric_limits<float>::max();
  // The least above 0: so it is in sentencepiece.
  most_score_ = std::numeric_limits<float>::min();
  for (const SentencePieceFile::Piece& piece : file_.pieces) {
    has_user_defined_ |= piece.type == Type::user_defined;
    if (piece.type != Type::normal) continue;
    least_score_ = std::min(least_score_, piece.score);
    most_score_ = std::max(most_score_, piece.score);
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = id_of(fmt::format("<0x{:02X}>", byte));
  }
}

void SentencePiece::check(const std::string& where) {
  std::array<bool, 256> bytes{};
  const auto bad = [&](size_t id, const std::string& what) {
    throw Error(Error::Kind::data, where,
                fmt::format("piece {} ({}) {}", id, printable(file_.pieces[id].text), what));
  };
  for (size_t id = 0; id < file_.pieces.size(); ++id) {
    const auto& [text, score, kind] = file_.pieces[id];
    const auto number = static_cast<int32_t>(id);
    if (text.empty()) bad(id, "is empty");
    if (text.size() >= kLongestPiece) bad(id, fmt::format("has {} bytes", text.size()));
    if (!is_utf8(text) || text.find('\0') != std::string::npos) bad(id, "is not UTF-8");
    if (!std::isfinite(score)) bad(id, "has a score that is no finite number");
    const bool is_new = is_reserved(kind) ? reserved_.try_emplace(text, number).second
                                          : pieces_.value(text) == number;
    if (!is_new) bad(id, "stands twice");
    if (kind == Type::unknown) {
      if (unk_id_ >= 0) bad(id, "is a second unknown piece");
      unk_id_ = number;
    }
    if (kind != Type::byte) continue;
    size_t byte = 0;
    while (byte < 256 && text != fmt::format("<0x{:02X}>", byte)) ++byte;
    if (byte == 256 || !file_.byte_fallback) bad(id, "is no byte, or byte_fallback is false");
    bytes[byte] = true;
  }
  if (unk_id_ < 0) throw Error(Error::Kind::data, where, "has no unknown piece");
  if (file_.byte_fallback && std::count(bytes.begin(), bytes.end(), true) < 256) {
    throw Error(Error::Kind::data, where, "byte_fallback is true, and not all 256 bytes are there");
  }
}

/// Of a text: control pieces and bytes do not stand in one.
int32_t SentencePiece::text_id(std::string_view piece) const {
  const int32_t id = pieces_.value(piece);
  return id < 0 ? unk_id_ : id;
}

/// Of a piece by its spelling, as decode() gets it.
int32_t SentencePiece::id_of(std::string_view piece) const {
  if (const auto found = reserved_.find(piece); found != reserved_.end()) return found->second;
  return text_id(piece);
}

/// The end of the longest user-defined piece that begins at text[i]; `i`: there is none.
size_t SentencePiece::user_defined(std::string_view text, size_t i) const {
  size_t end = i;
  if (!has_user_defined_) return end;
  uint64_t key = 0;
  const PieceTrie::Edge* edge = nullptr;
  for (size_t at = i; at < text.size();) {
    const DecodedChar c = decode_utf8(text, at);
    key = edge ? PieceTrie::next(*edge, c.code_point) : PieceTrie::first(c.code_point);
    edge = key == 0 ? nullptr : user_defined_.find(key);
    if (!edge) break;
    at += c.length;
    if (edge->value >= 0) end = at;
  }
  return end;
}

size_t SentencePiece::symbol_end(std::string_view text, size_t i) const {
  const size_t end = user_defined(text, i);
  return end > i ? end : char_end(text, i);
}

// From text to what pieces are taken of

/// What text[i, i + length) becomes.
std::string_view SentencePiece::replacement(std::string_view text, size_t i, size_t& length) const {
  if (const size_t end = user_defined(text, i); end > i) {
    length = end - i;
    return text.substr(i, length);
  }
  if (charsmap_) {
    const Charsmap::Match match = charsmap_->longest(text.substr(i));
    length = match.length;
    if (length > 0) return match.replacement;
  }
  length = decode_utf8(text, i).length;
  return text.substr(i, length);
}

void SentencePiece::normalize(const NormalText& in, NormalText& out) const {
  const std::string_view text = in.text, blank = file_.escape_whitespaces ? kBlank : " ";
  const bool one_blank = file_.remove_extra_whitespaces;
  out.clear();
  size_t i = 0, length = 0;
  while (one_blank && i < text.size() && replacement(text, i, length) == " ") i += length;
  if (i == text.size()) return;
  size_t marks = 0;  // bytes of marks at the end, which have no place yet
  const auto mark = [&](NormalText::Span origin) {
    out.append(blank, origin);
    marks += blank.size();
  };
  const bool suffix = file_.treat_whitespace_as_suffix;
  if (!suffix && file_.add_dummy_prefix) mark(in.origins[i]);
  for (bool after_blank = one_blank; i < text.size(); i += length) {
    std::string_view part = replacement(text, i, length);
    while (after_blank && part.starts_with(' ')) part.remove_prefix(1);
    const NormalText::Span origin{in.origins[i].begin, in.origins[i + length - 1].end};
    for (const char& c : part) {
      if (c == ' ') {
        mark({origin.end, origin.end});
        continue;
      }
      std::fill_n(out.origins.end() - static_cast<ptrdiff_t>(marks), marks,
                  NormalText::Span{origin.begin, origin.begin});
      marks = 0;
      out.append({&c, 1}, origin);
    }
    if (!part.empty()) after_blank = part.ends_with(' ');
    if (!one_blank) after_blank = false;
  }
  while (one_blank && out.text.ends_with(blank)) {
    out.text.resize(out.text.size() - blank.size());
    out.origins.resize(out.text.size());
  }
  const uint32_t end = in.origins.back().end;
  if (suffix && file_.add_dummy_prefix) out.append(blank, {end, end});
}

// From that to pieces

void SentencePiece::split(std::string_view text, std::vector<Subword>& out) const {
  const size_t first = out.size();
  switch (file_.model) {
    case SentencePieceFile::Model::unigram:
      split_unigram(text, out);
      break;
    case SentencePieceFile::Model::bpe:
      split_bpe(text, out);
      break;
    case SentencePieceFile::Model::word:
      split_words(text, out);
      break;
    case SentencePieceFile::Model::character:
      split_characters(text, out);
  }
  close_unknown(text, first, out);
}

/// Joins unknown neighbours, or puts a piece per byte in their place.
void SentencePiece::close_unknown(std::string_view text, size_t first,
                                  std::vector<Subword>& out) const {
  if (file_.byte_fallback) {
    const std::vector<Subword> pieces(out.begin() + static_cast<ptrdiff_t>(first), out.end());
    out.resize(first);
    for (const Subword& piece : pieces) {
      if (piece.id != unk_id_) {
        out.push_back(piece);
        continue;
      }
      for (uint32_t i = piece.begin; i < piece.end; ++i) {
        out.push_back({byte_ids_[static_cast<unsigned char>(text[i])], piece.begin, piece.end});
      }
    }
    return;
  }
  size_t to = first;
  for (size_t k = first; k < out.size(); ++k) {
    const bool joins = to > first && out[k].id == unk_id_ && out[to - 1].id == unk_id_;
    if (joins) {
      out[to - 1].end = out[k].end;
    } else {
      out[to++] = out[k];
    }
  }
  out.resize(to);
}

/// What a piece of `bytes` bytes adds to a sum. A user-defined one is to be taken whatever the
/// others cost.
float SentencePiece::score(int32_t id, size_t bytes) const {
  if (type(id) != Type::user_defined) return file_.pieces[static_cast<size_t>(id)].score;
  return static_cast<float>(static_cast<float>(bytes) * most_score_ - 0.1);
}

/// The best way to each place of the text; of equal sums the one whose last piece is the longest.
void SentencePiece::split_unigram(std::string_view text, std::vector<Subword>& out) const {
  struct Place {
    float score = 0;
    int32_t id = -1;
    uint32_t from = UINT32_MAX;
  };
  std::vector<Place> places(text.size() + 1);
  const float unknown = least_score_ - kUnknownPenalty;
  const auto reach = [&](size_t begin, size_t end, int32_t id, float score) {
    Place& place = places[end];
    if (place.from != UINT32_MAX && score <= place.score) return;
    place = {score, id, static_cast<uint32_t>(begin)};
  };
  for (size_t i = 0, next = 0; i < text.size(); i = next) {
    next = char_end(text, i);
    bool whole = false;  // the character alone is a piece
    const PieceTrie::Edge* edge = nullptr;
    for (size_t at = i; at < text.size();) {
      const DecodedChar c = decode_utf8(text, at);
      const uint64_t key =
          edge ? PieceTrie::next(*edge, c.code_point) : PieceTrie::first(c.code_point);
      edge = key == 0 ? nullptr : pieces_.find(key);
      if (!edge) break;
      at += c.length;
      const int32_t id = edge->value;
      if (id < 0 || type(id) == Type::unused) continue;
      reach(i, at, id, score(id, at - i) + places[i].score);
      whole |= at == next;
    }
    if (!whole) reach(i, next, unk_id_, unknown + places[i].score);
  }
  const size_t first = out.size();
  for (size_t end = text.size(); end > 0; end = places[end].from) {
    out.push_back({places[end].id, places[end].from, static_cast<uint32_t>(end)});
  }
  std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
}

void SentencePiece::split_bpe(std::string_view text, std::vector<Subword>& out) const {
  SymbolJoiner joiner([this](std::string_view piece) { return pieces_.value(piece); }, file_);
  for (size_t i = 0, end = 0; i < text.size(); i = end) {
    end = user_defined(text, i);
    const bool frozen = end > i;
    if (!frozen) end = char_end(text, i);
    joiner.add(text.substr(i, end - i), frozen);
  }
  joiner.join();
  std::vector<std::string_view> open;  // what is still to be written, the first last
  joiner.for_each([&](std::string_view symbol) {
    open.assign(1, symbol);
    while (!open.empty()) {
      const std::string_view piece = open.back();
      open.pop_back();
      const int32_t id = text_id(piece);
      std::string_view left, right;
      if (type(id) == Type::unused && joiner.parts(piece, left, right)) {
        open.push_back(right);
        open.push_back(left);
        continue;
      }
      const auto begin = static_cast<uint32_t>(piece.data() - text.data());
      out.push_back({id, begin, begin + static_cast<uint32_t>(piece.size())});
    }
  });
}

/// A word begins with a mark, also where the model puts marks behind words.
void SentencePiece::split_words(std::string_view text, std::vector<Subword>& out) const {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find(kBlank, begin + 1), text.size());
    out.push_back({text_id(text.substr(begin, end - begin)), static_cast<uint32_t>(begin),
                   static_cast<uint32_t>(end)});
  }
}

void SentencePiece::split_characters(std::string_view text, std::vector<Subword>& out) const {
  for (size_t i = 0, end = 0; i < text.size(); i = end) {
    end = symbol_end(text, i);
    out.push_back(
        {text_id(text.substr(i, end - i)), static_cast<uint32_t>(i), static_cast<uint32_t>(end)});
  }
}

// From pieces to text

std::string SentencePiece::decode_piece(std::string_view piece, int32_t id, bool at_start) const {
  if (type(id) == Type::control) return {};
  if (type(id) == Type::unknown) {
    return piece == this->piece(id) ? file_.unk_surface : std::string(piece);
  }
  if (at_start && piece.starts_with(kBlank)) piece.remove_prefix(kBlank.size());
  std::string text;
  for (size_t i = 0; i < piece.size();) {
    const bool blank = piece.substr(i).starts_with(kBlank);
    text += blank ? ' ' : piece[i];
    i += blank ? kBlank.size() : 1;
  }
  return text;
}

std::string SentencePiece::decode(std::span<const std::string_view> pieces) const {
  std::string text, bytes;
  const auto end_bytes = [&] {
    for (size_t i = 0; i < bytes.size();) {
      const DecodedChar c = decode_utf8(bytes, i);
      // Each byte that begins no character counts for itself.
      text += c.valid ? std::string_view(bytes).substr(i, c.length) : "\xEF\xBF\xBD";
      i += c.valid ? c.length : 1;
    }
    bytes.clear();
  };
  const bool drops_blank = file_.add_dummy_prefix || file_.remove_extra_whitespaces;
  bool at_start = true, took_blank = false;
  for (const std::string_view piece : pieces) {
    const int32_t id = id_of(piece);
    if (type(id) == Type::byte) {
      size_t byte = 0;
      while (byte < 255 && byte_ids_[byte] != id) ++byte;
      bytes += static_cast<char>(byte);
      continue;
    }
    end_bytes();
    if (took_blank || !text.empty()) at_start = false;
    const bool known = type(id) != Type::control && type(id) != Type::unknown;
    took_blank = known && at_start && drops_blank && !file_.remove_extra_whitespaces &&
                 piece.starts_with(kBlank);
    text += decode_piece(piece, id, at_start && drops_blank);
  }
  end_bytes();
  return text;
}

}  // namespace bert
