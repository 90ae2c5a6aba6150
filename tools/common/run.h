#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "common/command.h"

namespace bert::tools {

/// Parses the command line and calls `body`. Turns an exception into one line on stderr and an exit
/// status (sysexits.h). `body` returns the status of a run without faults: 0, or 1 if a tool may
/// answer "no". Also adds --version and --completion. An error of standard output at its close
/// gives status 74. The footer of `app` is one command line, the example of --help.
int run(Command& app, int argc, char** argv, const std::function<int()>& body);

/// The name that this tool was called by.
const std::string& name_of_tool();
/// Writes one line "TOOL: message" to stderr. -q silences notice().
void complain(const std::string& message);
void notice(const std::string& message);
/// Writes a text of several lines, such as a table of metrics, to stderr. -q silences it.
void print_report(const std::string& text);
/// Whether memo runs this tool.
void set_within_memo();
bool within_memo();
/// Throws Error(usage) within memo: for rows that are of all records together. Call it before such
/// a tool reads records, since memo waits for the tool to greet it.
void refuse_memo();
/// -q
void set_quiet(bool quiet);
bool quiet();

/// Writes text that is not rows (help, reports) to stdout. Throws Error(io).
void print(const std::string& text);

}  // namespace bert::tools
