#include "io/unpack.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "base/error.h"

namespace bert {
namespace {

using namespace std::string_view_literals;

/// A piece of work of a library: bytes that it took and gave, and whether the part is at its end.
struct Step {
  size_t taken = 0, given = 0;
  bool ended = false;
  const char* fault = nullptr;
};

/// What unpacks one part of a stream, which it begins anew for the next.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual void begin() = 0;
  virtual Step step(std::string_view in, std::span<char> out) = 0;
};

unsigned counted(size_t bytes) {
  return static_cast<unsigned>(std::min<size_t>(bytes, size_t{1} << 30));
}

class Gzip : public Codec {
 public:
  Gzip() {
    constexpr int kWindow = 15, kOfGzip = 16;
    if (inflateInit2(&stream_, kWindow + kOfGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }
  void begin() override { inflateReset(&stream_); }
  Step step(std::string_view in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = counted(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = counted(out.size());
    const unsigned had = stream_.avail_in, room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const bool good = result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
    const char* fault = good ? nullptr : stream_.msg ? stream_.msg : "invalid data";
    return {had - stream_.avail_in, room - stream_.avail_out, result == Z_STREAM_END, fault};
  }

 private:
  z_stream stream_{};
};

class Zstd : public Codec {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  void begin() override { ZSTD_initDStream(stream_); }
  Step step(std::string_view in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &to, &from);
    const char* fault = ZSTD_isError(result) ? ZSTD_getErrorName(result) : nullptr;
    return {from.pos, to.pos, result == 0, fault};
  }

 private:
  ZSTD_DStream* stream_;
};

class Xz : public Codec {
 public:
  ~Xz() override { lzma_end(&stream_); }
  void begin() override {
    constexpr uint64_t kMostMemory = uint64_t{1} << 30;
    if (lzma_stream_decoder(&stream_, kMostMemory, 0) != LZMA_OK) throw std::bad_alloc();
  }
  Step step(std::string_view in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    const bool good = result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR;
    const char* fault = good                            ? nullptr
                        : result == LZMA_MEMLIMIT_ERROR ? "it wants more than 1 GiB of memory"
                                                        : "invalid data";
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, result == LZMA_STREAM_END,
            fault};
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Bzip2 : public Codec {
 public:
  ~Bzip2() override { BZ2_bzDecompressEnd(&stream_); }
  void begin() override {
    BZ2_bzDecompressEnd(&stream_);
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
  Step step(std::string_view in, std::span<char> out) override {
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = counted(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = counted(out.size());
    const unsigned had = stream_.avail_in, room = stream_.avail_out;
    const int result = BZ2_bzDecompress(&stream_);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    const bool good = result == BZ_OK || result == BZ_STREAM_END;
    return {had - stream_.avail_in, room - stream_.avail_out, result == BZ_STREAM_END,
            good ? nullptr : "invalid data"};
  }

 private:
  bz_stream stream_{};
};

template <typename C>
std::unique_ptr<Codec> make() {
  return std::make_unique<C>();
}

struct Packing {
  std::string_view name, magic;
  std::unique_ptr<Codec> (*make)();
};
constexpr Packing kPackings[] = {{"gzip", "\x1F\x8B\x08", make<Gzip>},
                                 {"zstd", "\x28\xB5\x2F\xFD", make<Zstd>},
                                 {"xz", "\xFD\x37zXZ\0"sv, make<Xz>},
                                 {"bzip2", "BZh", make<Bzip2>}};

/// The first block of bzip2, or its end: text may begin with BZh.
bool is_bzip2(std::string_view start) {
  return start.size() >= Unpacker::kMagic && start[3] >= '1' && start[3] <= '9' &&
         (start.substr(4, 2) == "1A" || start.substr(4, 2) == "\x17\x72");
}

class Parts : public Unpacker {
 public:
  explicit Parts(const Packing& packing) : packing_(packing), codec_(packing.make()) {
    codec_->begin();
  }

  size_t run(std::string_view& in, std::span<char> out, bool end) override {
    for (;;) {
      if (between_ && !next_part(in, end)) return 0;
      const Step step = codec_->step(in, out);
      in.remove_prefix(step.taken);
      if (step.fault) fail(step.fault);
      between_ = step.ended;
      if (step.given > 0) return step.given;
      if (step.ended || step.taken > 0) continue;
      if (end && in.empty()) fail("it ends in the middle");
      return 0;
    }
  }

 private:
  /// Whether one more part begins. Zeros between parts, and behind the last, are none.
  bool next_part(std::string_view& in, bool end) {
    in.remove_prefix(std::min(in.find_first_not_of('\0'), in.size()));
    const std::string_view magic = packing_.magic;
    const std::string_view found = in.substr(0, magic.size());
    if (!magic.starts_with(found) || (end && !in.empty() && found.size() < magic.size())) {
      fail("there are other bytes behind its end");
    }
    if (found.size() < magic.size()) return false;
    codec_->begin();
    between_ = false;
    return true;
  }
  [[noreturn]] void fail(const char* what) const {
    throw Error(Error::Kind::data, "",
                fmt::format("the {} data is damaged: {}", packing_.name, what));
  }

  const Packing& packing_;
  std::unique_ptr<Codec> codec_;
  bool between_ = false;  ///< behind a part
};

/// UTF-16 to UTF-8. The mark itself becomes that of UTF-8.
class Utf16 : public Unpacker {
 public:
  explicit Utf16(bool big) : big_(big) {}

  size_t run(std::string_view& in, std::span<char> out, bool end) override {
    size_t given = 0;
    while (out.size() - given >= kLongest) {
      if (in.size() < 2) break;
      uint32_t code = unit(in);
      size_t used = 2;
      if ((code & 0xFC00) == 0xD800) {
        if (in.size() < 4 && !end) break;
        const uint32_t low = in.size() < 4 ? 0 : unit(in.substr(2));
        if ((low & 0xFC00) == 0xDC00) {
          code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
          used = 4;
        }
      }
      in.remove_prefix(used);
      given += put(code, out.data() + given);
    }
    if (end && given == 0 && in.size() == 1) {
      throw Error(Error::Kind::data, "", "the text in UTF-16 ends in the middle of a character");
    }
    return given;
  }

 private:
  static constexpr size_t kLongest = 4;
  uint32_t unit(std::string_view bytes) const {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    return big_ ? byte(0) * 256u + byte(1) : byte(1) * 256u + byte(0);
  }
  static size_t put(uint32_t code, char* out) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) return out[0] = static_cast<char>(code), 1;
    if (code < 0x800) {
      out[0] = static_cast<char>(0xC0 | code >> 6), out[1] = tail(0);
      return 2;
    }
    if (code < 0x10000) {
      out[0] = static_cast<char>(0xE0 | code >> 12), out[1] = tail(6), out[2] = tail(0);
      return 3;
    }
    out[0] = static_cast<char>(0xF0 | code >> 18), out[1] = tail(12), out[2] = tail(6);
    out[3] = tail(0);
    return 4;
  }

  bool big_;
};

constexpr std::string_view kLittle = "\xFF\xFE", kBig = "\xFE\xFF";

}  // namespace

Unpacker::~Unpacker() = default;

std::unique_ptr<Unpacker> Unpacker::of(std::string_view start) {
  for (const Packing& packing : kPackings) {
    if (!start.starts_with(packing.magic)) continue;
    if (packing.name == "bzip2" && !is_bzip2(start)) continue;
    return std::make_unique<Parts>(packing);
  }
  const bool utf32 = start.size() >= 4 && start.substr(2, 2) == "\0\0"sv;
  if (start.starts_with(kLittle) && !utf32) return std::make_unique<Utf16>(false);
  if (start.starts_with(kBig)) return std::make_unique<Utf16>(true);
  return nullptr;
}

bool Unpacker::may_begin(std::string_view start) {
  const auto begins = [&](std::string_view magic) {
    return magic.starts_with(start) || start.starts_with(magic);
  };
  return std::any_of(std::begin(kPackings), std::end(kPackings),
                     [&](const Packing& packing) { return begins(packing.magic); }) ||
         begins(kLittle) || begins(kBig);
}

}  // namespace bert
