#include "io/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "io/text_encoding.h"

namespace bert {
namespace {

using namespace std::string_view_literals;
using Class = FileKind::Class;

bool is_markup(std::string_view start) {
  std::string text(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size()), 16));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* tag : {"<!doctype", "<html", "<head", "<?xml", "<error"}) {
    if (text.starts_with(tag)) return true;
  }
  return false;
}

/// A length of 8 bytes, then a JSON object.
bool is_safetensors(std::string_view start) {
  return start.size() > 9 && start.substr(4, 6) == "\0\0\0\0{\""sv;
}

/// Protocols 2 to 5.
bool is_pickle(std::string_view start) {
  return start.size() > 2 && start[1] >= 2 && start[1] <= 5 && start[2] != 0;
}

/// A control byte behind a magic of letters, which could also begin a text.
bool is_binary_5th(std::string_view start) {
  return start.size() > 4 && static_cast<unsigned char>(start[4]) < 0x20 &&
         "\t\n\r"sv.find(start[4]) == std::string_view::npos;
}

/// The letters of the magic alone could stand in a text.
bool has_nul(std::string_view start) {
  return start.substr(0, 257).find('\0') != std::string_view::npos;
}

bool is_bzip2(std::string_view start) {
  return start.size() > 9 && start[3] >= '1' && start[3] <= '9' &&
         (start.substr(4, 6) == "1AY&SY" || start.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

/// A kind that the tools read one day moves from here to their readers. Rows that are more special
/// stand first.
constexpr FileKind kKinds[] = {
    {"a git-lfs pointer, not the file itself", "git lfs pull fetches the file", 0,
     "version https://git-lfs"},
    {"an HTML or XML page", "", 0, "", is_markup, Class::markup},
    {"UTF-32", "iconv -f UTF-32 -t UTF-8 FILE converts it", 0, "\xFF\xFE\0\0"sv, nullptr,
     Class::encoding},
    {"UTF-32", "iconv -f UTF-32 -t UTF-8 FILE converts it", 0, "\0\0\xFE\xFF"sv, nullptr,
     Class::encoding},
    {"UTF-16", "iconv -f UTF-16 -t UTF-8 FILE converts it", 0, "\xFF\xFE", nullptr,
     Class::encoding},
    {"UTF-16", "iconv -f UTF-16 -t UTF-8 FILE converts it", 0, "\xFE\xFF", nullptr,
     Class::encoding},
    {"a zip archive", "unzip -p FILE unpacks it", 0, "PK\x03\x04"},
    {"a gzip file", "zcat FILE unpacks it", 0, "\x1F\x8B"},
    {"a zstd file", "zstd -dc FILE unpacks it", 0, "\x28\xB5\x2F\xFD"},
    {"an xz file", "xz -dc FILE unpacks it", 0, "\xFD\x37zXZ\0"sv},
    {"a bzip2 file", "bzcat FILE unpacks it", 0, "BZh", is_bzip2},
    {"an lz4 file", "lz4 -dc FILE unpacks it", 0, "\x04\x22\x4D\x18"},
    {"a 7z archive", "7z x -so FILE unpacks it", 0, "7z\xBC\xAF\x27\x1C"},
    {"a tar archive", "tar -xOf FILE unpacks it", 257, "ustar", has_nul},
    {"an HDF5 file (tf_model.h5)", "", 0, "\x89HDF\r\n"},
    {"a GGUF file", "", 0, "GGUF", is_binary_5th},
    {"a pickle", "", 0, "\x80", is_pickle},
    {"a safetensors file", "", 0, "", is_safetensors, Class::tensors},
    {"an npy file", "", 0, "\x93NUMPY"},
    {"a Parquet file", "DuckDB makes JSON lines of it", 0, "PAR1", is_binary_5th},
    {"an Arrow file", "DuckDB makes JSON lines of it", 0, "ARROW1\0\0"sv},
    {"an SQLite database", "sqlite3 writes its rows", 0, "SQLite format 3\0"sv},
    {"a PDF", "pdftotext FILE - writes its text", 0, "%PDF-"},
    {"a picture (PNG)", "", 0, "\x89PNG\r\n"},
    {"a picture (GIF)", "", 0, "GIF8", has_nul},
    {"a picture (JPEG)", "", 0, "\xFF\xD8\xFF"},
    {"a program (ELF)", "", 0,
     "\x7F"
     "ELF"},
    {"UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE converts it", 0, "", is_utf16_le, Class::unmarked},
    {"UTF-16", "iconv -f UTF-16BE -t UTF-8 FILE converts it", 0, "", is_utf16_be, Class::unmarked},
    {"UTF-32", "iconv -f UTF-32LE -t UTF-8 FILE converts it", 0, "", is_utf32_le, Class::unmarked},
    {"UTF-32", "iconv -f UTF-32BE -t UTF-8 FILE converts it", 0, "", is_utf32_be, Class::unmarked},
};

bool is_kind(const FileKind& kind, std::string_view start) {
  return start.substr(std::min(kind.offset, start.size())).starts_with(kind.magic) &&
         (!kind.holds || kind.holds(start));
}

template <typename Wanted>
const FileKind* find_kind(std::string_view start, Wanted wanted) {
  for (const FileKind& kind : kKinds) {
    if (wanted(kind.kind_class) && is_kind(kind, start)) return &kind;
  }
  return nullptr;
}

}  // namespace

std::string_view file_kind(std::string_view start) {
  const FileKind* const kind =
      find_kind(start, [](Class c) { return c == Class::binary || c == Class::markup; });
  return kind ? kind->name : "";
}

const FileKind* foreign_kind(std::string_view start, bool nuls) {
  return find_kind(
      start, [nuls](Class c) { return c != Class::markup && !(nuls && c == Class::unmarked); });
}

void refuse_other_kind(std::string_view start, const std::string& path, std::string_view wanted) {
  const FileKind* const kind = find_kind(start, [](Class) { return true; });
  if (!kind) return;
  throw Error(Error::Kind::data, path,
              fmt::format("this is {}, not {}{}{}", kind->name, wanted,
                          kind->remedy.empty() ? "" : "; ", kind->remedy));
}

}  // namespace bert
