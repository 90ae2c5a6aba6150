#pragma once

#include <locale.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/export.h"

/// Calls that POSIX lacks, or has not everywhere. CMake takes one of two files: platform_linux.cpp,
/// or platform_posix.cpp for macOS and all others, which does with less where a system has no such
/// call. Nothing else in lib/ and tools/ asks which system this is.
namespace bert::platform {

/// The name by which the program was started, without its folders.
BERT_API const char* program_name();
/// The path of the program that runs, perhaps with symbolic links; "" if the system does not tell.
BERT_API std::string program_path();
/// Sends SIGTERM to this process when its parent ends.
BERT_API void end_with_parent();

/// Whether the system grants this process the registers of AMX. Called only if the CPU has them.
bool may_use_tiles();
/// Instructions of 64-bit ARM that the system names; all false on other CPUs.
struct ArmFeatures {
  bool dotprod = false;
  bool i8mm = false;
  bool bf16 = false;
};
ArmFeatures arm_features();
/// The number of CPUs that this process may use, at least 1.
int allowed_cpus();
/// Moves threads that this thread has just started or woken to other CPUs, and then allows them all
/// CPUs again. Otherwise the kernel of Linux may queue them behind this thread, which is about to
/// compute, and separate them only after milliseconds, above all on virtual CPUs: the first forward
/// pass of a process took twice as long. With more threads than CPUs, or where the system cannot,
/// it does nothing.
void part_from_here(std::span<std::thread> threads);

/// Tells the system that huge pages may hold the whole pages of `memory`: it is touched in fewer
/// steps, each of which takes as long as writing 2 MB. Of no use for less than a few megabytes.
void prefer_huge_pages(void* memory, size_t bytes);
/// Puts the mapping `copy` in the place of the mapping `place`, read-only, under the same address.
/// False, with errno, if it cannot; then both are as before.
bool move_mapping(void* copy, void* place, size_t bytes);
/// The memory that this process has now, and the most that it had.
BERT_API size_t resident_bytes();
BERT_API size_t peak_bytes();

/// Opens a file without a name in `directory`: it disappears when the process ends, also if it is
/// killed. -1 if the system has no such files or cannot name them later.
int open_unnamed(const std::string& directory);
/// Gives the file of open_unnamed a name. False, with errno, if it cannot.
bool give_name(int fd, const std::string& path);
/// A path that opens the descriptor again. Where it shares the descriptor's offset, the reader
/// begins where the offset is.
std::string path_of(int fd);
/// Exchanges two names in one step. False, with errno, if the system cannot.
bool exchange_names(const std::string& a, const std::string& b);
timespec modification_time(const struct stat& status);
/// A pipe and a pair of sockets that close in programs that are started. False, with errno.
bool open_pipe(int (&ends)[2]);
bool open_socket_pair(int (&ends)[2]);
/// send(2) which raises no SIGPIPE.
ssize_t send_quietly(int socket, std::string_view bytes);
/// Waits until the pipe holds a byte or its writer has ended, and copies up to `size` bytes, which
/// stay in the pipe. The number of bytes; below 0, with errno, if it fails.
ssize_t peek_pipe(int fd, char* to, size_t size);

/// The locale with the letters of Unicode.
locale_t utf8_letters();

/// The libraries that may have the functions of CBLAS, the best first; null ends the list.
extern const char* const kBlasLibraries[];
/// The first of them, and how a user gets it, for messages.
extern const char* const kBlasPackage;

}  // namespace bert::platform
