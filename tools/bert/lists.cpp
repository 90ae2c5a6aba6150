#include "bert/lists.h"

#include <algorithm>

#include "bert/programs.h"

namespace bert::driver {
namespace {

constexpr const char* kUsage = R"(Run any tool of bertutils by one name.
Usage: bert TOOL [ARGUMENT]...
       bert help [TOOL]
       bert list
       bert models

Options:
  -h,--help [TOOL]            print this, or the page of a tool
  --version                   print name and version
  --exec-path [TOOL]          print the folder of the tools, or the file of a tool

Tools:
)";
constexpr const char* kExample = R"(
Example:
  echo 'Mozart was a famous [MASK].' | bert mlm-fill

More: man bert
)";

}  // namespace

std::string list(bool aligned) {
  std::string rows;
  const std::vector<Program> found = programs();
  size_t width = 0;
  for (const Program& program : found) width = std::max(width, program.name.size());
  for (const Program& program : found) {
    const std::string gap(width + 2 - program.name.size(), ' ');
    rows += program.name + (aligned ? gap : "\t") + program.summary + "\n";
  }
  return rows;
}

std::string usage() {
  std::string text = kUsage, rows = list(true);
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = rows.find('\n', begin) + 1;
    text += "  " + rows.substr(begin, end - begin);
  }
  return text + kExample;
}

}  // namespace bert::driver
