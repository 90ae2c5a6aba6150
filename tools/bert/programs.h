#pragma once

#include <span>
#include <string>
#include <vector>

namespace bert::driver {

/// A tool of bertutils.
struct Tool {
  const char* name;     ///< behind `bert`: classify, info
  const char* program;  ///< its file: classify, bert-info
  const char* summary;  ///< as the NAME of its man page says
};
/// Sorted by file. CMakeLists.txt makes the table from tools/ and man/.
std::span<const Tool> own_tools();

/// Whether `bert` itself does this: help, list, models.
bool is_built_in(const std::string& name);
/// tsv of bert-tsv.
std::string without_prefix(std::string name);

/// What `bert NAME` runs.
struct Program {
  std::string name;
  std::string path;
  std::string summary;  ///< one line about it; if it is not ours, its path
};

/// The folder of the running program, behind all symbolic links: the tools are in it too.
std::string own_folder();
/// A tool by its name or by that of its file, else bert-NAME beside the tools or in $PATH. Throws
/// Error(usage) if there is none.
Program find_program(const std::string& name);
/// The tools that are here, then every other bert-NAME in $PATH, both sorted.
std::vector<Program> programs();
/// help, list, models, and the names of all programs.
std::vector<std::string> names_behind_bert();
/// Becomes this program. Throws Error if that fails.
[[noreturn]] void execute(const std::string& path, const std::vector<std::string>& arguments);
/// Throws Error(usage) that says which of the names may be meant.
[[noreturn]] void throw_unknown(const char* what, const std::string& wrong,
                                const std::vector<std::string>& names);

}  // namespace bert::driver
