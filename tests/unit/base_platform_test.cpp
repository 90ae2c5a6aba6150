// The twins of base/platform.h have one test: it runs in every build, so in that of -DBERT_POSIX=ON
// too.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/platform.h"

using namespace bert;

namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string path;
  Folder() {
    std::string name = fs::temp_directory_path() / "platform.XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

std::string read_to_end(int fd) {
  std::string text;
  char bytes[7];
  for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<size_t>(n));
  return text;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a look into a pipe leaves its bytes there") {
  int ends[2];
  REQUIRE(platform::open_pipe(ends));
  CHECK((fcntl(ends[0], F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write(ends[1], "abcdefgh", 8) == 8);
  char start[3] = {};
  CHECK(platform::peek_pipe(ends[0], start, sizeof start) == 3);
  CHECK(std::string(start, 3) == "abc");
  REQUIRE(write(ends[1], "ij", 2) == 2);
  close(ends[1]);
  CHECK(read_to_end(ends[0]) == "abcdefghij");
  CHECK(platform::peek_pipe(ends[0], start, sizeof start) == 0);
  close(ends[0]);
  CHECK(platform::peek_pipe(ends[0], start, sizeof start) < 0);
}

TEST_CASE("a mapping is put in the place of another one") {
  const size_t bytes = 3 << 16;
  const auto map = [&](char letter) {
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    REQUIRE(made != MAP_FAILED);
    std::memset(made, letter, bytes);
    return static_cast<char*>(made);
  };
  char* const place = map('a');
  REQUIRE(platform::move_mapping(map('b'), place, bytes));
  CHECK(place[0] == 'b');
  CHECK(place[bytes - 1] == 'b');
  munmap(place, bytes);
}

TEST_CASE("two names are exchanged, or stay") {
  const Folder folder;
  const std::string a = folder.path + "/a", b = folder.path + "/b";
  std::ofstream(a) << 'a';
  errno = 0;
  CHECK_FALSE(platform::exchange_names(a, b));
  CHECK(errno == ENOENT);
  std::ofstream(b) << 'b';
  const bool exchanged = platform::exchange_names(a, b);
  CHECK(content(a) == (exchanged ? "b" : "a"));
  CHECK(content(b) == (exchanged ? "a" : "b"));
}

TEST_CASE("a file without a name gets one") {
  const Folder folder;
  const int fd = platform::open_unnamed(folder.path);
  CHECK(fs::is_empty(folder.path));
  if (fd < 0) return;  // the system has none
  REQUIRE(write(fd, "x", 1) == 1);
  REQUIRE(platform::give_name(fd, folder.path + "/named"));
  close(fd);
  CHECK(content(folder.path + "/named") == "x");
}

TEST_CASE("a descriptor has a path, and sockets send without a signal") {
  const Folder folder;
  std::ofstream(folder.path + "/file") << "text";
  const int fd = open((folder.path + "/file").c_str(), O_RDONLY);
  CHECK(content(platform::path_of(fd)) == "text");
  close(fd);
  int ends[2];
  REQUIRE(platform::open_socket_pair(ends));
  CHECK((fcntl(ends[1], F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(platform::send_quietly(ends[0], "abc") == 3);
  close(ends[1]);
  CHECK(platform::send_quietly(ends[0], "abc") < 0);
  CHECK(errno == EPIPE);
  close(ends[0]);
}

TEST_CASE("a process ends with its parent") {
  int ends[2];
  REQUIRE(platform::open_pipe(ends));
  const pid_t parent = fork();
  if (parent == 0) {
    if (fork() == 0) {
      signal(SIGTERM, SIG_DFL);  // doctest has a handler
      platform::end_with_parent();
      (void)!write(ends[1], "x", 1);
      for (;;) pause();
    }
    char ready = 0;
    (void)!read(ends[0], &ready, 1);
    _exit(0);
  }
  close(ends[1]);
  waitpid(parent, nullptr, 0);
  CHECK(read_to_end(ends[0]).empty());  // comes to the end only when the grandchild has ended
  close(ends[0]);
}

TEST_CASE("what a process knows of itself") {
  CHECK(fs::path(platform::program_path()).filename() == platform::program_name());
  CHECK(fs::exists(platform::program_path()));
  CHECK(platform::allowed_cpus() >= 1);
  CHECK(platform::resident_bytes() > (1 << 20));
  CHECK(platform::peak_bytes() > (1 << 20));
  CHECK(platform::utf8_letters() != nullptr);
}
