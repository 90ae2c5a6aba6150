// memo - keep the rows of a tool, and compute only what is new. See man/memo.1.
#include "memo/memo.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>

#include "common/as_text.h"
#include "common/npy_output.h"
#include "common/progress.h"
#include "common/row_options.h"
#include "common/run.h"

using namespace bert;

namespace {

struct Options {
  std::string cache;
  MemoOptions memo;
  std::optional<uint64_t> prune;
  bool stats = false, progress = false, verbose = false;
};

void add(tools::Command& app, Options& o) {
  app.add({"CACHE", "the file that keeps rows; made if it is missing", tools::text("")}, o.cache)
      ->required();
  app.add({"FILE", "files of records, before -- TOOL; '-' or none: stdin", tools::text("")},
          o.memo.files)
      .may_be_empty();
  app.add({"--stats", "write what the cache holds"}, o.stats);
  app.add({"--prune", "remove rows not used in the last N days", tools::whole("N")}, o.prune);
  app.add({"--progress", "show progress on stderr, also if it is not a terminal"}, o.progress);
  app.add({"-q,--quiet", "write only errors to stderr"}, [] { tools::set_quiet(true); });
  app.add({"-v,--verbose", "say on stderr how many rows came from the cache"}, o.verbose);
}

/// Cuts the command behind "--" off the arguments.
std::vector<std::string> take_command(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  argc = static_cast<int>(dashes - argv);
  return {std::min(dashes + 1, end), end};
}

void write_stats(MemoStore& store) {
  for (const auto& c : store.calls())
    tools::print(fmt::format("{}\t{}\t{}\t{}\n", c.records, c.bytes, c.days, printable(c.key, 0)));
}

/// The status of a tool that ended; its own message says why, unless a signal ended it.
int ended(const std::string& name, CoProcess& tool, bool greeted) {
  const int status = tool.wait(), number = status - 128;
  if (tool.signalled())
    tools::complain(fmt::format("{} was ended by signal {} ({})", name, number, strsignal(number)));
  else if (!greeted && status < static_cast<int>(Error::Kind::usage))
    throw Error(Error::Kind::usage, name, "is no tool that writes rows of each record");
  return status;
}

int report(const Options& o, const Memo& memo, int status) {
  const MemoCounts& counts = memo.counts();
  if (o.verbose) {
    tools::notice(fmt::format("{} of {} records were computed, {} came from {}", counts.computed,
                              counts.records, counts.records - counts.computed, o.cache));
  }
  tools::report_bad(counts.bad, counts.records, counts.first_bad, status);
  if (!memo.lost()) return status;
  tools::complain(memo.lost()->what() + std::string("; the run went on without it"));
  return status == 0 ? static_cast<int>(memo.lost()->kind()) : status;
}

int run(Options& o, std::vector<std::string> command) {
  tools::refuse_output(o.memo.files);
  MemoStore store(o.cache, MemoStore::Mode::create);
  tools::refuse_output({o.cache});
  command.insert(command.begin() + 1, "--memo");
  std::signal(SIGCHLD, [](int) {});  // wakes a reader that waits, when the tool ends
  CoProcess tool(command);
  auto greeting = tool.greeting();
  if (!greeting) return ended(command[0], tool, false);
  const auto npy = tools::NpyOutput::of_memo(greeting->begin);
  tools::Progress progress(o.progress, o.memo.files);
  int skipped = 0;
  o.memo.on_skipped = [&](const Error& error) {
    tools::complain(tools::with_input_options(error.what()));
    skipped = static_cast<int>(error.kind());
  };
  if (progress.shown()) o.memo.progress = std::bind_front(&tools::Progress::update, &progress);
  Memo memo(o.memo, *greeting, tool, store);
  const int status = memo.run() == 0 ? 0 : ended(command[0], tool, true);
  progress.finish();
  if (npy && status == 0) npy->finish_rows(memo.counts().records);
  return report(o, memo, status == 0 ? skipped : status);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Keep the rows of a tool, and compute only those of new records."};
  app.footer("memo reviews.memo reviews.txt -- classify -o");
  Options o;
  add(app, o);
  std::vector<std::string> command = take_command(argc, argv);
  return tools::run(app, argc, argv, [&] {
    if (o.stats || o.prune) {
      command.insert(command.begin(), o.memo.files.begin(), o.memo.files.end());
      if (!command.empty())
        throw Error(Error::Kind::usage, "", "unexpected argument '" + printable(command[0]) + "'");
      MemoStore store(o.cache, MemoStore::Mode::existing);
      if (o.stats) write_stats(store);
      if (o.prune) tools::notice(fmt::format("removed {} records", store.prune(*o.prune)));
      return 0;
    }
    if (command.empty()) throw Error(Error::Kind::usage, "", "wants a tool behind '--'");
    return run(o, command);
  });
}
