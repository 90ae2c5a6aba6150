#include "memo/co_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/platform.h"

extern char** environ;

namespace bert {
namespace {

constexpr size_t kReadSize = 64 << 10;

/// Starts a program of PATH, or of the folder that this program is in.
int spawn(pid_t& pid, const std::string& name, const posix_spawn_file_actions_t& actions,
          char* const* arguments) {
  const int code = posix_spawnp(&pid, name.c_str(), &actions, nullptr, arguments, environ);
  if (code != ENOENT || name.find('/') != std::string::npos) return code;
  std::filesystem::path beside = platform::program_path();
  if (beside.empty()) return code;
  beside.replace_filename(name);
  return posix_spawn(&pid, beside.c_str(), &actions, nullptr, arguments, environ);
}

}  // namespace

CoProcess::CoProcess(const std::vector<std::string>& command) : name_(command.at(0)) {
  int requests[2], replies[2];
  if (!platform::open_socket_pair(requests) || !platform::open_pipe(replies)) {
    throw Error::from_errno(name_, "cannot start", errno);
  }
  to_ = requests[0];
  from_ = replies[0];
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests[1], 0);
  posix_spawn_file_actions_adddup2(&actions, replies[1], 1);
  const int code = spawn(pid_, name_, actions, arguments.data());
  posix_spawn_file_actions_destroy(&actions);
  close(requests[1]);
  close(replies[1]);
  if (code == 0) return;
  close(to_);
  close(from_);
  throw Error::from_errno(name_, "cannot start", code);
}

CoProcess::~CoProcess() {
  close(to_);
  close(from_);
  wait();
}

/// Reads what there is. False if nothing came in time, or the end.
bool CoProcess::fill(int wait) {
  pollfd p{from_, POLLIN, 0};
  const int ready = poll(&p, 1, wait);
  if (ready <= 0) return false;
  bytes_.erase(0, taken_);
  taken_ = 0;
  const size_t old = bytes_.size();
  bytes_.resize(old + kReadSize);
  const ssize_t n = read(from_, bytes_.data() + old, kReadSize);
  const int reason = n < 0 ? errno : 0;
  bytes_.resize(old + static_cast<size_t>(n > 0 ? n : 0));
  if (n < 0 && reason != EINTR && reason != EAGAIN) {
    stop();
    throw Error::from_errno(name_, "cannot read its rows", reason);
  }
  end_ = n == 0;
  return n > 0;
}

std::optional<Greeting> CoProcess::greeting() {
  Greeting greeting;
  try {
    for (;;) {
      std::string_view rest = bytes_;
      if (take_greeting(rest, greeting)) {
        taken_ = bytes_.size() - rest.size();
        return greeting;
      }
      if (end_) return std::nullopt;
      fill(-1);
    }
  } catch (const Error& error) {  // for example the text of --help
    if (error.kind() != Error::Kind::protocol) throw;
    stop();
    const std::string first = bytes_.substr(0, bytes_.find('\n'));
    throw Error(Error::Kind::usage, name_,
                fmt::format("writes no rows of each record, but '{}'", printable(first)));
  }
}

bool CoProcess::send(std::string_view requests) {
  while (!requests.empty()) {
    const ssize_t n = platform::send_quietly(to_, requests);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) requests.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void CoProcess::end_requests() { shutdown(to_, SHUT_WR); }

CoProcess::Got CoProcess::receive(Reply& reply, int wait) {
  for (;;) {
    std::string_view rest = std::string_view(bytes_).substr(taken_);
    if (take_reply(rest, reply)) {
      taken_ = bytes_.size() - rest.size();
      return Got::reply;
    }
    if (end_) return Got::end;
    if (!fill(wait) && !end_) return Got::nothing;
  }
}

bool CoProcess::has_ended() const {
  siginfo_t info{};
  return pid_ < 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

void CoProcess::stop() const {
  if (pid_ > 0) kill(pid_, SIGTERM);
}

int CoProcess::wait() {
  if (pid_ < 0) return status_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  signalled_ = WIFSIGNALED(status);
  status_ = signalled_ ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

}  // namespace bert
