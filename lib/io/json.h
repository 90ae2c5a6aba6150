#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

/// A parsed JSON document (simdjson behind one wrapper). Strict: valid UTF-8, depth <= 64, no duplicate
/// key in an object, no text after the value. `Json` is a light view that lives as long as its document.
///
/// Every getter throws Error(data) naming file, key path, what was found and what was wanted.
class BERT_API Json {
 public:
  enum class Type { null, boolean, integer, number, string, array, object };

  Type type() const;
  bool is_null() const { return type() == Type::null; }
  bool is_string() const { return type() == Type::string; }
  bool is_object() const { return type() == Type::object; }
  bool is_array() const { return type() == Type::array; }

  /// The member `key` of an object; nullopt if absent. Throws if this is no object.
  std::optional<Json> find(std::string_view key) const;
  /// As find, but the key must be there.
  Json at(std::string_view key) const;

  std::string_view as_string() const;
  int64_t as_int() const;       ///< integers only; out of range of int64 is an Error
  double as_double() const;
  bool as_bool() const;
  size_t size() const;          ///< elements of an array or members of an object
  void for_each_element(const std::function<void(Json)>& f) const;
  void for_each_member(const std::function<void(std::string_view key, Json value)>& f) const;

  /// "FILE: key.path" for messages.
  std::string where() const;

  struct Node;
  Json(const Node* node) : node_(node) {}

 private:
  const Node* node_;
};

/// Owns the text's parse. Throws Error(data) with the byte offset of a syntax error.
class BERT_API JsonDocument {
 public:
  /// `name` stands for the file in messages.
  static JsonDocument parse(std::string_view text, const std::string& name);
  /// Reads a regular file of at most `max_bytes`.
  static JsonDocument open(const std::string& path, uint64_t max_bytes = 16u << 20);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();
  Json root() const;

 private:
  JsonDocument();
  struct State;
  std::unique_ptr<State> state_;
};

/// `text` as a JSON string literal with its quotes (RFC 8259); invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace bert
