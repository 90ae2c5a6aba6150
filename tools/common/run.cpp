#include "common/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <new>
#include <system_error>

#include "base/cpu.h"
#include "base/nearest.h"
#include "base/platform.h"
#include "common/completion.h"
#include "common/progress.h"
#include "pipeline/stream.h"

namespace bert::tools {
namespace {

/// The name of the program, safe to show. `exec -a` may give it any bytes.
std::string tool_name = printable(platform::program_name());
bool quiet_notices = false;
bool run_by_memo = false;
const Command* command = nullptr;  // whose options messages name

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

/// Ends the process with one line. Allocates nothing, and only calls what a signal handler may. If
/// several threads come here, the first one writes, and the others wait for the end.
[[noreturn]] void die(std::string_view message, Error::Kind kind) {
  static std::atomic_flag dying;
  while (dying.test_and_set()) pause();
  iovec line[] = {{tool_name.data(), tool_name.size()},
                  {const_cast<char*>(message.data()), message.size()}};
  [[maybe_unused]] const ssize_t n = ::writev(STDERR_FILENO, line, std::size(line));
  _exit(static_cast<int>(kind));
}

/// No tool can go on without memory, and to unwind the stack for a message would take more memory.
/// Set before main, since its options need memory too.
[[noreturn]] void out_of_memory() { die(": out of memory\n", Error::Kind::no_memory); }
[[maybe_unused]] const std::new_handler no_handler = std::set_new_handler(out_of_memory);

/// SIGBUS means that a mapped file has shrunk.
extern "C" void on_sigbus(int) {
  die(": a mapped model file was changed while in use\n", Error::Kind::io);
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
std::string unexpected(const Command& app) {
  const std::vector<std::string> extras = app.remaining();
  const std::string extra = extras.empty() ? "" : extras.front();
  if (extra.size() < 2 || extra[0] != '-') {
    return "unexpected argument '" + printable(extra) + "'";
  }
  std::vector<std::string> names;
  add_long_names(app, names);
  const std::string wrong = extra.substr(0, extra.find('='));
  if (wrong == "--memo") return "writes no rows of single records, which memo could keep";
  if (wrong == "--output" && app.get_option_no_throw("--only")) {
    return "unknown option '--output': rows go to standard output, as in > FILE";
  }
  const std::string near = nearest_name(wrong, names);
  return "unknown option '" + printable(wrong) + "'" +
         (near.empty() ? "" : "; did you mean '" + near + "'?");
}

/// A message in our style for an error of the parser.
std::string explain(const Command& app, const CLI::ParseError& error) {
  // A missing required option may be there, but misspelt.
  const bool required = dynamic_cast<const CLI::RequiredError*>(&error);
  const std::vector<std::string> extras = app.remaining();
  const bool unknown = !extras.empty() && extras.front().starts_with('-');
  if (dynamic_cast<const CLI::ExtrasError*>(&error) || (required && unknown))
    return unexpected(app);
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {  // "Could not convert: --only = x"
    const size_t begin = text.find("--"), end = text.find(" = ");
    if (begin < end && end != text.npos)
      return text.substr(begin, end - begin) + ": takes no value";
  }
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return text;
  // Two faults share this type, and neither has the option's name apart from the words.
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  const size_t times = option ? option->count() : 0;
  return times > 1 ? fmt::format("{}: given {} times, wants one", name, times)
                   : name + ": wants a value";
}

/// Prints help without the parser's type notes ("N:INT in [1 - 1024]").
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    const bool choices = type.find('|') != std::string::npos;  // "cut|head-tail:N"
    const std::string name = choices ? type : type.substr(0, type.find(':'));
    return name.empty() ? "" : " " + name;
  }
};

/// Refuses "-o NAME" of a tool whose -o is a flag, if there is no such input: NAME is meant as the
/// output. "-o" stands at argv[i].
void refuse_output_name(const Command& app, int argc, char** argv, int i) {
  const CLI::Option* only = app.get_option_no_throw("--only");
  if (!only || std::string_view(argv[i]) != "-o" || i + 1 == argc) return;
  const std::string name = argv[i + 1];
  if (name.starts_with('-') || access(name.c_str(), F_OK) == 0 || errno != ENOENT) return;
  throw Error(Error::Kind::usage, "-o",
              "takes no file, and there is no input '" + printable(name) +
                  "'; rows go to standard output, as in > " + printable(name));
}

/// The arguments in the order that the parser wants, the last first. Prevents three mistakes of the
/// parser: a file named "[a,b]" would be a list of two files, so it gets a "./"; "--option=" would
/// take the next argument as its value; "-1" would be a file.
std::vector<std::string> arguments(const Command& app, int argc, char** argv) {
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
    if (!value && options) refuse_output_name(app, argc, argv, i);
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

int parse_and_run(Command& app, int argc, char** argv, const std::function<int()>& body) {
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

const std::string& name_of_tool() { return tool_name; }

void complain(const std::string& message) {
  clear_progress();
  const std::string text = command ? command->with_option_names(message) : message;
  const std::string line = tool_name + ": " + printable(text, 0) + "\n";
  // If stderr cannot be written, nothing can be done.
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void notice(const std::string& message) {
  if (!quiet_notices) complain(message);
}

void print_report(const std::string& text) {
  if (quiet_notices) return;
  clear_progress();
  write_all(STDERR_FILENO, printable_lines(text));  // labels may have control bytes
}

void set_quiet(bool quiet) { quiet_notices = quiet; }

bool quiet() { return quiet_notices; }

void set_within_memo() { run_by_memo = true; }

bool within_memo() { return run_by_memo; }

void refuse_memo() {
  if (!run_by_memo) return;
  throw Error(Error::Kind::usage, "within memo", "found rows of all records, wants rows of each");
}

void print(const std::string& text) {
  if (isatty(STDOUT_FILENO)) clear_progress();
  write_shown(STDOUT_FILENO, text);
}

int run(Command& app, int argc, char** argv, const std::function<int()>& body) {
  hold_standard_descriptors();
  std::signal(SIGBUS, on_sigbus);
  std::signal(SIGXFSZ, SIG_IGN);
  app.name(tool_name);
  command = &app;
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
  // At exit OpenBLAS joins its idle threads, which never ends if they could not get memory. The
  // leak check of a sanitized build runs at exit.
#ifndef __SANITIZE_ADDRESS__
  _exit(closed);
#endif
  return closed;
}

}  // namespace bert::tools
