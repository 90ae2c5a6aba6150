#include "io/json.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/platform.h"
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

/// Only this struct converts between the bytes of a Json and simdjson's element.
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

/// The members of an object, or the elements of an array.
template <typename Container>
size_t count_of(Container container) {
  const size_t size = container.size();
  if (size < 0xFFFFFF) return size;  // simdjson's count stops there
  size_t count = 0;
  for (auto it = container.begin(); it != container.end(); ++it) ++count;
  return count;
}

/// Appends the path from `from` to `target`; false if `target` is not below `from`.
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

/// Finds repeated keys in objects of at most `most_keys` members.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(size_t most_keys) : most_keys_(most_keys) {}

  /// The first object in `value` with a repeated key, and that key.
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
    if (count_of(object) > most_keys_) return std::nullopt;
    keys_.clear();
    for (const auto [key, value] : object) keys_.push_back(key);
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    return twice == keys_.end() ? std::nullopt : std::optional(*twice);
  }

  size_t most_keys_;
  std::vector<std::string_view> keys_;
};

/// `padded`: SIMDJSON_PADDING readable bytes follow the text, so simdjson need not copy it.
simdjson::error_code parse_into(dom::document& document, std::string_view text, bool padded) {
  dom::parser parser;
  const size_t capacity = std::max<size_t>(text.size(), 32);
  if (const auto error = parser.allocate(capacity, kJsonDepth)) return error;
  // The tables of a large vocabulary's file have many pages, and touching each takes longer than
  // filling it.
  if (text.size() >= kHugePage) {
    if (const auto error = document.allocate(capacity)) return error;
    platform::prefer_huge_pages(parser.implementation->structural_indexes.get(), 4 * capacity);
    platform::prefer_huge_pages(document.tape.get(), 8 * capacity);
    platform::prefer_huge_pages(document.string_buf.get(), capacity);
  }
  return parser.parse_into_document(document, text.data(), text.size(), !padded).error();
}

/// Whether the last page of a mapped file has room behind the end for simdjson's padding.
bool mapped_with_padding(size_t size) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size % page != 0 && size % page <= page - simdjson::SIMDJSON_PADDING;
}

[[noreturn]] void throw_syntax_error(std::string_view text, const std::string& name,
                                     simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  refuse_other_kind(text, name, "JSON");
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
  const dom::element element = JsonAccess::element(*this);
  if (is_object()) return count_of(dom::object(element));
  if (!is_array()) throw_wants(*this, "an array");
  return count_of(dom::array(element));
}

void Json::for_each_element(const std::function<void(Json)>& f) const {
  if (!is_array()) throw_wants(*this, "an array");
  for (const dom::element element : dom::array(JsonAccess::element(*this))) {
    f(JsonAccess::json(document_, element));
  }
}

std::optional<Json> Json::for_each_scored(
    const std::function<void(std::string_view, double)>& f) const {
  if (!is_array()) throw_wants(*this, "an array");
  for (const dom::element element : dom::array(JsonAccess::element(*this))) {
    dom::array pair;
    std::string_view text;
    double number = 0;
    const bool is_pair = !element.get(pair) && pair.size() == 2;
    const auto first = is_pair ? pair.begin() : dom::array::iterator();
    if (!is_pair || (*first).get(text)) return JsonAccess::json(document_, element);
    auto second = first;
    if ((*++second).get(number)) return JsonAccess::json(document_, element);
    f(text, number);
  }
  return std::nullopt;
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
  return parse(text, name, false, SIZE_MAX);
}

JsonDocument JsonDocument::parse_any_numbers(std::string_view text, const std::string& name) {
  return parse(text, name, false, SIZE_MAX, true);
}

JsonDocument JsonDocument::parse(std::string_view text, const std::string& name, bool padded,
                                 size_t most_keys, bool any_numbers) {
  if (text.empty()) throw Error(Error::Kind::data, name, "empty file, wants JSON");
  JsonDocument result;
  result.document_->name = name;
  dom::document& parsed = result.document_->parsed;
  simdjson::error_code error = parse_into(parsed, text, padded);
  // simdjson refuses integers of more than 64 bits, but in many tokenizer_config.json
  // model_max_length is 10^30.
  if (error == simdjson::NUMBER_ERROR && !find_json_fault(text)) {
    const std::string widened = widen_json_integers(text);
    error = parse_into(parsed, widened, false);
    if (error == simdjson::NUMBER_ERROR && any_numbers) {
      error = parse_into(parsed, without_huge_numbers(widened), false);
    }
  }
  if (error) throw_syntax_error(text, name, error);
  if (const auto repeated = DuplicateKeys(most_keys).find(parsed.root())) {
    throw Error(Error::Kind::data,
                JsonAccess::json(result.document_.get(), repeated->first).where(),
                fmt::format("the key \"{}\" stands twice", printable(repeated->second)));
  }
  return result;
}

JsonDocument JsonDocument::open(const std::string& path, uint64_t max_bytes, size_t most_keys) {
  const MappedFile file = MappedFile::open(path, max_bytes);
  return parse(file.text(), path, mapped_with_padding(file.size()), most_keys);
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
