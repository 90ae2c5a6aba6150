#include "common/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <system_error>

#include "common/completion.h"
#include "pipeline/stream.h"

namespace bert::tools {
namespace {

std::string tool_name = "bert";
bool quiet_notices = false;

/// Descriptors closed by the parent are held by /dev/null, opened so that using them still fails:
/// else the model would be opened as descriptor 1 and rows written into it.
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

/// A mapped file that shrinks under us raises SIGBUS; only async-signal-safe calls are allowed
/// here.
extern "C" void on_sigbus(int) {
  static const char message[] = ": a mapped model file was changed while in use\n";
  [[maybe_unused]] ssize_t n = ::write(2, tool_name.data(), tool_name.size());
  n = ::write(2, message, sizeof message - 1);
  _exit(static_cast<int>(Error::Kind::io));
}

int status_of(const Error& error) { return static_cast<int>(error.kind()); }

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see " + tool_name + " --help)");
    return status_of(Error(Error::Kind::usage, "", ""));
  }
  return body();
}

}  // namespace

void complain(const std::string& message) {
  const std::string line = tool_name + ": " + printable(message, 0) + "\n";
  // Nothing can be done about a stderr that cannot be written.
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void notice(const std::string& message) {
  if (!quiet_notices) complain(message);
}

void set_quiet(bool quiet) { quiet_notices = quiet; }

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
  app.set_version_flag("--version", tool_name + " (bertutils) " BERT_VERSION,
                       "print name and version");
  std::string shell;
  app.add_option("--completion", shell, "print completions for bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->group("");
  try {
    return parse_and_run(app, argc, argv, [&] {
      if (shell.empty()) return body();
      print(completion(app, tool_name, shell));
      return 0;
    });
  } catch (const Error& error) {
    complain(error.what());
    return status_of(error);
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

}  // namespace bert::tools
