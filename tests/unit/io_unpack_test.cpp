// What Unpacker makes of packed bytes that come in pieces of any size, into buffers of any size.

#include <bzlib.h>
#include <doctest/doctest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "io/unpack.h"

namespace bert {
namespace {

std::string sample() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "record " + std::to_string(i * i) + "\n";
  return text;
}

std::string gzipped(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream s{};
  REQUIRE(deflateInit2(&s, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<unsigned>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<unsigned>(out.size());
  REQUIRE(deflate(&s, Z_FINISH) == Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  REQUIRE(lzma_easy_buffer_encode(
              6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
              text.size(), reinterpret_cast<uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

std::string bzip2(const std::string& text) {
  std::string out(text.size() + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  REQUIRE(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()),
                                   static_cast<unsigned>(text.size()), 9, 0, 0) == BZ_OK);
  out.resize(size);
  return out;
}

/// All that `packed` holds, given `piece` bytes at a time, with room for `room`.
std::string unpacked(const std::string& packed, size_t piece, size_t room) {
  const auto unpacker = Unpacker::of(packed);
  REQUIRE(unpacker);
  std::string text, waiting;
  std::vector<char> out(room);
  for (size_t at = 0;;) {
    std::string_view in = waiting;
    const size_t got = unpacker->run(in, out, at == packed.size());
    text.append(out.data(), got);
    waiting.erase(0, waiting.size() - in.size());
    if (got > 0) continue;
    if (at == packed.size()) return text;
    const size_t more = std::min(piece, packed.size() - at);
    waiting += packed.substr(at, more);
    at += more;
  }
}

std::string fault(const std::string& packed) {
  try {
    unpacked(packed, 100, 1000);
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::data);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Unpacker: parts, pieces and buffers of any size") {
  const std::string text = sample();
  for (const auto pack : {gzipped, zstd, xz, bzip2}) {
    const std::string one = pack(text);
    for (const size_t piece : {1, 7, 4096, 1 << 20}) {
      CHECK(unpacked(one, piece, 64 << 10) == text);
      CHECK(unpacked(one + one + std::string(8, '\0'), piece, 5) == text + text);
    }
    CHECK(unpacked(pack(""), 3, 10).empty());
  }
}

TEST_CASE("Unpacker: damage is told") {
  for (const auto pack : {gzipped, zstd, xz, bzip2}) {
    const std::string one = pack(sample());
    for (size_t size = Unpacker::kMagic; size < one.size(); size += 97) {
      CHECK(fault(one.substr(0, size)).find("is damaged") != std::string::npos);
    }
    CHECK(fault(one + "more").find("other bytes behind its end") != std::string::npos);
  }
  // A check that does not fit is told for each byte of the data.
  const std::string one = gzipped(sample());
  for (size_t at = 10; at < one.size(); at += 211) {
    std::string damaged = one;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK(fault(damaged).find("the gzip data is damaged") == 0);
  }
}

TEST_CASE("Unpacker: UTF-16 with a mark") {
  const std::string little("\xFF\xFEz\0\xDF\0\x34\xD8\x1E\xDD\n\0", 12);
  const std::string big("\xFE\xFF\0z\0\xDF\xD8\x34\xDD\x1E\0\n", 12);
  const std::string text = "\xEF\xBB\xBFz\xC3\x9F\xF0\x9D\x84\x9E\n";
  for (const size_t piece : {1, 2, 3, 100}) {
    CHECK(unpacked(little, piece, 8) == text);
    CHECK(unpacked(big, piece, 8) == text);
  }
  CHECK(unpacked(std::string("\xFF\xFE\x34\xD8", 4), 1, 8) == "\xEF\xBB\xBF\xED\xA0\xB4");
  CHECK(fault(little + "a") == "the text in UTF-16 ends in the middle of a character");
}

TEST_CASE("Unpacker: what is a text as it is") {
  for (const char* text : {"", "B", "BZh9 is a text", "(\xB5",
                           "\xFD"
                           "7z",
                           "text"}) {
    CHECK_FALSE(Unpacker::of(text));
  }
  CHECK_FALSE(Unpacker::of(std::string_view("\xFF\xFE\0\0a\0\0\0", 8)));  // UTF-32
  CHECK(
      Unpacker::may_begin("\xFD"
                          "7z"));
  CHECK(Unpacker::may_begin(""));
  CHECK_FALSE(Unpacker::may_begin("the"));
}

}  // namespace bert
