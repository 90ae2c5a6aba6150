#include "bert/completion.h"

#include <string_view>

#include "base/error.h"
#include "bert/programs.h"

namespace bert::driver {
namespace {

// Behind the name of a tool each script asks the tool itself. Only our own tools are known to take
// --completion.
constexpr std::string_view kBash = R"sh(_bert() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} program
  if ((COMP_CWORD == 1)); then
    case $cur in
      -*) COMPREPLY=($(compgen -W '-h --help --version --exec-path' -- "$cur")); return ;;
    esac
  fi
  if ((COMP_CWORD == 1)) || [[ $COMP_CWORD = 2 && $prev = @(help|-h|--help|--exec-path) ]]; then
    COMPREPLY=($(compgen -W '$("${COMP_WORDS[0]}" --completion names 2>/dev/null)' -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    @TOOLS@)
      program=$("${COMP_WORDS[0]}" --exec-path "${COMP_WORDS[1]}" 2>/dev/null) || return
      eval "$("$program" --completion bash 2>/dev/null)"
      COMP_WORDS=("$program" "${COMP_WORDS[@]:2}") COMP_CWORD=$((COMP_CWORD - 1))
      program=${program##*/}
      "_${program//-/_}" ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _bert bert
)sh";

constexpr std::string_view kZsh = R"sh(#compdef bert
local bert=$words[1] program state
local -a names
_arguments -A '-*' \
  '(- *)-h[print the tools and the options]' \
  '(- *)--help[print the tools and the options]' \
  '(- *)--version[print name and version]' \
  '--exec-path[print where the tools are]' \
  '1:tool:->tool' '*:: :->argument' && return
if [[ $state = tool || $words[1] = help ]]; then
  names=("${(@f)$($bert list 2>/dev/null)}")
  names=("${(@)names//$'\t'/:}" 'help:show the page of a tool' 'list:list the tools'
    'models:list the models')
  _describe tool names
elif [[ $state = argument ]]; then
  program=$($bert --exec-path $words[1] 2>/dev/null) && words[1]=$program
  _normal
fi
)sh";

constexpr std::string_view kFish = R"sh(function __bert_argument
  set -l words (commandline -opc)
  set -l program ($words[1] --exec-path $words[2] 2>/dev/null); or return
  set -l line (string join -- ' ' (string escape -- $program $words[3..-1]) (commandline -ct))
  complete -C "$line"
end
complete -c bert -f
complete -c bert -n __fish_use_subcommand -s h -l help -d 'print the tools and the options'
complete -c bert -n __fish_use_subcommand -l version -d 'print name and version'
complete -c bert -n __fish_use_subcommand -l exec-path -d 'print where the tools are'
complete -c bert -n __fish_use_subcommand -a '(bert list)'
complete -c bert -n __fish_use_subcommand -a help -d 'show the page of a tool'
complete -c bert -n __fish_use_subcommand -a list -d 'list the tools'
complete -c bert -n __fish_use_subcommand -a models -d 'list the models'
complete -c bert -n '__fish_seen_subcommand_from help' -a '(bert list)'
complete -c bert -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help' \
  -a '(__bert_argument)'
)sh";

std::string bash() {
  std::string tools;
  for (const Tool& tool : own_tools()) {
    for (const std::string& name : {std::string(tool.name), std::string(tool.program)}) {
      if (("|" + tools + "|").find("|" + name + "|") != std::string::npos) continue;
      tools += (tools.empty() ? "" : "|") + name;
    }
  }
  constexpr std::string_view kMark = "@TOOLS@";
  std::string script(kBash);
  return script.replace(script.find(kMark), kMark.size(), tools);
}

std::string names() {
  std::string lines;
  for (const std::string& name : names_behind_bert()) lines += name + "\n";
  return lines;
}

}  // namespace

std::string completion(const std::string& shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  if (shell == "names") return names();
  throw Error(Error::Kind::usage, "--completion",
              "found '" + printable(shell) + "', wants bash|zsh|fish");
}

}  // namespace bert::driver
