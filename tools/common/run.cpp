#include "common/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>

#include "base/cpu.h"
#include "base/nearest.h"
#include "common/completion.h"
#include "pipeline/stream.h"

namespace bert::tools {
namespace {

std::string tool_name = "bert";
bool quiet_notices = false;

/// If the parent closed a standard descriptor, opens /dev/null there, in a mode in which its use
/// still fails. Otherwise a model file could become descriptor 1, and rows would be written into
/// it.
void hold_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    const int held = ::open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY);
    if (held >= 0 && held != fd) {
      dup2(held, fd);
      ::close(held);
    }
  }
}

/// No tool can go on without memory, and to unwind the stack for a message would take more memory.
/// Set before main, since its options need memory too.
[[noreturn]] void out_of_memory() {
  static const char message[] = ": out of memory\n";
  [[maybe_unused]] ssize_t n =
      ::write(2, program_invocation_short_name, std::strlen(program_invocation_short_name));
  n = ::write(2, message, sizeof message - 1);
  _exit(static_cast<int>(Error::Kind::no_memory));
}
[[maybe_unused]] const std::new_handler no_handler = std::set_new_handler(out_of_memory);

/// SIGBUS means that a mapped file has shrunk. Only async-signal-safe calls are allowed here.
extern "C" void on_sigbus(int) {
  static const char message[] = ": a mapped model file was changed while in use\n";
  [[maybe_unused]] ssize_t n = ::write(2, tool_name.data(), tool_name.size());
  n = ::write(2, message, sizeof message - 1);
  _exit(static_cast<int>(Error::Kind::io));
}

/// Adds the long options of `app` and of its groups.
void add_long_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const auto every = [](const CLI::App*) { return true; };
  for (const CLI::App* group : app.get_subcommands(every)) add_long_names(*group, names);
}

/// "unknown option '--jbos'; did you mean '--jobs'?"
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const std::string extra = extras.empty() ? "" : extras.front();
  if (extra.size() < 2 || extra[0] != '-') {
    return "unexpected argument '" + printable(extra) + "'";
  }
  std::vector<std::string> names;
  add_long_names(app, names);
  const std::string wrong = extra.substr(0, extra.find('='));
  const std::string near = nearest_name(wrong, names);
  return "unknown option '" + printable(wrong) + "'" +
         (near.empty() ? "" : "; did you mean '" + near + "'?");
}

/// The part of `text` between `before` and `after`; nullopt unless `text` has both.
std::optional<std::string> between(const std::string& text, std::string_view before,
                                   std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  const size_t end = text.find(after, begin + before.size());
  if (end == std::string::npos) return {};
  return text.substr(begin + before.size(), end - begin - before.size());
}

/// A message in our style for an error of the parser.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  // A missing required option may be there, but misspelt.
  const bool required = dynamic_cast<const CLI::RequiredError*>(&error);
  const std::vector<std::string> extras = app.remaining();
  const bool unknown = !extras.empty() && extras.front().starts_with('-');
  if (dynamic_cast<const CLI::ExtrasError*>(&error) || (required && unknown))
    return unexpected(app);
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (const auto name = between(text, "Could not convert: ", " = ")) {
    return fmt::format("{}: found '{}', wants a number", *name,
                       printable(text.substr(text.find(" = ") + 3)));
  }
  if (const auto value = between(text, ": Value ", " not in range ")) {
    const std::string range = text.substr(text.find(" not in range ") + 14);
    const bool positive = range.starts_with("0.000000 to 1797");  // CLI::PositiveNumber
    const CLI::Option* found = app.get_option_no_throw(option);
    const bool zero = found && found->get_type_name().find("NONNEGATIVE") != std::string::npos;
    return fmt::format("{}: found '{}', wants {}", option, printable(*value),
                       zero       ? "a number from 0 up"
                       : positive ? "a number above 0"
                                  : range);
  }
  if (const auto times = between(text + "\n", ": At Most 1 required but received ", "\n")) {
    return fmt::format("{}: given {} times, wants one", option, *times);
  }
  if (text.find(" required ") != std::string::npos && text.ends_with(" missing")) {
    return option + ": wants a value";
  }
  return text;
}

/// Prints help without the parser's type notes ("N:INT in [1 - 1024]").
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    const std::string name = type.substr(0, type.find(':'));
    return name.empty() ? "" : " " + name;
  }
};

/// What a number option wants instead, if `value` is a number that the parser would accept by
/// mistake; else nullptr. The parser accepts nan and inf in every range, and turns -1 and 2^64 into
/// other integers. It refuses a text that is not a number itself.
const char* number_fault(char type, const std::string& value) {
  if (type == 'X' || type == 'P') {
    return std::isfinite(std::strtod(value.c_str(), nullptr)) ? nullptr : "a number";
  }
  if (value.empty()) return "a value";
  const bool negative = value[0] == '-';
  const char* const end = value.data() + value.size();
  uint64_t integer = 0;
  const auto [rest, error] = std::from_chars(value.data() + negative, end, integer);
  if (rest != end || error == std::errc::invalid_argument) return nullptr;
  if (error != std::errc()) return "a smaller number";
  return negative ? "a number from 0 up" : nullptr;
}

/// Options whose N is the number or name of a field.
constexpr std::string_view kFields[] = {"--fields", "--gold",  "--label", "--labels",
                                        "--key",    "--spans", "--group", "--context"};

/// Checks the values of number options before the parser converts them, and makes 010 mean ten. If
/// an integer option has a range, the parser's range check is enough.
void guard_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const char kind = type.empty() ? ' ' : type[0];
    const bool real = kind == 'X' || kind == 'P';
    if (!real && kind != 'N' && kind != 'K') continue;
    const bool ranged = type.size() > 1;  // "N:INT in [1 - 1024]"; "NAME" is not a number
    if (ranged && type[1] != ':') continue;
    const bool field =
        std::find(std::begin(kFields), std::end(kFields), option->get_name()) != std::end(kFields);
    option->transform([=](std::string value) {
      const bool look = real || (!ranged && !field);
      if (const char* wanted = look ? number_fault(kind, value) : nullptr) {
        throw Error(Error::Kind::usage, option->get_name(),
                    fmt::format("found '{}', wants {}", printable(value), wanted));
      }
      const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
      if (digits) value.erase(0, std::min(value.find_first_not_of('0'), value.size() - 1));
      return value;
    });
  }
  const auto every = [](const CLI::App*) { return true; };
  for (CLI::App* group : app.get_subcommands(every)) guard_numbers(*group);
}

/// The arguments in the order that the parser wants, the last first. Prevents three mistakes of the
/// parser: a file named "[a,b]" would be a list of two files, so it gets a "./"; "--option=" would
/// take the next argument as its value; "-1" would be a file.
std::vector<std::string> arguments(const CLI::App& app, int argc, char** argv) {
  const auto wants_value = [&](const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option && option->get_expected_max() > 0;
  };
  std::vector<std::string> args;
  bool options = true;  // no "--" so far
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    const bool value = i > 1 && options && wants_value(argv[i - 1]);
    options &= value || arg != "--";
    if (!value && arg.starts_with('[') && arg.ends_with(']')) arg.insert(0, "./");
    if (!value && options && arg.size() > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9' &&
        !app.get_option_no_throw(arg.substr(0, 2))) {
      throw Error(Error::Kind::usage, "", "unknown option '" + printable(arg) + "'");
    }
    const bool empty = !value && options && arg.size() > 3 && arg.find('=') == arg.size() - 1 &&
                       wants_value(arg.substr(0, arg.size() - 1));
    if (empty) arg.pop_back();
    args.push_back(std::move(arg));
    if (empty) args.emplace_back();
  }
  std::reverse(args.begin(), args.end());
  return args;
}

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  guard_numbers(app);
  try {
    app.parse(arguments(app, argc, argv));
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    complain(explain(app, error) + " (see " + tool_name + " --help)");
    return static_cast<int>(Error::Kind::usage);
  }
  cpu_isa();  // throws if BERT_ISA names a set that this CPU lacks
  return body();
}

/// Closes standard output. The error of a full disk or a lost file server may come only now.
int close_output(int status) {
  if (::close(STDOUT_FILENO) == 0 || errno == EINTR) return status;
  complain("stdout: write error: " + std::generic_category().message(errno));
  return static_cast<int>(Error::Kind::io);
}

/// Turns an exception of `body` into a line on stderr and a status.
int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return static_cast<int>(Error::Kind::no_memory);
  } catch (const std::system_error& error) {
    complain(error.what());
    return static_cast<int>(Error::Kind::no_memory);
  } catch (const std::exception& error) {
    complain(fmt::format("internal fault: {}", error.what()));
    return static_cast<int>(Error::Kind::internal);
  }
}

}  // namespace

void complain(const std::string& message) {
  const std::string line = tool_name + ": " + printable(message, 0) + "\n";
  // If stderr cannot be written, nothing can be done.
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void notice(const std::string& message) {
  if (!quiet_notices) complain(message);
}

void print_report(const std::string& text) {
  if (quiet_notices) return;
  std::string shown;  // labels may have bytes that disturb a terminal
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\t\n", begin), text.size());
    shown += printable(std::string_view(text).substr(begin, end - begin), 0);
    if (end < text.size()) shown += text[end];
    begin = end + 1;
  }
  write_all(STDERR_FILENO, shown);
}

void set_quiet(bool quiet) { quiet_notices = quiet; }

bool quiet() { return quiet_notices; }

void print(const std::string& text) { write_all(1, text); }

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  hold_standard_descriptors();
  std::signal(SIGBUS, on_sigbus);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc > 0 && argv[0]) {
    const char* slash = std::strrchr(argv[0], '/');
    tool_name = slash ? slash + 1 : argv[0];
  }
  app.name(tool_name);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer("Example:\n  " + app.get_footer() + "\n\nMore: man " + tool_name);
  app.set_version_flag("--version", tool_name + " (bertutils) " BERT_VERSION,
                       "print name and version");
  const int status = guarded([&] {
    // Before parsing, which would complain about missing required options.
    if (argc == 3 && std::string_view(argv[1]) == "--completion") {
      print(completion(app, tool_name, argv[2]));
      return 0;
    }
    return parse_and_run(app, argc, argv, body);
  });
  const int closed = close_output(status);
#ifndef __SANITIZE_ADDRESS__  // the leak check runs at exit
  // At exit OpenBLAS joins its idle threads. That never ends if they could not get memory.
  _exit(closed);
#endif
  return closed;
}

}  // namespace bert::tools
