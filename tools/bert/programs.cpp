#include "bert/programs.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "base/platform.h"

namespace bert::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "bert-";
constexpr const char* kBuiltIn[] = {"help", "list", "models"};

/// Whether each character may stand in the list and in completions.
bool is_plain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+');
  });
}

bool is_program(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// Where a program is looked for that is not ours: beside the tools, then in $PATH.
std::vector<std::string> search_folders() {
  std::vector<std::string> folders = {own_folder()};
  const char* path = std::getenv("PATH");
  const std::string_view list = path ? path : "";
  for (size_t begin = 0; begin <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    folders.emplace_back(end > begin ? list.substr(begin, end - begin) : ".");
    begin = end + 1;
  }
  return folders;
}

const Tool* find_own(const std::string& name) {
  for (const Tool& tool : own_tools()) {
    if (name == tool.name || name == tool.program || without_prefix(name) == tool.name)
      return &tool;
  }
  return nullptr;
}

Program program_of(const Tool& tool) {
  return {tool.name, own_folder() + "/" + tool.program, tool.summary};
}

/// Adds the bert-NAME of a folder whose names are not in the list.
void add_others(const std::string& folder, std::vector<Program>& list) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename();
    const std::string name = without_prefix(file);
    const auto same = [&](const Program& program) { return program.name == name; };
    if (name.size() == file.size() || !is_plain(name) || is_built_in(name) || find_own(name) ||
        std::any_of(list.begin(), list.end(), same) || !is_program(entry->path())) {
      continue;
    }
    list.push_back({name, entry->path(), printable(entry->path().native(), 0)});
  }
}

}  // namespace

bool is_built_in(const std::string& name) {
  return std::find(std::begin(kBuiltIn), std::end(kBuiltIn), name) != std::end(kBuiltIn);
}

std::string without_prefix(std::string name) {
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  return name;
}

std::string own_folder() {
  std::error_code error;
  const fs::path file = fs::canonical(platform::program_path(), error);
  if (error) throw Error::from_errno("bert", "cannot find its own folder", error.value());
  return file.parent_path();
}

Program find_program(const std::string& name) {
  if (const Tool* tool = find_own(name)) return program_of(*tool);
  const std::string bare = without_prefix(name);
  if (!bare.empty() && bare.find('/') == std::string::npos) {
    for (const std::string& folder : search_folders()) {
      const std::string path = folder + "/" + std::string(kPrefix) + bare;
      if (is_program(path)) return {bare, path, path};
    }
  }
  throw_unknown("tool", name, names_behind_bert());
}

std::vector<Program> programs() {
  std::vector<Program> list;
  for (const Tool& tool : own_tools()) {
    if (Program program = program_of(tool); is_program(program.path)) list.push_back(program);
  }
  const auto by_name = [](const Program& a, const Program& b) { return a.name < b.name; };
  std::sort(list.begin(), list.end(), by_name);
  const auto own = static_cast<std::ptrdiff_t>(list.size());
  for (const std::string& folder : search_folders()) add_others(folder, list);
  std::sort(list.begin() + own, list.end(), by_name);
  return list;
}

std::vector<std::string> names_behind_bert() {
  std::vector<std::string> names(std::begin(kBuiltIn), std::end(kBuiltIn));
  for (const Program& program : programs()) names.push_back(program.name);
  return names;
}

void execute(const std::string& path, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(path.c_str(), words.data());
  throw Error::from_errno(path, "cannot run", errno);
}

void throw_unknown(const char* what, const std::string& wrong,
                   const std::vector<std::string>& names) {
  const std::string near = nearest_name(wrong, names);
  throw Error(Error::Kind::usage, "",
              std::string("unknown ") + what + " '" + printable(wrong) + "'" +
                  (near.empty() ? "" : "; did you mean '" + near + "'?") + " (see bert --help)");
}

}  // namespace bert::driver
