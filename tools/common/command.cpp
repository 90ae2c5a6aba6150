#include "common/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace bert::tools {
namespace {

[[noreturn]] void refuse(const Declaration& declaration, const std::string& text,
                         std::string_view wanted) {
  throw Error(Error::Kind::usage, long_name(declaration),
              fmt::format("found '{}', wants {}", printable(text), wanted));
}
/// The same as an error of the parser, which points to --help.
[[noreturn]] void refuse_with_help(const Declaration& declaration, const std::string& text,
                                   std::string_view wanted) {
  throw CLI::ValidationError(long_name(declaration),
                             fmt::format("found '{}', wants {}", printable(text), wanted));
}

/// The whole of `text` as a number; nullopt if it is none.
std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return {};
  return number;
}

bool in_range(const Value& value, std::optional<double> number) {
  return number && *number >= value.least && *number <= value.most;
}

/// Refuses an empty value, which may come from an unset variable. Numbers and choices are refused
/// where they are read.
std::string refuse_empty(const Declaration& declaration, const std::string& text) {
  using Kind = Value::Kind;
  const Kind kind = declaration.value.kind;
  const bool words = kind == Kind::text || kind == Kind::column || kind == Kind::directory;
  if (!text.empty() || declaration.may_be_empty || !(words || kind == Kind::model)) return "";
  const std::string fault =
      words ? "is empty" : "found an empty name, wants a directory or a model's name";
  if (!declaration.shown.empty()) throw Error(Error::Kind::usage, declaration.shown, fault);
  return fault;  // the parser writes the long name before it
}

/// 010 is ten, also in the line of --meta.
std::string without_zeros(std::string text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (digits) text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
  return text;
}

Value number(Value::Kind kind, const std::string& name, const std::string& range, double least,
             double most) {
  return {kind, name, range, least, most};
}

}  // namespace

Value whole(const std::string& name) { return {Value::Kind::whole, name}; }
Value whole(uint64_t least, uint64_t most, const std::string& name) {
  return number(Value::Kind::whole, name, fmt::format("{} to {}", least, most),
                static_cast<double>(least), static_cast<double>(most));
}
Value positive(const std::string& name) {
  return number(Value::Kind::whole, name, "a number above 0", 1, HUGE_VAL);
}
Value real(const std::string& name) { return {Value::Kind::real, name}; }
Value real(double least, double most, const std::string& name) {
  return number(Value::Kind::real, name, fmt::format("{} to {}", least, most), least, most);
}
Value non_negative(const std::string& name) {
  return number(Value::Kind::real, name, "a number from 0 up", 0, HUGE_VAL);
}
Value text(const std::string& name) { return {Value::Kind::text, name}; }
Value column() { return {Value::Kind::column, "N"}; }
Value directory() { return {Value::Kind::directory, "DIR"}; }
Value model() { return {Value::Kind::model, "DIR"}; }

std::string long_name(const Declaration& declaration) {
  const std::string& names = declaration.names;
  const size_t begin = names.find("--");
  if (begin == std::string::npos) return names;
  return names.substr(begin, names.find(',', begin) - begin);
}

uint64_t read_whole(const Declaration& declaration, const std::string& text, uint64_t most) {
  const Value& value = declaration.value;
  const bool negative = text.starts_with('-');
  const char* const end = text.data() + text.size();
  uint64_t integer = 0;
  const auto [rest, error] = std::from_chars(text.data() + negative, end, integer);
  const bool is_whole = rest == end && error == std::errc();
  if (!value.range.empty()) {
    const bool bounded = std::isfinite(value.most);
    if (!in_range(value, number_of(text)) || (bounded && !is_whole)) {
      refuse_with_help(declaration, text, value.range);
    }
  }
  if (text.empty()) refuse(declaration, text, "a value");
  if (rest != end || error == std::errc::invalid_argument) {
    refuse_with_help(declaration, text, "a number");
  }
  if (error != std::errc() || integer > most) refuse(declaration, text, "a smaller number");
  if (negative) refuse(declaration, text, "a number from 0 up");
  return integer;
}

double read_real(const Declaration& declaration, const std::string& text) {
  const Value& value = declaration.value;
  const std::optional<double> number = number_of(text);
  if (number && !std::isfinite(*number)) refuse(declaration, text, "a number");
  if (!value.range.empty() && !in_range(value, number)) {
    refuse_with_help(declaration, text, value.range);
  }
  if (!number) refuse_with_help(declaration, text, "a number");
  return *number;
}

Declared Command::declared(CLI::Option* option, const Declaration& declaration) {
  using Kind = Value::Kind;
  const Kind kind = declaration.value.kind;
  if (!option->get_positional() && heading_ != kOwnOptions) option->group(heading_);
  if (kind != Kind::flag) option->type_name(declaration.value.name);
  if (kind == Kind::whole || kind == Kind::real || kind == Kind::column) {
    option->transform(without_zeros);
  }
  Declaration& kept = declarations_[option] = declaration;
  option->check([this, &kept](const std::string& text) {
    const std::string fault = refuse_empty(kept, text);
    return fault.empty() && is_option(text) ? "wants a value, found the option " + text : fault;
  });
  return {option, kept};
}

Declared Command::add(const Declaration& declaration, std::function<void()> action) {
  return declared(add_flag_callback(declaration.names, std::move(action), declaration.meaning),
                  declaration);
}

/// Whether a value is the name of one of the command's options: an unset variable stood before it.
bool Command::is_option(const std::string& text) const {
  return text.starts_with("--") &&
         std::any_of(declarations_.begin(), declarations_.end(),
                     [&](const auto& entry) { return long_name(entry.second) == text; });
}

const Declaration* Command::declaration(const CLI::Option* option) const {
  const auto found = declarations_.find(option);
  return found == declarations_.end() ? nullptr : &found->second;
}

std::string Command::with_option_names(std::string text) const {
  for (const auto& [option, declaration] : declarations_) {
    std::string field = declaration.field;
    const std::string name = long_name(declaration);
    if (field.empty()) {
      field = name.substr(std::min(name.find_first_not_of('-'), name.size()));
      std::replace(field.begin(), field.end(), '-', '_');
    }
    const std::string quoted = "`" + field + "`";
    const std::string& shown = declaration.shown.empty() ? name : declaration.shown;
    for (size_t at = 0; (at = text.find(quoted, at)) != std::string::npos; at += shown.size()) {
      text.replace(at, quoted.size(), shown);
    }
  }
  return text;
}

void refuse_given(const CLI::App& app, std::initializer_list<const char*> options,
                  const std::string& why) {
  for (const char* option : options) {
    if (app.get_option(option)->count() > 0) throw Error(Error::Kind::usage, option, why);
  }
}

std::vector<std::string> read_names(const char* option, const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, comma - begin);
    if (name.empty() || name.find_first_of("\t\n") != std::string::npos ||
        std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(Error::Kind::usage, option,
                  "found '" + printable(text) + "', wants different names separated by commas");
    }
    names.push_back(name);
    begin = comma + 1;
  }
  return names;
}

}  // namespace bert::tools
