#include "common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/parse.h"

namespace bert::tools {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

TerminalColors terminal_colors() {
  if (!isatty(STDOUT_FILENO) || !variable("NO_COLOR").empty()) return TerminalColors::ascii;
  const std::string term = variable("TERM"), color = variable("COLORTERM");
  if (term.empty() || term == "dumb") return TerminalColors::ascii;
  if (color == "truecolor" || color == "24bit" || term.ends_with("-direct")) {
    return TerminalColors::full;
  }
  return term.find("256color") != term.npos ? TerminalColors::palette : TerminalColors::ascii;
}

size_t terminal_width(int fd) {
  struct winsize size {};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const size_t columns = to_number<size_t>(variable("COLUMNS")).value_or(0);
  return columns > 0 ? columns : 80;
}

}  // namespace bert::tools
