// lib/memo: the store, what memo and its tool say to each other.
#include <doctest/doctest.h>

#include <fstream>
#include <thread>

#include "base/error.h"
#include "memo/protocol.h"
#include "memo/served_rows.h"
#include "memo/store.h"
#include "temporary.h"

using namespace bert;
using namespace bert::test;

namespace {

using Mode = MemoStore::Mode;

Error::Kind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  return Error::Kind::internal;
}

}  // namespace

TEST_CASE("the store finds what was kept for the same key and record, saved or not") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/c";
  const std::string record("a\0b\xff\n", 5), rows("1\t\0\n2\n", 7);
  {
    MemoStore store(path, Mode::create);
    store.choose("tool --x");
    CHECK(!store.find(record));
    CHECK(!store.waits());
    store.keep(record, rows);
    store.keep("", "");
    CHECK(store.waits());
    CHECK(store.find(record) == rows);
    store.save();
    CHECK(!store.waits());
    store.keep("not saved", "1");
  }
  MemoStore store(path, Mode::existing);
  store.choose("tool --y");
  CHECK(!store.find(record));
  store.choose("tool --x");
  CHECK(store.find(record) == rows);
  CHECK(store.find("") == "");
  CHECK(!store.find("not saved"));
  CHECK(!store.find(record.substr(0, 4)));
  store.keep(record, "other");  // kept already: the first rows stay
  store.save();
  CHECK(store.find(record) == rows);
  const auto calls = store.calls();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].key == "tool --x");
  CHECK(calls[0].records == 2);
  CHECK(calls[0].bytes == record.size() + rows.size());
  CHECK(store.prune(1) == 0);
  CHECK(store.prune(0) == 2);
  CHECK(store.calls().empty());
  CHECK(!store.find(record));
}

TEST_CASE("two stores of one file see what the other has saved") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/c";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      MemoStore store(path, Mode::create);
      store.choose("tool");
      for (int i = 0; i < 200; ++i) {
        store.keep(std::to_string(i % 150), "row");
        if (i % 20 == t) store.save();
      }
      store.save();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(MemoStore(path, Mode::existing).calls().at(0).records == 150);
}

TEST_CASE("a file that is no cache, of another program or version, missing or damaged") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/c";
  const auto open = [&] { MemoStore(path, Mode::existing); };
  CHECK(kind_of(open) == Error::Kind::no_input);
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(kind_of(open) == Error::Kind::data);
  CHECK(kind_of([&] { MemoStore(path, Mode::create); }) == Error::Kind::data);
  std::filesystem::remove(path);
  {
    MemoStore store(path, Mode::create);
    store.choose("tool");
    store.keep("the record", "the right rows of it");
    store.save();
  }
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto write = [&](const std::string& changed) {
    std::ofstream(path, std::ios::binary) << changed;
  };
  const size_t rows = bytes.find("the right rows");
  REQUIRE(rows != bytes.npos);
  std::string changed = bytes;
  changed[rows] = 'T';
  write(changed);
  const auto find = [&] {
    MemoStore store(path, Mode::existing);
    store.choose("tool");
    CHECK(!store.find("another record"));
    store.find("the record");
  };
  CHECK(kind_of(find) == Error::Kind::data);
  changed = bytes;
  changed[63] = 9;  // user_version
  write(changed);
  CHECK(kind_of(open) == Error::Kind::data);
  changed = bytes;
  changed[68] = 9;  // application_id
  write(changed);
  CHECK(kind_of(open) == Error::Kind::data);
}

TEST_CASE("greetings, requests and replies are read as they were written, in any pieces") {
  Greeting greeting{'\0',
                    false,
                    Greeting::Numbers::json,
                    true,
                    false,
                    Wanted::objects,
                    "# begin\n",
                    "key\twith\nbytes"};
  std::string bytes = greeting.bytes();
  append_reply(bytes, {7, std::string("a\0\n", 3), ""});
  append_reply(bytes, {8, "", "FILE: record 8: bad"});
  std::string got;
  size_t greetings = 0;
  std::vector<Reply> replies;
  for (const char c : bytes) {
    got += c;
    std::string_view rest = got;
    Reply reply;
    Greeting read;
    if (greetings == 0) {
      if (!take_greeting(rest, read)) continue;
      ++greetings;
      CHECK(read.bytes() == greeting.bytes());
    } else if (take_reply(rest, reply)) {
      replies.push_back(reply);
    }
    got = rest;
  }
  CHECK(got.empty());
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].number == 7);
  CHECK(replies[0].rows == std::string("a\0\n", 3));
  CHECK(replies[1].message == "FILE: record 8: bad");
  for (const std::string wrong : {"hello\n", "memo 2 10 0 0 0 0 0 0\n", "memo 3 x\n"}) {
    std::string_view rest = wrong;
    Greeting read;
    CHECK_THROWS_AS(take_greeting(rest, read), Error);
  }

  const std::string file = "a\tb\n";
  std::string request;
  append_request(request, {.line = "x\ty\r", .number = 12, .number_in_file = 3, .file = &file},
                 '\n');
  CHECK(request == "20\t12\t3\ta\\x09b\\x0a\tx\ty\r\n");
  request.pop_back();
  Record record{.line = request, .file = &file};
  CHECK(take_request(record) == "a\\x09b\\x0a");
  CHECK(record.line == "x\ty\r");
  CHECK(record.number == 12);
  CHECK(record.number_in_file == 3);
  for (const char* wrong : {"", "x", "1\t2", "5\t1\t2\tf", "7\t1 2\tf\tx", "8\t-1\t2\tf\tx",
                            "8\t1\t2\tf\tx", "1\t2\tf\tx"}) {
    Record bad{.line = wrong, .file = &file};
    CHECK_THROWS_AS(take_request(bad), Error);
  }
}

TEST_CASE("a key that another process prunes is made again, and no other key gets its rows") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/c";
  MemoStore store(path, Mode::create), other(path, Mode::existing);
  store.choose("tool --x");
  store.keep("1", "x");
  store.save();
  CHECK(other.prune(0) == 1);
  other.choose("tool --y");
  other.keep("1", "y");
  other.save();
  CHECK(!store.find("1"));
  store.keep("1", "x");
  store.keep("2", "x");
  store.save();
  CHECK(store.find("1") == "x");
  CHECK(other.find("1") == "y");
  CHECK(!other.find("2"));
  CHECK(other.calls().size() == 2);
}

TEST_CASE("replies whose sizes are too large, and greetings with wrong numbers are refused") {
  for (const std::string wrong :
       {"1 18446744073709551615 1\nx", "1 1 18446744073709551615\nx", "1 9999999999999 0\n"}) {
    std::string_view rest = wrong;
    Reply reply;
    CHECK(kind_of([&] { take_reply(rest, reply); }) == Error::Kind::protocol);
  }
  for (const std::string wrong :
       {"memo 3 300 0 0 0 0 0 0 0\n", "memo 3 5 0 0 0 0 0 0 0\n", "memo 3 10 2 0 0 0 0 0 0\n",
        "memo 3 10 0 3 0 0 0 0 0\n", "memo 3 10 0 0 2 0 0 0 0\n", "memo 3 10 0 0 0 0 8 0 0\n",
        "memo 3 10 0 0 0 0 0 18446744073709551615 3\nkey"}) {
    std::string_view rest = wrong;
    Greeting greeting;
    CHECK(kind_of([&] { take_greeting(rest, greeting); }) == Error::Kind::protocol);
  }
}
