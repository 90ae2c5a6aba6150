#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "memo/protocol.h"

namespace bert {

/// The tool that memo runs. Its standard input is a socket, so that sending to a tool that has
/// ended gives no SIGPIPE; its standard output is a pipe, so that a tool whose memo has ended gets
/// one, and says nothing. One thread may send while another thread receives.
class BERT_API CoProcess {
 public:
  /// Starts `command`: the name of a program, which is looked up in PATH, and its arguments. Throws
  /// Error(no_input, permission ..) that names it.
  explicit CoProcess(const std::vector<std::string>& command);
  /// Ends its input, and waits for it.
  ~CoProcess();
  CoProcess(const CoProcess&) = delete;
  CoProcess& operator=(const CoProcess&) = delete;

  /// The first words of the tool; nullopt if it ended without them. Throws Error(usage) for other
  /// words: the tool, or what its options ask for, writes no rows for memo.
  std::optional<Greeting> greeting();

  /// False if the tool reads no more.
  bool send(std::string_view requests);
  /// The tool gets no more requests, and ends after the last reply.
  void end_requests();

  enum class Got { reply, nothing, end };
  /// The next reply. Waits at most so many milliseconds, or without end if they are negative.
  Got receive(Reply& reply, int wait);

  /// Whether the tool has ended, by itself or by a signal.
  bool has_ended() const;
  /// Ends the tool, whose work nobody wants any more.
  void stop() const;
  /// Waits until the tool has ended: its exit status, or 128 and the number of the signal that
  /// ended it, as a shell has it.
  int wait();
  /// After wait(): whether a signal ended the tool.
  bool signalled() const { return signalled_; }

 private:
  bool fill(int wait);

  std::string name_;
  int to_ = -1, from_ = -1;
  pid_t pid_ = -1;
  int status_ = 0;
  bool signalled_ = false;
  bool end_ = false;   ///< nothing more comes
  std::string bytes_;  ///< received; those from taken_ on are not taken
  size_t taken_ = 0;
};

}  // namespace bert
