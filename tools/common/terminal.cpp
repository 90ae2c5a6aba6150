#include "common/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "common/run.h"
#include "text/shown_text.h"

namespace bert::tools {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// What a terminal answers when it is asked for the colour of its ground (OSC 11) and then for what
/// it is (DA1), which each terminal answers, so that nobody waits long.
std::string answer_of(int terminal) {
  struct termios before {};
  if (tcgetpgrp(terminal) != getpgrp() || tcgetattr(terminal, &before) != 0) return "";
  struct termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = raw.c_cc[VTIME] = 0;
  if (tcsetattr(terminal, TCSANOW, &raw) != 0) return "";
  constexpr std::string_view kQuestion = "\x1b]11;?\x1b\\\x1b[c";
  std::string answer;
  if (::write(terminal, kQuestion.data(), kQuestion.size()) > 0) {
    pollfd wait{terminal, POLLIN, 0};
    char piece[256];
    while (!answer.ends_with('c') && poll(&wait, 1, 1000) > 0) {
      const ssize_t n = ::read(terminal, piece, sizeof piece);
      if (n <= 0) break;
      answer.append(piece, static_cast<size_t>(n));
    }
  }
  tcsetattr(terminal, TCSANOW, &before);
  return answer;
}

/// Of "rgb:RRRR/GGGG/BBBB" in an answer: whether it is darker than the middle.
std::optional<bool> is_dark(std::string_view answer) {
  const size_t at = answer.find("rgb:");
  if (at == answer.npos) return {};
  double light = 0;
  std::string_view rest = answer.substr(at + 4);
  for (const double weight : {0.299, 0.587, 0.114}) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, 16);
    const auto digits = static_cast<size_t>(end - rest.data());
    if (error != std::errc() || digits > 4) return {};
    light += weight * value / ((1u << (4 * digits)) - 1);
    rest.remove_prefix(std::min(rest.size(), digits + 1));
  }
  return light < 0.5;
}

}  // namespace

bool terminal_is_dark() {
  const std::string colors = variable("COLORFGBG");  // "15;0", "0;default;15"
  const auto ground = to_number<int>(std::string_view(colors).substr(colors.rfind(';') + 1));
  if (ground) return *ground != 7 && *ground < 9;
  if (!isatty(STDOUT_FILENO)) return true;
  const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return true;
  const std::string answer = answer_of(terminal);
  close(terminal);
  return is_dark(answer).value_or(true);
}

void print_rows(std::string_view rows) {
  if (!isatty(STDOUT_FILENO)) return print(std::string(rows));
  const std::string shown = printable_lines(rows);
  std::vector<size_t> widths;
  const auto for_each_field = [&](auto use) {
    for (const std::string_view row : split(shown, '\n', EmptyParts::skip)) {
      const auto fields = split(row, '\t');
      widths.resize(std::max(widths.size(), fields.size()));
      for (size_t i = 0; i < fields.size(); ++i) use(i, fields[i], i + 1 == fields.size());
    }
  };
  for_each_field([&](size_t i, std::string_view field, bool last) {
    if (!last) widths[i] = std::max(widths[i], display_width(field));
  });
  std::string text;
  for_each_field([&](size_t i, std::string_view field, bool last) {
    text += field;
    text += last ? "\n" : std::string(widths[i] + 2 - display_width(field), ' ');
  });
  print(text);
}

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
