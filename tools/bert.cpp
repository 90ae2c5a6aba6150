// bert - run any tool of bertutils by one name. See man/bert.1.
// It does not link libbert: it must start in no time, since each tool starts behind it.
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bert/completion.h"
#include "bert/lists.h"
#include "bert/pages.h"
#include "bert/programs.h"

using namespace bert;

namespace {

using Words = std::vector<std::string>;

void print(int file, const std::string& whole) {
  const std::string shown = isatty(file) ? printable_lines(whole) : whole;
  std::string_view text = shown;
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno != EINTR) throw Error::from_errno("stdout", "write error", errno);
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
}

/// Throws Error(usage) if a word is left behind `count` words.
void want_no_more(const Words& words, size_t count) {
  if (words.size() <= count) return;
  throw Error(Error::Kind::usage, "",
              "unexpected argument '" + printable(words[count]) + "' (see bert --help)");
}

std::string text_of_option(const std::string& option, const Words& words) {
  if (option == "--version") {
    want_no_more(words, 1);
    return "bert (bertutils) " BERT_VERSION "\n";
  }
  if (option == "--completion" && words.size() == 2) return driver::completion(words[1]);
  if (option == "--exec-path") {
    want_no_more(words, 2);
    const bool all = words.size() == 1;
    return (all ? driver::own_folder() : driver::find_program(words[1]).path) + "\n";
  }
  driver::throw_unknown("option", option, {"--help", "--version", "--exec-path"});
}

void run(Words words) {
  // memo puts this before the arguments of its tool, which is `bert` here.
  if (words[0] == "--memo" && words.size() > 1) std::swap(words[0], words[1]);
  const std::string& word = words[0];
  const Words arguments(words.begin() + 1, words.end());
  if (word == "help" || word == "--help" || word == "-h") {
    want_no_more(words, 2);
    if (!arguments.empty()) driver::show_page(arguments[0]);
    print(STDOUT_FILENO, driver::usage());
  } else if (word == "list") {
    if (arguments == Words{"--help"}) driver::show_page(word);
    want_no_more(words, 1);
    print(STDOUT_FILENO, driver::list(isatty(STDOUT_FILENO) != 0));
  } else if (word == "models") {
    Words row = {"--models"};
    row.insert(row.end(), arguments.begin(), arguments.end());
    driver::execute(driver::find_program("info").path, row);
  } else if (word.starts_with('-')) {
    print(STDOUT_FILENO, text_of_option(word, words));
  } else {
    driver::execute(driver::find_program(word).path, arguments);
  }
}

int complain(const Error& error) {
  const std::string line = std::string("bert: ") + error.what() + "\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
  return static_cast<int>(error.kind());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) {
      print(STDERR_FILENO, driver::usage());
      return static_cast<int>(Error::Kind::usage);
    }
    run({argv + 1, argv + argc});
    if (close(STDOUT_FILENO) != 0 && errno != EINTR)
      throw Error::from_errno("stdout", "write error", errno);
  } catch (const Error& error) {
    return complain(error);
  } catch (const std::bad_alloc&) {
    return complain(Error(Error::Kind::no_memory, "", "out of memory"));
  }
  return 0;
}
