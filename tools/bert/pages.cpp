#include "bert/pages.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "bert/programs.h"

namespace bert::driver {
namespace {

namespace fs = std::filesystem;

/// A page of the installation that a program in `folder` belongs to; empty if there is none.
std::string find_page(const fs::path& folder, const std::string& name, char section) {
  const std::string file = std::string("man") + section + "/" + name + "." + section;
  for (const char* compressed : {"", ".gz"}) {
    const fs::path page = folder.parent_path() / "share/man" / (file + compressed);
    std::error_code error;
    if (fs::exists(page, error)) return page;
  }
  return "";
}

/// The page of a subject that is no tool: tsv and bert-tsv are bert-tsv(5).
std::string find_subject(const std::string& name) {
  if (name.find('/') != std::string::npos) return "";
  for (const char section : {'5', '7'}) {
    std::string page = find_page(own_folder(), "bert-" + without_prefix(name), section);
    if (!page.empty()) return page;
  }
  return "";
}

/// Without a locale, or with C, man drops each character that is not ASCII, also from commands:
/// gives it one that has them, if the system has it.
void let_man_show_all_characters() {
  const bool known = setlocale(LC_CTYPE, "") != nullptr;
  const std::string_view ascii = "ANSI_X3.4-1968";
  if (known && nl_langinfo(CODESET) != ascii) return;
  constexpr const char* kLocale = "C.UTF-8";
  if (setlocale(LC_CTYPE, kLocale) == nullptr) return;
  const char* all = getenv("LC_ALL");
  setenv(all && *all ? "LC_ALL" : "LC_CTYPE", kLocale, 1);
}

}  // namespace

void show_page(const std::string& name) {
  std::string page, program;
  const std::string self = own_folder() + "/bert";
  if (is_built_in(name) || self.ends_with("/" + name)) {
    program = self;
  } else if (page = find_subject(name); page.empty()) {
    program = find_program(name).path;
  }
  if (!program.empty()) {
    const fs::path path = program;
    page = find_page(path.parent_path(), path.filename(), '1');
  }
  try {
    if (!page.empty()) {
      let_man_show_all_characters();
      execute("man", {"-l", page});
    }
  } catch (const Error&) {
    if (program.empty()) throw;  // else there is its --help
  }
  execute(program, {"--help"});
}

}  // namespace bert::driver
