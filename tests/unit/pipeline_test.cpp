// Records in, rows out: order, flushing, faults. The shell tests of tests/stream do the same
// through the tools.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include "base/error.h"
#include "pipeline/stream.h"
#include "temporary.h"

namespace bert {
namespace {

using namespace std::chrono_literals;
using test::TemporaryFile;

/// "NUMBER TAB TEXT" for each record. A text "fail" fails, "wait" takes a while, "partial" fails
/// within its row.
class Echo : public Worker {
 public:
  void run(std::span<const Record> records, Rows& rows) override {
    for (const Record& record : records) {
      if (record.text == "fail") record.fail(Error::Kind::data, "asked to fail");
      if (record.text == "wait") std::this_thread::sleep_for(1ms);
      rows.field(record.number);
      if (record.text == "partial") record.fail(Error::Kind::data, "asked to fail late");
      rows.field(record.text);
      if (!record.text_pair.empty()) rows.field(record.text_pair);
      rows.end();
      ++counts_.non_finite;
    }
  }
};

struct Pipe {
  Pipe() { REQUIRE(pipe2(ends, O_CLOEXEC) == 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int i) {
    if (ends[i] >= 0) ::close(ends[i]);
    ends[i] = -1;
  }
  void put(std::string_view text) { write_all(ends[1], text); }
  /// What comes within five seconds, up to `size` bytes.
  std::string get(size_t size) {
    std::string text;
    pollfd p{ends[0], POLLIN, 0};
    while (text.size() < size && poll(&p, 1, 5000) > 0) {
      char buffer[4096];
      const ssize_t n = ::read(ends[0], buffer, std::min(size - text.size(), sizeof buffer));
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
  std::string path(int i) const { return fmt::format("/proc/self/fd/{}", ends[i]); }
  int ends[2];
};

struct Result {
  std::string out, error;
  int kind = 0;
  Counts counts;
  std::vector<std::string> skipped;
};

Result run(StreamOptions options, const std::string& input) {
  TemporaryFile in(input), out("");
  if (options.files.empty()) options.files = {in.path()};
  Result result;
  const int fd = ::open(out.path().c_str(), O_WRONLY);
  REQUIRE(fd >= 0);
  options.output_fd = fd;
  options.on_skipped = [&](const Error& error) { result.skipped.emplace_back(error.what()); };
  try {
    result.counts = stream(options, [] { return std::make_unique<Echo>(); });
  } catch (const Error& error) {
    result.error = error.what();
    result.kind = static_cast<int>(error.kind());
  }
  ::close(fd);
  result.out = out.content();
  return result;
}

/// "-NUMBER", and what is wrong, for a record that is left out.
void write_place(const Record& record, const Error& error, Rows& rows) {
  rows.field(-static_cast<int64_t>(record.number)).field(error.what()).field(record.line);
  rows.end();
}

StreamOptions with_jobs(int jobs) {
  StreamOptions options;
  options.jobs = jobs;
  options.wanted = Wanted::anything;
  return options;
}

TEST_CASE("stream: one record in, one row out, whatever ends it") {
  for (const int jobs : {1, 4}) {
    const StreamOptions options = with_jobs(jobs);
    CHECK(run(options, "").out == "");
    CHECK(run(options, "\n").out == "1\t\n");
    CHECK(run(options, "a").out == "1\ta\n");
    CHECK(run(options, "a\nb").out == "1\ta\n2\tb\n");
    CHECK(run(options, "a\r\n\r\nb\rc\r\n").out == "1\ta\n2\t\n3\tb\rc\n");
    CHECK(run(options, std::string("a\0b\n\x1c\v\f\n", 8)).out ==
          std::string("1\ta\0b\n2\t\x1c\v\f\n", 12));
    StreamOptions nul = options;
    nul.terminator = '\0';
    const std::string two(
        "1\ta\nb\r\0"
        "2\tc\0",
        11);
    CHECK(run(nul, std::string("a\nb\r\0c", 6)).out == two);
  }
}

TEST_CASE("stream: order, numbers and counts do not depend on threads or chunks") {
  std::string input, expected;
  for (int i = 1; i <= 5000; ++i) {
    const std::string text = i % 97 == 0 ? "wait" : std::string(static_cast<size_t>(i % 50), 'x');
    input += text + "\n";
    expected += fmt::format("{}\t{}\n", i, text);
  }
  for (const int jobs : {1, 2, 4, 9}) {
    for (const size_t chunk : {1, 7, 128, 100000}) {
      StreamOptions options = with_jobs(jobs);
      options.chunk_records = chunk;
      const Result result = run(options, input);
      CHECK(result.out == expected);
      CHECK(result.counts.records == 5000);
      CHECK(result.counts.non_finite == 5000);
    }
  }
}

TEST_CASE("stream: a record of many chunks, and empty ones around it") {
  const std::string big(20 << 20, 'y');
  for (const int jobs : {1, 4}) {
    const Result result = run(with_jobs(jobs), "\n\n" + big + "\n\n");
    CHECK(result.out == "1\t\n2\t\n3\t" + big + "\n4\t\n");
  }
}

TEST_CASE("stream: a bad record ends the run after the rows before it") {
  for (const int jobs : {1, 4}) {
    for (const std::string bad : {"fail", "partial"}) {
      std::string input, expected;
      for (int i = 1; i <= 300; ++i) {
        input += "ok\n";
        expected += fmt::format("{}\tok\n", i);
      }
      const Result result = run(with_jobs(jobs), input + bad + "\n" + input);
      CHECK(result.out == expected);
      CHECK(result.kind == 65);
      CHECK(result.error.find(": record 301: asked to fail") != std::string::npos);
    }
  }
}

TEST_CASE("stream: a bad record that is skipped costs its own row only, whoever finds it") {
  std::string input, want;
  for (int i = 1; i <= 3000; ++i) {
    const std::string n = std::to_string(i);
    const bool is_short = i % 7 == 1, fails = i % 11 == 3, late = i % 13 == 0;
    const std::string line = is_short ? "one" : fails ? "x\tfail" : late ? "x\tpartial" : "x\t" + n;
    input += line + "\n";
    want += is_short ? "-" + n + "\tIN: record " + n +
                           ": found 1 field, wants at least 2, separated by tabs\tone\n"
            : fails || late ? "-" + n + "\tIN: record " + n + ": asked to fail" +
                                  (fails ? "" : " late") + "\t" + line + "\n"
                            : n + "\t" + n + "\n";
  }
  for (const int jobs : {1, 4}) {
    StreamOptions options = with_jobs(jobs);
    options.fields = {"2"};
    options.skip_bad = true;
    options.write_place = write_place;
    TemporaryFile in(input);
    options.files = {in.path()};
    Result result = run(options, "");
    for (size_t at; (at = result.out.find(in.path())) != std::string::npos;) {
      result.out.replace(at, in.path().size(), "IN");
    }
    CHECK(result.out == want);
    CHECK(result.counts.records == 3000);
    const auto lines = std::count(want.begin(), want.end(), '-');
    CHECK(result.counts.bad == static_cast<uint64_t>(lines));
    CHECK(result.counts.first_bad ==
          in.path() + ": record 1: found 1 field, wants at least 2, separated by tabs");
    CHECK(result.counts.bytes >= want.size());
    options.write_place = nullptr;
    CHECK(run(options, "").out.find('-') == std::string::npos);
  }
}

TEST_CASE("stream: only what is wrong with a record is skipped") {
  StreamOptions options = with_jobs(1);
  options.skip_bad = options.header = true;
  options.fields = {"text"};
  CHECK(run(options, "a\tb\n1\t2\n").kind == 65);  // no such column
}

TEST_CASE("stream: with a truth, blank records at the end of a file are counted, others are bad") {
  for (const int jobs : {1, 4}) {
    StreamOptions options = with_jobs(jobs);
    options.fields = {"2"};
    options.chunk_records = 2;
    options.gold = true;
    options.write_place = write_place;
    const std::string reason = ": found 1 field, wants at least 2, separated by tabs";
    TemporaryFile a("x\ta\nx\tb\n\n\r\n\n"), b("x\tc\n\n");
    options.files = {a.path(), b.path()};
    Result result = run(options, "");
    const std::string places = "-3\t" + a.path() + ": record 3" + reason + "\t\n-4\t" + a.path() +
                               ": record 4" + reason + "\t\r\n-5\t" + a.path() + ": record 5" +
                               reason + "\t\n";
    CHECK(result.out ==
          "1\ta\n2\tb\n" + places + "6\tc\n-7\t" + b.path() + ": record 2" + reason + "\t\n");
    CHECK(result.counts.blank == 4);
    CHECK(result.counts.bad == 0);
    CHECK(result.counts.records == 7);

    options.files.clear();
    result = run(options, "x\ta\n\n\nx\tb\n\n");
    CHECK(result.out == "1\ta\n");
    CHECK(result.kind == 65);
    CHECK(result.error.find("record 2" + reason) != std::string::npos);
    options.skip_bad = true;
    result = run(options, "x\ta\n\n\nx\tb\n\n");
    CHECK(result.counts.bad == 2);
    CHECK(result.counts.blank == 1);
    CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 5);
    options.gold = false;
    CHECK(run(options, "x\ta\n\n").counts.bad == 1);
  }
}

TEST_CASE("stream: pairs of neighbours begin anew behind a bad record") {
  for (const int jobs : {1, 3}) {
    StreamOptions options = with_jobs(jobs);
    options.adjacent = options.skip_bad = true;
    options.fields = {"2"};
    options.chunk_records = 2;
    CHECK(run(options, "x\ta\nx\tb\nbad\nx\tc\nx\td\n").out ==
          "1\t\ta\n2\ta\tb\n4\t\tc\n5\tc\td\n");
  }
}

TEST_CASE("stream: CSV in place of TSV is named") {
  StreamOptions options = with_jobs(1);
  options.header = true;
  const std::string hint = "; commas separate fields with `csv`";
  for (const char* field : {"text", "2"}) {
    options.fields = {field};
    CHECK(run(options, "label,text\n1,2\n").error.ends_with(hint));
    CHECK(run(options, "label\n1\n").error.find("comma") == std::string::npos);
  }
}

TEST_CASE("stream: fields by number and name, a header for each file") {
  StreamOptions options;
  options.fields = {"2"};
  CHECK(run(options, "a\tb\nc\td\te\r\n").out == "1\tb\n2\td\n");
  CHECK(run(options, "a\tb\nc\n").out == "1\tb\n");
  CHECK(run(options, "a\tb\nc\n")
            .error.ends_with("record 2: found 1 field, wants at least 2, separated by tabs"));

  options.texts = 2;
  options.fields = {};
  CHECK(run(options, "a\tb\tc\n").out == "1\ta\tb\n");
  options.fields = {"3", "1"};
  CHECK(run(options, "a\tb\tc\n").out == "1\tc\ta\n");

  options.header = true;
  options.fields = {"q", "text"};
  options.output_names = {"score"};
  options.keeps_line = true;
  CHECK(run(options, "text\tid\tq\r\na\t1\tb\r\n").out == "score\ttext\tid\tq\r\n1\tb\ta\n");
  CHECK(run(options, "text\tid\n").kind == 65);

  const TemporaryFile one("text\tq\na\tb\n"), two("q\ttext\nc\td\n");
  options.files = {one.path(), two.path()};
  CHECK(run(options, "").out == "score\ttext\tq\n1\tb\ta\n");  // lines have other columns
  CHECK(run(options, "").kind == 65);
  options.keeps_line = false;
  CHECK(run(options, "").out == "score\n1\tb\ta\n2\tc\td\n");

  for (const std::string bad : {"0", "", "x", "-1", "1x", "99999999999999999999999"}) {
    StreamOptions wrong;
    wrong.fields = {bad};
    CHECK(run(wrong, "a\n").kind == 64);
  }
  StreamOptions few;
  few.texts = 2;
  few.fields = {"1"};
  CHECK(run(few, "a\n").kind == 64);
}

TEST_CASE("stream: a missing file is told and the others are done") {
  const TemporaryFile one("a\nb"), two("c\n");
  StreamOptions options;
  options.files = {one.path(), "/nonexistent", "/", two.path()};
  const Result result = run(options, "");
  CHECK(result.out == "1\ta\n2\tb\n3\tc\n");
  REQUIRE(result.skipped.size() == 2);
  CHECK(result.skipped[0] == "/nonexistent: cannot open: No such file or directory");
  CHECK(result.skipped[1] == "/: is a directory, wants a file of records");
}

TEST_CASE("stream: a slow producer gets each row before it sends the next line") {
  for (const int jobs : {1, 4}) {
    Pipe in, out;
    StreamOptions options = with_jobs(jobs);
    options.files = {in.path(0)};
    options.output_fd = out.ends[1];
    auto done = std::async(std::launch::async, [&] {
      return stream(options, [] { return std::make_unique<Echo>(); });
    });
    const auto talk = [&](int first) {
      for (int i = first; i < first + 20; ++i) {
        in.put("hello\n");
        const std::string row = fmt::format("{}\thello\n", i);
        REQUIRE(out.get(row.size()) == row);
      }
    };
    talk(1);
    // A burst brings the threads to life; then one line at a time again.
    std::string burst, expected;
    for (int i = 21; i < 2021; ++i) {
      burst += "b\n";
      expected += fmt::format("{}\tb\n", i);
    }
    in.put(burst);
    CHECK(out.get(expected.size()) == expected);
    talk(2021);
    // Half a line is no record, until the end.
    in.put("half");
    std::this_thread::sleep_for(20ms);
    in.close_end(1);
    // The stream opened the pipe's read end by its name, so ours must not keep it alive.
    CHECK(out.get(10) == "2041\thalf\n");
    CHECK(done.get().records == 2041);
  }
}

TEST_CASE("stream: a failure ends the run while the producer sleeps") {
  for (const bool full_disk : {false, true}) {
    Pipe in;
    StreamOptions options = with_jobs(4);
    options.files = {in.path(0)};
    options.chunk_records = 1;
    options.output_fd = ::open(full_disk ? "/dev/full" : "/dev/null", O_WRONLY);
    std::string input;
    for (int i = 0; i < 50; ++i) input += "wait\n";
    in.put(input + (full_disk ? "" : "fail\n"));
    auto done = std::async(std::launch::async, [&] {
      try {
        stream(options, [] { return std::make_unique<Echo>(); });
      } catch (const Error& error) {
        return error.kind();
      }
      return Error::Kind::internal;
    });
    REQUIRE(done.wait_for(10s) == std::future_status::ready);
    CHECK(done.get() == (full_disk ? Error::Kind::io : Error::Kind::data));
    ::close(options.output_fd);
  }
}

TEST_CASE("stream: a reader that does not read holds the input back") {
  Pipe in, out;
  StreamOptions options = with_jobs(4);
  options.files = {in.path(0)};
  options.output_fd = out.ends[1];
  auto done = std::async(std::launch::async,
                         [&] { return stream(options, [] { return std::make_unique<Echo>(); }); });
  // Non-blocking, so that we see when nothing more is taken.
  const std::string line(1000, 'z');
  REQUIRE(fcntl(in.ends[1], F_SETFL, O_NONBLOCK) == 0);
  size_t taken = 0;
  for (int quiet = 0; quiet < 20;) {
    const ssize_t n = ::write(in.ends[1], (line + "\n").data(), line.size() + 1);
    if (n > 0) taken += static_cast<size_t>(n);
    if (n < 0) {
      ++quiet;
      std::this_thread::sleep_for(5ms);
    }
  }
  CHECK(taken < 2 << 20);  // two pipes, the reader's buffer, some chunks of 16 kB
  in.close_end(1);
  const size_t records = (taken + line.size()) / (line.size() + 1);
  for (size_t rows = 0; rows < records;) {
    const std::string text = out.get(1);
    REQUIRE(text.size() == 1);
    rows += text[0] == '\n';
  }
  CHECK(done.get().records == records);
}

TEST_CASE("stream: what cannot be written is an error with its reason") {
  StreamOptions options;
  const TemporaryFile in("a\n");
  options.files = {in.path()};
  options.output_fd = ::open("/dev/full", O_WRONLY);
  CHECK_THROWS_WITH_AS(stream(options, [] { return std::make_unique<Echo>(); }),
                       "stdout: write error: No space left on device", Error);
  ::close(options.output_fd);
  options.output_fd = ::open("/dev/null", O_RDONLY);
  CHECK_THROWS_WITH_AS(stream(options, [] { return std::make_unique<Echo>(); }),
                       "stdout: write error: Bad file descriptor", Error);
  ::close(options.output_fd);
}

}  // namespace
}  // namespace bert
