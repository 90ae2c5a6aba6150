#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// A value of a parsed JSON document (a wrapper around simdjson). A light view: cheap to copy,
/// valid as long as its document.
///
/// Every getter throws Error(data) that names the file, the key path, the value found and the type
/// wanted.
class BERT_API Json {
 public:
  enum class Type { null, boolean, integer, number, string, array, object };

  Type type() const;
  bool is_null() const { return type() == Type::null; }
  bool is_string() const { return type() == Type::string; }
  bool is_object() const { return type() == Type::object; }
  bool is_array() const { return type() == Type::array; }

  /// The member `key` of an object; nullopt if absent. A linear search.
  std::optional<Json> find(std::string_view key) const;
  /// As find, but throws if the key is absent.
  Json at(std::string_view key) const;

  std::string_view as_string() const;
  int64_t as_int() const;                  ///< an integer that fits int64
  std::optional<int64_t> try_int() const;  ///< nullopt if it is not an integer that fits int64
  double as_double() const;                ///< any number
  bool as_bool() const;
  size_t size() const;  ///< elements of an array or members of an object
  void for_each_element(const std::function<void(Json)>& f) const;
  /// Calls f(text, number) for the elements of an array while each is an array of a string and a
  /// number, as in vocabularies with scores. Returns the first that is none.
  std::optional<Json> for_each_scored(const std::function<void(std::string_view, double)>& f) const;
  void for_each_member(const std::function<void(std::string_view key, Json value)>& f) const;

  /// "FILE: key.path[3]" for messages.
  std::string where() const;
  /// The value in a few words, for messages: a number or string itself, "an object" ...
  std::string describe() const;

 private:
  friend class JsonDocument;
  friend struct JsonAccess;
  struct Document;
  Json() = default;

  const Document* document_ = nullptr;
  alignas(void*) std::array<std::byte, 2 * sizeof(void*)> element_{};  ///< simdjson's own view
};

/// A parsed JSON text. Strict: wants valid UTF-8, at most 64 levels, no key twice in an object,
/// nothing after the value. Integers that do not fit 64 bits are read as floating-point numbers.
///
/// Thread rule: const after parse.
class BERT_API JsonDocument {
 public:
  /// Messages name the file `name`. Throws Error(data) with the byte offset of a syntax error.
  static JsonDocument parse(std::string_view text, const std::string& name);
  /// The same, but a number that is too large for a double is no error and reads as 0: for a caller
  /// that takes the bytes of its numbers from the text.
  static JsonDocument parse_any_numbers(std::string_view text, const std::string& name);
  /// Reads a regular file of at most `max_bytes`. Objects of more than `most_keys` members are not
  /// checked for repeated keys; the caller does that.
  static JsonDocument open(const std::string& path, uint64_t max_bytes = 16u << 20,
                           size_t most_keys = SIZE_MAX);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();
  Json root() const;

 private:
  JsonDocument();
  static JsonDocument parse(std::string_view text, const std::string& name, bool padded,
                            size_t most_keys, bool any_numbers = false);
  std::unique_ptr<Json::Document> document_;
};

/// `text` as a JSON string literal with its quotes (RFC 8259); invalid UTF-8 becomes U+FFFD.
BERT_API void append_json_string(std::string& out, std::string_view text);

}  // namespace bert
