#include "io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/json.h"

namespace bert {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;    // the reference's limit
constexpr uint64_t kMaxHeaderText = 16u << 20;  // our limit: over 100,000 tensors

/// Bits of one element; 0 for an unknown dtype.
uint64_t bits_of(std::string_view dtype) {
  constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
      {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"F64", 64},    {"I64", 64},
      {"I32", 32},    {"I16", 16},    {"I8", 8},      {"U8", 8},      {"BOOL", 8},
      {"U16", 16},    {"U32", 32},    {"U64", 64},    {"C64", 64},    {"F4", 4},
      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}};
  for (const auto& [name, bits] : kTypes) {
    if (name == dtype) return bits;
  }
  return 0;
}

/// A tensor as the header describes it. Offsets count from the start of the data.
struct HeaderEntry {
  SafetensorsEntry tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, const std::string& path)
      : file_(file), path_(path) {}

  std::vector<SafetensorsEntry> read() {
    const std::string_view header = header_text();
    data_ = file_.subspan(8 + header_bytes_);
    {
      const JsonDocument json = JsonDocument::parse(header, path_ + ": header");
      json.root().for_each_member([&](std::string_view name, Json value) { add(name, value); });
    }
    check_layout();
    std::vector<SafetensorsEntry> tensors;
    tensors.reserve(entries_.size());
    for (HeaderEntry& entry : entries_) {
      entry.tensor.bytes = data_.subspan(entry.begin, entry.end - entry.begin);
      tensors.push_back(std::move(entry.tensor));
    }
    return tensors;
  }

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Error::Kind::data, path_, what);
  }
  [[noreturn]] void refuse(std::string_view tensor, const std::string& what) const {
    refuse(fmt::format("tensor {}: {}", printable(tensor), what));
  }

  /// The JSON of the header. The 8 bytes before it are its length.
  std::string_view header_text() {
    const std::string_view text(reinterpret_cast<const char*>(file_.data()), file_.size());
    if (file_.size() < 8) refuse(fmt::format("{} bytes, too short for safetensors", file_.size()));
    header_bytes_ = 0;
    for (int i = 7; i >= 0; --i) {  // little endian on every machine
      header_bytes_ = header_bytes_ << 8 | std::to_integer<uint64_t>(file_[static_cast<size_t>(i)]);
    }
    if (header_bytes_ > kMaxHeader || header_bytes_ > file_.size() - 8 || header_bytes_ < 2) {
      if (const auto kind = file_kind(text.substr(0, 512)); !kind.empty()) {
        refuse(fmt::format("this is {}, not weights in safetensors form", kind));
      }
      refuse(
          fmt::format("header length {} in a file of {} bytes, wants 2 to {} and to fit the file",
                      header_bytes_, file_.size(), kMaxHeader));
    }
    std::string_view header = text.substr(8, header_bytes_);
    header = header.substr(0, header.find_last_not_of(" \t\r\n") + 1);
    if (header.size() > kMaxHeaderText) {
      refuse(fmt::format("a header of {} bytes, wants at most {}", header.size(), kMaxHeaderText));
    }
    return header;
  }

  void add(std::string_view name, Json value) {
    if (name == "__metadata__") {
      value.for_each_member(
          [&](std::string_view key, Json text) { metadata_.emplace(key, text.as_string()); });
      return;
    }
    HeaderEntry entry;
    entry.tensor.name = name;
    entry.tensor.dtype = value.at("dtype").as_string();
    read_shape(name, value.at("shape"), entry.tensor.shape);
    read_offsets(name, value.at("data_offsets"), entry);
    value.for_each_member([&](std::string_view key, Json) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        refuse(name, fmt::format("unknown key \"{}\"", printable(key)));
      }
    });
    check_size(entry);
    entries_.push_back(std::move(entry));
  }

  uint64_t natural(std::string_view name, std::string_view key, Json value) const {
    if (value.type() == Json::Type::integer) {
      if (const auto number = value.try_int(); number && *number >= 0) {
        return static_cast<uint64_t>(*number);
      }
    }
    refuse(name,
           fmt::format("{} has {}, wants whole numbers from 0 to 2^63", key, value.describe()));
  }

  void read_shape(std::string_view name, Json json, std::vector<size_t>& shape) const {
    const size_t rank = json.size();
    if (rank > kMaxTensorRank) {
      refuse(name, fmt::format("{} dimensions, wants at most {}", rank, kMaxTensorRank));
    }
    shape.reserve(rank);
    json.for_each_element([&](Json value) { shape.push_back(natural(name, "shape", value)); });
  }

  void read_offsets(std::string_view name, Json json, HeaderEntry& entry) const {
    std::array<uint64_t, 2> offsets{};
    size_t count = 0;
    json.for_each_element([&](Json value) {
      const uint64_t offset = natural(name, "data_offsets", value);
      if (count < 2) offsets[count] = offset;
      ++count;
    });
    if (count != 2) refuse(name, fmt::format("data_offsets has {} numbers, wants 2", count));
    entry.begin = offsets[0];
    entry.end = offsets[1];
  }

  void check_size(const HeaderEntry& entry) const {
    const auto& [tensor, begin, end] = entry;
    const uint64_t bits = bits_of(tensor.dtype);
    if (bits == 0) {
      refuse(tensor.name, fmt::format("unknown dtype \"{}\"", printable(tensor.dtype)));
    }
    uint64_t wanted = 0;
    if (!checked_elements(tensor.shape, wanted) || __builtin_mul_overflow(wanted, bits, &wanted)) {
      refuse(tensor.name, fmt::format("shape {} is too large", shape_text(tensor.shape)));
    }
    if (begin > end || end > data_.size()) {
      refuse(tensor.name, fmt::format("data_offsets [{}, {}] do not lie in the {} bytes of data",
                                      begin, end, data_.size()));
    }
    if (wanted % 8 != 0 || wanted / 8 != end - begin) {
      refuse(tensor.name,
             fmt::format("{} {} is {} bytes, but data_offsets [{}, {}] hold {}", tensor.dtype,
                         shape_text(tensor.shape), wanted / 8, begin, end, end - begin));
    }
  }

  /// Checks that the data has no hole, no overlap and nothing behind the last tensor.
  void check_layout() {
    std::sort(entries_.begin(), entries_.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t end = 0;
    for (const HeaderEntry& entry : entries_) {
      if (entry.begin != end) {
        refuse(entry.tensor.name,
               fmt::format("its data starts at byte {}, wants {} ({})", entry.begin, end,
                           entry.begin < end ? "overlap" : "hole"));
      }
      end = entry.end;
    }
    if (end != data_.size()) {
      refuse(fmt::format("the tensors end at byte {} of {} bytes of data", end, data_.size()));
    }
  }

  std::span<const std::byte> file_;
  const std::string& path_;
  uint64_t header_bytes_ = 0;
  std::span<const std::byte> data_;
  std::vector<HeaderEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace

std::vector<SafetensorsEntry> read_safetensors(std::span<const std::byte> file,
                                               const std::string& path,
                                               std::map<std::string, std::string>* metadata) {
  HeaderReader reader(file, path);
  std::vector<SafetensorsEntry> tensors = reader.read();
  if (metadata) *metadata = reader.metadata();
  return tensors;
}

bool checked_elements(std::span<const size_t> shape, uint64_t& elements) {
  elements = 1;
  bool fits = true;
  for (const size_t size : shape) fits &= !__builtin_mul_overflow(elements, size, &elements);
  return fits;
}

std::string shape_text(std::span<const size_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace bert
