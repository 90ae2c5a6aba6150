#include "tokenizer/files/sentencepiece_file.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

/// One message of a protocol buffer, field by field.
class Message {
 public:
  Message(std::string_view bytes, const char* name, std::string_view where)
      : bytes_(bytes), name_(name), where_(where) {}

  /// The next field; false at the end.
  bool next() {
    if (bytes_.empty()) return false;
    const uint64_t tag = read_varint();
    number_ = tag >> 3;
    wire_ = static_cast<unsigned>(tag & 7);
    if (number_ == 0) bad("a field with number 0");
    switch (wire_) {
      case 0:
        varint_ = read_varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        value_ = take(read_varint());
        break;
      case 5:
        value_ = take(4);
        break;
      default:
        bad(fmt::format("field {} has wire type {}", number_, wire_));
    }
    return true;
  }

  uint64_t number() const { return number_; }
  std::string_view bytes() const { return expect(2), value_; }
  Message message(const char* name) const { return {bytes(), name, where_}; }
  std::string text() const { return std::string(bytes()); }
  bool boolean() const { return expect(0), varint_ != 0; }
  int32_t integer() const { return expect(0), static_cast<int32_t>(varint_); }
  float number32() const {
    expect(5);
    uint32_t bits = 0;
    for (size_t k = 4; k-- > 0;) bits = (bits << 8) | static_cast<unsigned char>(value_[k]);
    return std::bit_cast<float>(bits);
  }
  /// One of first .. last.
  int32_t choice(int32_t first, int32_t last) const {
    const int32_t value = integer();
    if (value < first || value > last) {
      bad(fmt::format("field {} is {}, wants {} to {}", number_, value, first, last));
    }
    return value;
  }

 private:
  [[noreturn]] void bad(std::string_view what) const {
    throw Error(Error::Kind::data, where_,
                fmt::format("not a model of sentencepiece: {}: {}", name_, what));
  }
  void expect(unsigned wire) const {
    if (wire_ != wire) {
      bad(fmt::format("field {} has wire type {}, wants {}", number_, wire_, wire));
    }
  }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size()) {
      bad(fmt::format("a field of {} bytes where {} are left", size, bytes_.size()));
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  uint64_t read_varint() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return number;
    }
    bad("a number of more than 10 bytes");
  }

  std::string_view bytes_;
  const char* name_;
  std::string_view where_;
  uint64_t number_ = 0;
  unsigned wire_ = 0;
  uint64_t varint_ = 0;
  std::string_view value_;
};

/// Larger files are no vocabulary: one of a million pieces has about 20 MB.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;

// The numbers are those of sentencepiece_model.proto. Fields that change nothing here are skipped.

void read_piece(Message message, SentencePieceFile& file) {
  SentencePieceFile::Piece& piece = file.pieces.emplace_back();
  while (message.next()) {
    switch (message.number()) {
      case 1:
        piece.text = message.text();
        break;
      case 2:
        piece.score = message.number32();
        break;
      case 3:
        piece.type = static_cast<SentencePieceFile::Type>(message.choice(1, 6));
        break;
    }
  }
}

void read_trainer_spec(Message message, SentencePieceFile& file) {
  while (message.next()) {
    switch (message.number()) {
      case 3:
        file.model = static_cast<SentencePieceFile::Model>(message.choice(1, 4));
        break;
      case 24:
        file.treat_whitespace_as_suffix = message.boolean();
        break;
      case 35:
        file.byte_fallback = message.boolean();
        break;
      case 40:
        file.unk_id = message.integer();
        break;
      case 41:
        file.bos_id = message.integer();
        break;
      case 42:
        file.eos_id = message.integer();
        break;
      case 43:
        file.pad_id = message.integer();
        break;
      case 44:
        file.unk_surface = message.text();
        break;
      case 45:
        file.unk_piece = message.text();
        break;
      case 46:
        file.bos_piece = message.text();
        break;
      case 47:
        file.eos_piece = message.text();
        break;
      case 48:
        file.pad_piece = message.text();
        break;
    }
  }
}

void read_normalizer_spec(Message message, SentencePieceFile& file) {
  while (message.next()) {
    switch (message.number()) {
      case 2:
        file.charsmap = message.text();
        break;
      case 3:
        file.add_dummy_prefix = message.boolean();
        break;
      case 4:
        file.remove_extra_whitespaces = message.boolean();
        break;
      case 5:
        file.escape_whitespaces = message.boolean();
        break;
    }
  }
}

void read_denormalizer_spec(Message message, SentencePieceFile& file) {
  while (message.next()) {
    if (message.number() == 2) file.has_denormalizer = !message.bytes().empty();
  }
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::string_view bytes, std::string_view where) {
  SentencePieceFile file;
  Message message(bytes, "ModelProto", where);
  while (message.next()) {
    switch (message.number()) {
      case 1:
        read_piece(message.message("SentencePiece"), file);
        break;
      case 2:
        read_trainer_spec(message.message("TrainerSpec"), file);
        break;
      case 3:
        read_normalizer_spec(message.message("NormalizerSpec"), file);
        break;
      case 5:
        read_denormalizer_spec(message.message("denormalizer NormalizerSpec"), file);
        break;
    }
  }
  if (file.pieces.empty()) {
    throw Error(Error::Kind::data, where, "not a model of sentencepiece: it has no pieces");
  }
  return file;
}

SentencePieceFile read_sentencepiece_file(const std::string& path) {
  const MappedFile file = MappedFile::open(path, kMostBytes);
  return parse_sentencepiece(file.text(), path);
}

namespace {

/// Writes fields of a message; numbers of fields are below 2^28.
class MessageWriter {
 public:
  void bytes(unsigned number, std::string_view value) {
    varint(number << 3 | 2);
    varint(value.size());
    out_ += value;
  }
  void integer(unsigned number, int64_t value) {
    varint(number << 3);
    varint(static_cast<uint64_t>(value));
  }
  void number32(unsigned number, float value) {
    varint(number << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (unsigned k = 0; k < 32; k += 8) out_ += static_cast<char>(bits >> k);
  }
  const std::string& text() const { return out_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

MessageWriter trainer_spec(const SentencePieceFile& file) {
  MessageWriter spec;
  spec.integer(3, static_cast<int64_t>(file.model));
  spec.integer(4, static_cast<int64_t>(file.pieces.size()));
  spec.integer(24, file.treat_whitespace_as_suffix);
  spec.integer(35, file.byte_fallback);
  spec.integer(40, file.unk_id);
  spec.integer(41, file.bos_id);
  spec.integer(42, file.eos_id);
  spec.integer(43, file.pad_id);
  spec.bytes(44, file.unk_surface);
  spec.bytes(45, file.unk_piece);
  spec.bytes(46, file.bos_piece);
  spec.bytes(47, file.eos_piece);
  spec.bytes(48, file.pad_piece);
  return spec;
}

MessageWriter normalizer_spec(const SentencePieceFile& file) {
  MessageWriter spec;
  spec.bytes(1, file.charsmap.empty() ? "identity" : "user_defined");
  spec.bytes(2, file.charsmap);
  spec.integer(3, file.add_dummy_prefix);
  spec.integer(4, file.remove_extra_whitespaces);
  spec.integer(5, file.escape_whitespaces);
  return spec;
}

}  // namespace

std::string sentencepiece_bytes(const SentencePieceFile& file) {
  MessageWriter model;
  for (const auto& [text, score, type] : file.pieces) {
    MessageWriter piece;
    piece.bytes(1, text);
    piece.number32(2, score);
    if (type != SentencePieceFile::Type::normal) piece.integer(3, static_cast<int64_t>(type));
    model.bytes(1, piece.text());
  }
  model.bytes(2, trainer_spec(file).text());
  model.bytes(3, normalizer_spec(file).text());
  return model.text();
}

}  // namespace bert
