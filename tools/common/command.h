#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace bert::tools {

/// What the value of an option is: how it is read, what --help calls it, what completions offer.
struct Value {
  enum class Kind { flag, whole, real, text, column, directory, model, choice };
  Kind kind = Kind::flag;
  std::string name = {};  ///< in --help: "N", "DIR", "cut|window|error"
  /// The numbers that are allowed, in words ("1 to 1024"); empty: all, but whole ones from 0 up.
  std::string range = {};
  double least = 0, most = 0;  ///< the smallest and the largest of them
  std::string offers = {};     ///< words that completions offer, with a blank between two
};

Value whole(const std::string& name = "N");
Value whole(uint64_t least, uint64_t most, const std::string& name = "N");
/// A whole number from 1 up.
Value positive(const std::string& name = "N");
Value real(const std::string& name = "X");
Value real(double least, double most, const std::string& name = "X");
/// A number from 0 up.
Value non_negative(const std::string& name = "X");
Value text(const std::string& name);
/// The number or name of a field of the input, or several.
Value column();
Value directory();
/// A directory, or the name of an installed model.
Value model();

/// All that is known of an option. --help, the completions, --meta, the reading of its value and
/// the messages of the library are made from it.
struct Declaration {
  std::string names;    ///< "-k,--top-k"; a name without dashes takes what is no option
  std::string meaning;  ///< one line of --help
  Value value = {};
  bool changes_rows = true;   ///< else --meta leaves it out
  std::string field = {};     ///< what the library calls it; empty: its long name, with _ for -
  std::string shown = {};     ///< what errors of the library call it; empty: its long name
  bool may_be_empty = false;  ///< "" is a value; else it is refused
};

/// An option that was declared, for what few options say more.
class Declared {
 public:
  Declared(CLI::Option* option, Declaration& declaration)
      : option_(option), declaration_(declaration) {}
  operator CLI::Option*() const { return option_; }
  CLI::Option* operator->() const { return option_; }

  /// It changes no row, or the line of --meta says more than its value.
  Declared same_rows() const { return declaration_.changes_rows = false, *this; }
  Declared of(const char* field) const { return declaration_.field = field, *this; }
  Declared shown_as(const char* name) const { return declaration_.shown = name, *this; }
  /// The value may be "".
  Declared may_be_empty() const { return declaration_.may_be_empty = true, *this; }

 private:
  CLI::Option* option_;
  Declaration& declaration_;
};

/// The command line of a tool: CLI11's, of options that are declared once.
class Command : public CLI::App {
 public:
  using CLI::App::App;
  static constexpr const char* kOwnOptions = "Options";

  /// Declares an option whose value is stored in `variable`: a bool (a flag), a number, a string,
  /// an optional of these, several strings. `group`: a group of this command, or itself.
  template <typename T>
  Declared add(const Declaration& declaration, T& variable, CLI::App* group = nullptr);
  /// Declares a flag that calls `action`.
  Declared add(const Declaration& declaration, std::function<void()> action);
  /// Declares an option whose value is one of a few names.
  /// `other`: takes values like `other_name`, of which it says whether they are good.
  template <typename Enum>
  Declared add(Declaration declaration, Enum& variable,
               const std::vector<std::pair<std::string, Enum>>& choices,
               const std::string& other_name = "",
               const std::function<bool(const std::string&)>& other = {});

  /// The heading of --help under which the options stand that are declared from now on; "Options"
  /// are the tool's own, and stand first.
  void heading(const char* name) { heading_ = name; }

  /// nullptr for --help and --version, which CLI11 adds.
  const Declaration* declaration(const CLI::Option* option) const;
  /// `text` with the name of each option for that of its field: "`learning_rate`" becomes "--lr".
  std::string with_option_names(std::string text) const;

 private:
  bool is_option(const std::string& text) const;
  Declared declared(CLI::Option* option, const Declaration& declaration);
  std::map<const CLI::Option*, Declaration> declarations_;
  std::string heading_ = kOwnOptions;
};

/// The number that `text` is. Throws Error or CLI::ParseError of kind usage that say what is
/// wanted.
uint64_t read_whole(const Declaration& declaration, const std::string& text, uint64_t most);
double read_real(const Declaration& declaration, const std::string& text);
/// Refuses options that would change nothing: throws Error(usage) for the first of `options` that
/// is given. `why`: "wants --joint".
void refuse_given(const CLI::App& app, std::initializer_list<const char*> options,
                  const std::string& why);
/// The names that `text` has between commas. Throws Error(usage) unless they differ and none is
/// empty.
std::vector<std::string> read_names(const char* option, const std::string& text);
/// "--top-k" of "-k,--top-k"
std::string long_name(const Declaration& declaration);

template <typename T>
struct OptionalOf {
  using Type = T;
};
template <typename T>
struct OptionalOf<std::optional<T>> {
  using Type = T;
};

template <typename T>
Declared Command::add(const Declaration& declaration, T& variable, CLI::App* group) {
  using Number = typename OptionalOf<T>::Type;
  CLI::App& app = group ? *group : *this;
  const std::string& names = declaration.names;
  const std::string& meaning = declaration.meaning;
  if constexpr (std::is_same_v<T, bool>) {
    return declared(app.add_flag(names, variable, meaning), declaration);
  } else if constexpr (std::is_arithmetic_v<Number>) {
    const auto read = [&variable, declaration](const std::string& text) {
      if constexpr (std::is_integral_v<Number>) {
        const uint64_t most = std::numeric_limits<Number>::max();
        variable = static_cast<Number>(read_whole(declaration, text, most));
      } else {
        variable = static_cast<Number>(read_real(declaration, text));
      }
    };
    return declared(app.add_option_function<std::string>(names, read, meaning), declaration);
  } else {
    return declared(app.add_option(names, variable, meaning), declaration);
  }
}

template <typename Enum>
Declared Command::add(Declaration declaration, Enum& variable,
                      const std::vector<std::pair<std::string, Enum>>& choices,
                      const std::string& other_name,
                      const std::function<bool(const std::string&)>& other) {
  std::string list;
  for (const auto& choice : choices) list += (list.empty() ? "" : "|") + choice.first;
  if (other) list += "|" + other_name;
  declaration.value = {Value::Kind::choice, list};
  const std::string name = declaration.names;
  const auto choose = [&variable, choices, list, name, other](const std::string& found) {
    for (const auto& [text, choice] : choices) {
      if (text == found) {
        variable = choice;
        return;
      }
    }
    if (other && other(found)) return;
    throw CLI::ValidationError(name, "found '" + printable(found) + "', wants " + list);
  };
  return declared(add_option_function<std::string>(name, choose, declaration.meaning), declaration);
}

}  // namespace bert::tools
