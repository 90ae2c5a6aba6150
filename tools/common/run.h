#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/error.h"

namespace bert::tools {

/// Parses the command line, calls `body`, and turns what it throws into one line on stderr and an
/// exit status (design: sysexits). `body` returns the status of a run without faults: 0, or 1 where
/// a tool may answer "no". Also --version and --completion. Standard output is checked at the end:
/// a full disk is status 74. The footer of `app` is one command line, the example of --help.
int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// One line "TOOL: message" on stderr. `notice` is for what -q silences.
void complain(const std::string& message);
void notice(const std::string& message);
/// Text of several lines for stderr, such as a table of metrics, that -q silences.
void print_report(const std::string& text);
/// -q
void set_quiet(bool quiet);
bool quiet();

/// Writes text that is not rows (help, reports) to stdout. Throws Error(io).
void print(const std::string& text);

}  // namespace bert::tools
