#include "common/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "directory/find_model.h"

namespace bert::tools {
namespace {

struct Flag {
  std::vector<std::string> spellings;  ///< "-k", "--top-k"
  std::string description;
  bool takes_value;
  std::string choices;  ///< "cut window error", or "" if any value is allowed
  bool directory;       ///< the value is a directory
  bool model;           ///< the value may also be the name of an installed model
};

Flag flag_of(const CLI::Option& option, const Declaration* declaration) {
  using Kind = Value::Kind;
  const Value value = declaration ? declaration->value : Value{};
  std::string choices = value.kind == Kind::choice ? value.name : value.offers;
  std::replace(choices.begin(), choices.end(), '|', ' ');
  const bool model = value.kind == Kind::model;
  Flag flag{{},
            option.get_description(),
            value.kind != Kind::flag,
            choices,
            model || value.kind == Kind::directory,
            model};
  for (const std::string& name : option.get_snames()) flag.spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.spellings.push_back("--" + name);
  return flag;
}

/// Those of `app`, which is the command or a group of it.
std::vector<Flag> flags_of(const Command& command, const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option->get_positional()) continue;
    flags.push_back(flag_of(*option, command.declaration(option)));
  }
  const auto every = [](const CLI::App*) { return true; };
  for (const CLI::App* group : app.get_subcommands(every)) {
    const std::vector<Flag> more = flags_of(command, *group);
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

std::string without(std::string text, std::string_view characters) {
  std::erase_if(text, [&](char c) { return characters.find(c) != std::string_view::npos; });
  return text;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

/// The installed models, one per line, without those whose names have characters special to a
/// shell.
std::string models() {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.@/";
  std::string names;
  for (const auto& [name, directory] : installed_models()) {
    if (!directory.empty() && name.find_first_not_of(kPlain) == std::string::npos &&
        name[0] != '-') {
      names += name + "\n";
    }
  }
  return names;
}

/// The shell command that lists the values of this option.
std::string bash_values(const Flag& flag) {
  if (!flag.directory) return "compgen -W '" + flag.choices + "' -- \"$cur\"";
  std::string command = "compgen -d -- \"$cur\"";
  if (flag.model) {
    // The single quotes keep the shell from expanding the names again.
    command += "; compgen -W '$(\"${COMP_WORDS[0]}\" --completion models 2>/dev/null)' -- \"$cur\"";
  }
  return command;
}

std::string bash(const std::vector<Flag>& flags, const std::string& tool) {
  std::string words, values;
  for (const Flag& flag : flags) {
    words += joined(flag.spellings, " ") + " ";
    if (!flag.directory && flag.choices.empty()) continue;
    values += fmt::format("    {}) COMPREPLY=($({})); return ;;\n", joined(flag.spellings, "|"),
                          bash_values(flag));
  }
  std::string name = tool;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format(
      "_{0}() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  case $prev in\n{3}  esac\n"
      "  case $cur in\n"
      "    -*) COMPREPLY=($(compgen -W '{2}' -- \"$cur\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _{0} {1}\n",
      name, tool, words, values);
}

std::string zsh_value(const Flag& flag) {
  if (!flag.takes_value) return "";
  if (flag.model) {
    return ":model:{_files -/; compadd -- ${(f)\"$($words[1] --completion models 2>/dev/null)\"}}";
  }
  if (flag.directory) return ":directory:_files -/";
  return flag.choices.empty() ? ":value:" : ":value:(" + flag.choices + ")";
}

std::string zsh(const std::vector<Flag>& flags, const std::string& tool) {
  std::string script = fmt::format("#compdef {}\n_arguments -s", tool);
  for (const Flag& flag : flags) {
    for (const std::string& spelling : flag.spellings) {
      script += fmt::format(" \\\n  '{}[{}]{}'", spelling, without(flag.description, "'[]:"),
                            zsh_value(flag));
    }
  }
  return script + " \\\n  '*:file:_files'\n";
}

std::string fish_value(const Flag& flag, const std::string& tool) {
  if (!flag.takes_value) return "";
  if (flag.model) {
    return fmt::format(
        " -x -a '(__fish_complete_directories (commandline -ct)) ({} --completion models)'", tool);
  }
  if (flag.directory) return " -x -a '(__fish_complete_directories (commandline -ct))'";
  return flag.choices.empty() ? " -r" : " -x -a '" + flag.choices + "'";
}

std::string fish(const std::vector<Flag>& flags, const std::string& tool) {
  std::string script;
  for (const Flag& flag : flags) {
    script += "complete -c " + tool;
    for (const std::string& spelling : flag.spellings) {
      script += spelling[1] == '-' ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
    }
    script += fmt::format("{} -d '{}'\n", fish_value(flag, tool), without(flag.description, "'\\"));
  }
  return script;
}

}  // namespace

std::string completion(const Command& app, const std::string& tool, const std::string& shell) {
  const std::vector<Flag> flags = flags_of(app, app);
  if (shell == "bash") return bash(flags, tool);
  if (shell == "zsh") return zsh(flags, tool);
  if (shell == "fish") return fish(flags, tool);
  if (shell == "models") return models();
  throw Error(Error::Kind::usage, "--completion",
              "found '" + printable(shell) + "', wants bash|zsh|fish");
}

}  // namespace bert::tools
