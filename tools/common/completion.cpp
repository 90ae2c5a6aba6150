#include "common/completion.h"

#include <fmt/format.h>

namespace bert::tools {
namespace {

struct Flag {
  std::vector<std::string> spellings;  ///< "-k", "--top-k"
  std::string description;
  bool takes_value;
};

std::vector<Flag> flags_of(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option->get_positional()) continue;
    Flag flag{{}, option->get_description(), option->get_expected_max() > 0};
    for (const std::string& name : option->get_snames()) flag.spellings.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.spellings.push_back("--" + name);
    flags.push_back(flag);
  }
  return flags;
}

std::string without(std::string text, std::string_view characters) {
  std::erase_if(text, [&](char c) { return characters.find(c) != std::string_view::npos; });
  return text;
}

std::string bash(const std::vector<Flag>& flags, const std::string& tool) {
  std::string words;
  for (const Flag& flag : flags) {
    for (const std::string& spelling : flag.spellings) words += spelling + " ";
  }
  std::string name = tool;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format(
      "_{0}() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  case $prev in -m|--model) COMPREPLY=($(compgen -d -- \"$cur\")); return ;; esac\n"
      "  case $cur in -*) COMPREPLY=($(compgen -W '{2}' -- \"$cur\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;; esac\n"
      "}}\n"
      "complete -o filenames -F _{0} {1}\n",
      name, tool, words);
}

std::string zsh(const std::vector<Flag>& flags, const std::string& tool) {
  std::string script = fmt::format("#compdef {}\n_arguments -s", tool);
  for (const Flag& flag : flags) {
    for (const std::string& spelling : flag.spellings) {
      script += fmt::format(" \\\n  '{}[{}]{}'", spelling, without(flag.description, "'[]:"),
                            flag.takes_value ? ":value:_files" : "");
    }
  }
  return script + " \\\n  '*:file:_files'\n";
}

std::string fish(const std::vector<Flag>& flags, const std::string& tool) {
  std::string script;
  for (const Flag& flag : flags) {
    script += "complete -c " + tool;
    for (const std::string& spelling : flag.spellings) {
      script += spelling[1] == '-' ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
    }
    script += fmt::format("{} -d '{}'\n", flag.takes_value ? " -r" : "",
                          without(flag.description, "'\\"));
  }
  return script;
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& tool, const std::string& shell) {
  const std::vector<Flag> flags = flags_of(app);
  if (shell == "bash") return bash(flags, tool);
  if (shell == "zsh") return zsh(flags, tool);
  return fish(flags, tool);
}

}  // namespace bert::tools
