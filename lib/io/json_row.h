#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Writes JSON without blanks at the end of a string, and sets the commas:
///
///   JsonRow(out).object().count("record", 1).text("label", "good").end_object();
///   {"record":1,"label":"good"}
///
/// Names are letters; an empty one makes an element of a list. It keeps no state: it may be made
/// anew for the same string at any time.
class BERT_API JsonRow {
 public:
  explicit JsonRow(std::string& out) : out_(out) {}

  JsonRow& object(std::string_view name = "") { return key(name, '{'); }
  JsonRow& end_object() { return add('}'); }
  JsonRow& list(std::string_view name = "") { return key(name, '['); }
  JsonRow& end_list() { return add(']'); }

  /// A name that is data, and may hold anything; its value follows as an element.
  JsonRow& entry(std::string_view name);
  JsonRow& text(std::string_view name, std::string_view value);
  /// Six significant digits; null if it is not finite.
  JsonRow& number(std::string_view name, double value) { return digits(name, value, 6); }
  JsonRow& digits(std::string_view name, double value, int significant);
  /// The shortest form that is read back as the same float; null if it is not finite.
  JsonRow& exact(std::string_view name, float value);
  JsonRow& exact(std::string_view name, std::span<const float> values);
  JsonRow& count(std::string_view name, std::integral auto value) {
    return raw(name, std::to_string(value));
  }
  JsonRow& flag(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  JsonRow& null(std::string_view name) { return raw(name, "null"); }
  /// `value` is JSON.
  JsonRow& raw(std::string_view name, std::string_view value);

 private:
  JsonRow& add(char c) {
    out_ += c;
    return *this;
  }
  JsonRow& key(std::string_view name);
  JsonRow& key(std::string_view name, char bracket) { return key(name).add(bracket); }

  std::string& out_;
};

}  // namespace bert
