#include "checkpoint/zip.h"

#include <fmt/format.h>
#include <unzip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bert {
namespace {

constexpr size_t kEndRecord = 22;        // of the end of central directory, without comment
constexpr size_t kDirectoryRecord = 46;  // of one entry in it, without name
constexpr size_t kLocalHeader = 30;      // before an entry's data, without name
constexpr uint64_t kMaxEntries = 100'000;
constexpr size_t kMaxName = 4096;

/// What minizip reads through: the mapped file and a place in it.
struct MemoryStream {
  std::span<const std::byte> bytes;
  uint64_t at = 0;
};

voidpf open_stream(voidpf stream, const void*, int) { return stream; }
uLong read_stream(voidpf, voidpf opaque, void* buffer, uLong size) {
  auto& stream = *static_cast<MemoryStream*>(opaque);
  const uint64_t left = stream.bytes.size() - std::min<uint64_t>(stream.at, stream.bytes.size());
  const auto count = static_cast<size_t>(std::min<uint64_t>(size, left));
  if (count != 0) std::memcpy(buffer, stream.bytes.data() + stream.at, count);
  stream.at += count;
  return count;
}
ZPOS64_T tell_stream(voidpf, voidpf opaque) { return static_cast<MemoryStream*>(opaque)->at; }
long seek_stream(voidpf, voidpf opaque, ZPOS64_T offset, int origin) {
  auto& stream = *static_cast<MemoryStream*>(opaque);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? stream.at
                        : origin == ZLIB_FILEFUNC_SEEK_END ? stream.bytes.size()
                                                           : 0;
  uint64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target > stream.bytes.size()) return -1;
  stream.at = target;
  return 0;
}
int close_stream(voidpf, voidpf) { return 0; }
int no_stream_error(voidpf, voidpf) { return 0; }

/// minizip's handle and the stream it reads.
class Unzip {
 public:
  explicit Unzip(std::span<const std::byte> file) : stream_{file} {
    zlib_filefunc64_def functions{};
    functions.zopen64_file = open_stream;
    functions.zread_file = read_stream;
    functions.ztell64_file = tell_stream;
    functions.zseek64_file = seek_stream;
    functions.zclose_file = close_stream;
    functions.zerror_file = no_stream_error;
    functions.opaque = &stream_;
    handle_.reset(unzOpen2_64(&stream_, &functions));
  }
  explicit operator bool() const { return handle_ != nullptr; }
  operator unzFile() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(void* handle) const { unzClose(handle); }
  };
  MemoryStream stream_;
  std::unique_ptr<void, Close> handle_;
};

uint64_t little_endian(std::span<const std::byte> file, uint64_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(file[at + i]);
  return value;
}

std::string_view text(std::span<const std::byte> file, uint64_t at, size_t bytes) {
  return {reinterpret_cast<const char*>(file.data() + at), bytes};
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw Error(Error::Kind::data, path, fmt::format("broken zip archive: {}", what));
}
[[noreturn]] void refuse(const std::string& path, std::string_view entry, std::string_view what) {
  refuse(path, fmt::format("entry {}: {}", printable(entry), what));
}

/// The entry that `zip` stands at, its every claim held against the file.
ZipArchive::Entry read_entry(std::span<const std::byte> file, const std::string& path, unzFile zip,
                             std::string& name) {
  unz_file_info64 info;
  std::vector<char> buffer(kMaxName + 1);
  unz64_file_pos place;
  if (unzGetCurrentFileInfo64(zip, &info, buffer.data(), buffer.size(), nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      unzGetFilePos64(zip, &place) != UNZ_OK || info.size_filename > kMaxName) {
    refuse(path, "its directory cannot be read");
  }
  name.assign(buffer.data(), info.size_filename);
  if ((info.flag & 1) != 0) refuse(path, name, "is encrypted");
  if (info.compression_method != 0) refuse(path, name, "is compressed, wants it stored");
  if (info.compressed_size != info.uncompressed_size)
    refuse(path, name, "is stored with two sizes");
  const uint64_t record = place.pos_in_zip_directory;
  if (record > file.size() - kDirectoryRecord || text(file, record, 4) != "PK\x01\x02")
    refuse(path, name, "no directory record where it should be");
  const uint64_t local = little_endian(file, record + 42, 4);
  if (local > file.size() - kLocalHeader || text(file, local, 4) != "PK\x03\x04") {
    refuse(path, name, fmt::format("no entry at byte {}", local));
  }
  const uint64_t name_size = little_endian(file, local + 26, 2);
  const uint64_t data = local + kLocalHeader + name_size + little_endian(file, local + 28, 2);
  if (data > file.size() || info.uncompressed_size > file.size() - data) {
    refuse(path, name,
           fmt::format("{} bytes at {} do not fit the file of {}", info.uncompressed_size, data,
                       file.size()));
  }
  if (text(file, local + kLocalHeader, name_size) != name) {
    refuse(path, name, "has another name in its own header");
  }
  return {file.subspan(data, info.uncompressed_size), record, place.num_of_file};
}

/// Where the directory's records end, which is where the last one leads.
uint64_t end_of_record(std::span<const std::byte> file, uint64_t record) {
  return record + kDirectoryRecord + little_endian(file, record + 28, 2) +
         little_endian(file, record + 30, 2) + little_endian(file, record + 32, 2);
}

}  // namespace

ZipArchive ZipArchive::open(std::span<const std::byte> file, const std::string& path) {
  if (file.size() < kEndRecord + kDirectoryRecord + kLocalHeader) refuse(path, "too short");
  const uint64_t end_record = file.size() - kEndRecord;
  if (text(file, end_record, 4) != std::string_view("PK\x05\x06") ||
      little_endian(file, end_record + 20, 2) != 0) {
    refuse(path, "its directory does not end with the file (cut, or bytes behind it)");
  }
  const Unzip zip(file);
  unz_global_info64 info;
  if (!zip || unzGetGlobalInfo64(zip, &info) != UNZ_OK) refuse(path, "no directory");
  if (info.number_entry == 0 || info.number_entry > kMaxEntries) {
    refuse(path, fmt::format("{} entries, wants 1 to {}", info.number_entry, kMaxEntries));
  }
  ZipArchive archive(file, path);
  uint64_t directory_end = 0;
  int status = unzGoToFirstFile(zip);
  for (uint64_t i = 0; i < info.number_entry; ++i, status = unzGoToNextFile(zip)) {
    if (status != UNZ_OK) refuse(path, fmt::format("its directory ends after {} entries", i));
    std::string name;
    const Entry entry = read_entry(file, path, zip, name);
    directory_end = end_of_record(file, entry.directory_offset);
    if (!archive.entries_.emplace(name, entry).second) refuse(path, name, "stands twice");
  }
  const uint64_t after = std::min<uint64_t>(directory_end, end_record);
  if (directory_end > end_record || text(file, after, 4) == std::string_view("PK\x01\x02")) {
    refuse(path, "its directory has another number of entries than it says");
  }
  return archive;
}

const ZipArchive::Entry* ZipArchive::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

void ZipArchive::check(const std::string& name) const {
  const Entry* entry = find(name);
  if (entry == nullptr) refuse(path_, name, "is missing");
  const Unzip zip(file_);
  const unz64_file_pos place{entry->directory_offset, entry->number};
  if (!zip || unzGoToFilePos64(zip, &place) != UNZ_OK || unzOpenCurrentFile(zip) != UNZ_OK ||
      unzGetCurrentFileZStreamPos64(zip) !=
          static_cast<uint64_t>(entry->data.data() - file_.data())) {
    refuse(path_, name, "its own header does not agree with the directory");
  }
  std::vector<char> buffer(1u << 18);  // minizip sums up what it reads
  int count = 0;
  do {
    count = unzReadCurrentFile(zip, buffer.data(), static_cast<unsigned>(buffer.size()));
  } while (count > 0);
  if (unzCloseCurrentFile(zip) != UNZ_OK || count < 0) {
    refuse(path_, name, "its content does not have its CRC-32");
  }
}

}  // namespace bert
