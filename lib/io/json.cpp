#include "io/json.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "io/file_kind.h"
#include "io/json_syntax.h"
#include "io/mapped_file.h"

namespace bert {

namespace dom = simdjson::dom;

struct Json::Document {
  std::string name;
  dom::document parsed;
};

/// The one place that knows what the bytes of a Json are.
struct JsonAccess {
  using Bytes = std::array<std::byte, 2 * sizeof(void*)>;
  static_assert(sizeof(dom::element) == sizeof(Bytes));

  static dom::element element(const Json& json) {
    return std::bit_cast<dom::element>(json.element_);
  }
  static Json json(const Json::Document* document, dom::element element) {
    Json result;
    result.document_ = document;
    result.element_ = std::bit_cast<Bytes>(element);
    return result;
  }
  static bool same(dom::element a, dom::element b) {
    return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
  }
};

namespace {

size_t members_of(dom::object object) {
  const size_t size = object.size();
  if (size < 0xFFFFFF) return size;  // as far as simdjson counts
  size_t count = 0;
  for (auto it = object.begin(); it != object.end(); ++it) ++count;
  return count;
}

/// Appends the path from `from` to `target`; false if it is not below.
bool append_path(dom::element from, dom::element target, std::string& path) {
  if (JsonAccess::same(from, target)) return true;
  const size_t length = path.size();
  if (from.is_object()) {
    for (const auto [key, value] : dom::object(from)) {
      path += fmt::format("{}{}", length == 0 ? "" : ".", printable(key));
      if (append_path(value, target, path)) return true;
      path.resize(length);
    }
  } else if (from.is_array()) {
    size_t i = 0;
    for (const dom::element value : dom::array(from)) {
      path += fmt::format("[{}]", i++);
      if (append_path(value, target, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

/// Finds keys that stand twice in one object. The tables are kept from object to object.
class DuplicateKeys {
 public:
  /// The object under `value` with a key twice, and that key.
  std::optional<std::pair<dom::element, std::string_view>> find(dom::element value) {
    if (value.is_array()) {
      for (const dom::element element : dom::array(value)) {
        if (auto found = find(element)) return found;
      }
    } else if (value.is_object()) {
      if (const auto key = repeated_key(dom::object(value))) return {{value, *key}};
      for (const auto [key, member] : dom::object(value)) {
        if (!member.is_object() && !member.is_array()) continue;
        if (auto found = find(member)) return found;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string_view> repeated_key(dom::object object) {
    const size_t size = object.size();
    return size <= kFew ? by_comparing(object) : by_hashing(object);
  }

  static std::optional<std::string_view> by_comparing(dom::object object) {
    std::array<std::string_view, kFew> keys;
    size_t count = 0;
    for (const auto [key, value] : object) {
      for (size_t i = 0; i < count; ++i) {
        if (keys[i] == key) return key;
      }
      keys[count++] = key;
    }
    return std::nullopt;
  }

  /// Open addressing. An entry is the upper half of a key's hash and where it stands, counted from
  /// the object's first key, + 1: simdjson keeps strings in order in one buffer, each with a NUL
  /// behind it. A vocabulary has 30,000 keys and fresh pages are what costs most, so nothing else
  /// is stored.
  std::optional<std::string_view> by_hashing(dom::object object) {
    const size_t count = members_of(object);
    const size_t mask = std::bit_ceil(2 * count) - 1;
    table_.assign(mask + 1, 0);
    const char* const first = object.begin().key().data();
    for (const auto [key, value] : object) {
      const uint64_t hashed = hash(key);
      size_t slot = hashed & mask;
      for (; table_[slot] != 0; slot = (slot + 1) & mask) {
        if ((table_[slot] ^ hashed) >> 32 != 0) continue;
        const char* other = first + static_cast<uint32_t>(table_[slot]) - 1;
        if (std::memcmp(other, key.data(), key.size() + 1) == 0 && is_key(object, other, key))
          return key;
      }
      table_[slot] = (hashed >> 32 << 32) | (static_cast<uint64_t>(key.data() - first) + 1);
    }
    return std::nullopt;
  }

  /// Whether the key at `data` is `key` and not just starts like it, up to a NUL of its own.
  static bool is_key(dom::object object, const char* data, std::string_view key) {
    for (const auto [candidate, value] : object) {
      if (candidate.data() == data) return candidate == key;
    }
    return false;
  }

  /// Keyed by an address the loader chose, so that a file cannot be made to collide.
  uint64_t hash(std::string_view key) const {
    const auto mix = [](uint64_t a, uint64_t b) {
      const auto product = static_cast<unsigned __int128>(a) * b;
      return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    const auto load = []<typename Word>(const char* at, Word word) {
      std::memcpy(&word, at, sizeof(word));
      return uint64_t{word};
    };
    uint64_t state = seed_ ^ key.size();
    const char* at = key.data();
    size_t left = key.size();
    for (; left > 8; left -= 8, at += 8) {
      state = mix(state ^ load(at, uint64_t{}), 0x9E3779B97F4A7C15u) + seed_;
    }
    uint64_t word = 0;  // the last 1 to 8 bytes; the two reads overlap
    if (left >= 4) {
      word = load(at, uint32_t{}) << 32 | load(at + left - 4, uint32_t{});
    } else if (left != 0) {
      word = load(at, uint8_t{}) << 16 | load(at + left / 2, uint8_t{}) << 8 |
             load(at + left - 1, uint8_t{});
    }
    state ^= word;
    return mix(state, 0xD1B54A32D192ED03u);
  }

  static constexpr size_t kFew = 8;
  uint64_t seed_ = reinterpret_cast<uintptr_t>(this) * 0xBF58476D1CE4E5B9u;
  std::vector<uint64_t> table_;
};

/// `padded`: SIMDJSON_PADDING readable bytes follow the text, so that it need not be copied.
simdjson::error_code parse_into(dom::document& document, std::string_view text, bool padded) {
  dom::parser parser;
  if (const auto error = parser.allocate(std::max<size_t>(text.size(), 32), kJsonDepth))
    return error;
  return parser.parse_into_document(document, text.data(), text.size(), !padded).error();
}

/// Whether the page that a mapped file ends in has room for the parser to read past the end.
bool mapped_with_padding(size_t size) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size % page != 0 && size % page <= page - simdjson::SIMDJSON_PADDING;
}

[[noreturn]] void throw_syntax_error(std::string_view text, const std::string& name,
                                     simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (const std::string_view kind = file_kind(text); !kind.empty()) {
    throw Error(Error::Kind::data, name, fmt::format("this is {}, not JSON", kind));
  }
  if (const auto fault = find_json_fault(text)) {
    throw Error(Error::Kind::data, name,
                fmt::format("broken JSON at byte {}: {}", fault->offset, fault->reason));
  }
  throw Error(Error::Kind::data, name, fmt::format("broken JSON: {}", error_message(error)));
}

}  // namespace

Json::Type Json::type() const {
  switch (JsonAccess::element(*this).type()) {
    case dom::element_type::ARRAY:
      return Type::array;
    case dom::element_type::OBJECT:
      return Type::object;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
      return Type::integer;
    case dom::element_type::DOUBLE:
      return Type::number;
    case dom::element_type::STRING:
      return Type::string;
    case dom::element_type::BOOL:
      return Type::boolean;
    case dom::element_type::NULL_VALUE:
      return Type::null;
  }
  return Type::null;
}

std::string Json::where() const {
  std::string path;
  append_path(document_->parsed.root(), JsonAccess::element(*this), path);
  return path.empty() ? document_->name : document_->name + ": " + path;
}

std::string Json::describe() const {
  const dom::element element = JsonAccess::element(*this);
  switch (type()) {
    case Type::null:
      return "null";
    case Type::boolean:
      return bool(element) ? "true" : "false";
    case Type::integer:
      return element.is_int64() ? fmt::format("{}", int64_t(element))
                                : fmt::format("{}", uint64_t(element));
    case Type::number:
      return fmt::format("{}", double(element));
    case Type::string:
      return fmt::format("\"{}\"", printable(std::string_view(element)));
    case Type::array:
      return "an array";
    case Type::object:
      return "an object";
  }
  return "";
}

namespace {

[[noreturn]] void throw_wants(const Json& json, std::string_view wanted) {
  throw Error(Error::Kind::data, json.where(),
              fmt::format("found {}, wants {}", json.describe(), wanted));
}

}  // namespace

std::optional<Json> Json::find(std::string_view key) const {
  if (!is_object()) throw_wants(*this, "an object");
  for (const auto [name, value] : dom::object(JsonAccess::element(*this))) {
    if (name == key) return JsonAccess::json(document_, value);
  }
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  throw Error(Error::Kind::data, where(), fmt::format("no key \"{}\"", printable(key)));
}

std::string_view Json::as_string() const {
  if (!is_string()) throw_wants(*this, "a string");
  return JsonAccess::element(*this);
}

int64_t Json::as_int() const {
  const auto value = try_int();
  if (!value) throw_wants(*this, "an integer");
  return *value;
}

std::optional<int64_t> Json::try_int() const {
  int64_t value = 0;
  if (JsonAccess::element(*this).get(value)) return std::nullopt;
  return value;
}

double Json::as_double() const {
  double value = 0;
  if (JsonAccess::element(*this).get(value)) throw_wants(*this, "a number");
  return value;
}

bool Json::as_bool() const {
  bool value = false;
  if (JsonAccess::element(*this).get(value)) throw_wants(*this, "true or false");
  return value;
}

size_t Json::size() const {
  if (is_object()) return members_of(dom::object(JsonAccess::element(*this)));
  size_t count = 0;
  for_each_element([&](Json) { ++count; });
  return count;
}

void Json::for_each_element(const std::function<void(Json)>& f) const {
  if (!is_array()) throw_wants(*this, "an array");
  for (const dom::element element : dom::array(JsonAccess::element(*this))) {
    f(JsonAccess::json(document_, element));
  }
}

void Json::for_each_member(const std::function<void(std::string_view, Json)>& f) const {
  if (!is_object()) throw_wants(*this, "an object");
  for (const auto [key, value] : dom::object(JsonAccess::element(*this))) {
    f(key, JsonAccess::json(document_, value));
  }
}

JsonDocument::JsonDocument() : document_(std::make_unique<Json::Document>()) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonDocument JsonDocument::parse(std::string_view text, const std::string& name) {
  return parse(text, name, false);
}

JsonDocument JsonDocument::parse(std::string_view text, const std::string& name, bool padded) {
  if (text.empty()) throw Error(Error::Kind::data, name, "empty file, wants JSON");
  JsonDocument result;
  result.document_->name = name;
  dom::document& parsed = result.document_->parsed;
  simdjson::error_code error = parse_into(parsed, text, padded);
  // simdjson refuses integers of more than 64 bits, but model_max_length is 10^30 in many real
  // files.
  if (error == simdjson::NUMBER_ERROR && !find_json_fault(text)) {
    error = parse_into(parsed, widen_json_integers(text), false);
  }
  if (error) throw_syntax_error(text, name, error);
  if (const auto repeated = DuplicateKeys().find(parsed.root())) {
    throw Error(Error::Kind::data,
                JsonAccess::json(result.document_.get(), repeated->first).where(),
                fmt::format("the key \"{}\" stands twice", printable(repeated->second)));
  }
  return result;
}

JsonDocument JsonDocument::open(const std::string& path, uint64_t max_bytes) {
  const MappedFile file = MappedFile::open(path, max_bytes);
  return parse(file.text(), path, mapped_with_padding(file.size()));
}

Json JsonDocument::root() const {
  return JsonAccess::json(document_.get(), document_->parsed.root());
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += {'\\', text[i++]};
    } else if (c < 0x20) {
      constexpr std::string_view kControls = "\b\f\n\r\t", kLetters = "bfnrt";
      const size_t known = kControls.find(text[i++]);
      out += known == std::string_view::npos ? fmt::format("\\u{:04x}", c)
                                             : std::string{'\\', kLetters[known]};
    } else if (c < 0x80) {
      out += text[i++];
    } else {
      const auto [length, valid] = utf8_step(text, i);
      out += valid ? text.substr(i, length) : "\xEF\xBF\xBD";
      i += length;
    }
  }
  out += '"';
}

}  // namespace bert
