#include "memo/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "base/parse.h"
#include "io/csv.h"

namespace bert {
namespace {

constexpr std::string_view kName = "memo 3";
constexpr size_t kLongestLine = 200;                  // of a greeting or reply, up to its LF
constexpr uint64_t kLargestPart = uint64_t{1} << 40;  // bytes; the sum of two fits

[[noreturn]] void refuse(std::string_view found) {
  throw Error(Error::Kind::protocol, "the tool",
              fmt::format("wrote '{}', wants rows for memo", printable(found)));
}

/// Takes a line of `count` numbers and the bytes behind it, of which the last two numbers are the
/// lengths of two parts.
bool take(std::string_view& bytes, size_t count, std::vector<uint64_t>& numbers, std::string& first,
          std::string& second) {
  const size_t end = bytes.substr(0, kLongestLine).find('\n');
  if (end == bytes.npos && bytes.size() < kLongestLine) return false;
  const std::string_view line = bytes.substr(0, end);
  if (end == bytes.npos) refuse(line);
  numbers.clear();
  for (const std::string_view item : split(line, ' ')) {
    const auto number = to_number<uint64_t>(item);
    if (!number) refuse(line);
    numbers.push_back(*number);
  }
  if (numbers.size() != count) refuse(line);
  const uint64_t sizes[] = {numbers[count - 2], numbers[count - 1]};
  if (std::max(sizes[0], sizes[1]) > kLargestPart) refuse(line);
  if (bytes.size() - end - 1 < sizes[0] + sizes[1]) return false;
  first = bytes.substr(end + 1, sizes[0]);
  second = bytes.substr(end + 1 + sizes[0], sizes[1]);
  bytes.remove_prefix(end + 1 + sizes[0] + sizes[1]);
  return true;
}

}  // namespace

std::string Greeting::bytes() const {
  return fmt::format("{} {} {} {} {} {} {} {} {}\n{}{}", kName, static_cast<int>(terminator),
                     static_cast<int>(csv), static_cast<int>(numbers), static_cast<int>(header),
                     static_cast<int>(skip_bad), static_cast<int>(wanted), begin.size(), key.size(),
                     begin, key);
}

bool take_greeting(std::string_view& bytes, Greeting& greeting) {
  const std::string_view start = bytes.substr(0, kName.size());
  if (start != kName.substr(0, start.size())) refuse(bytes);
  if (start.size() < kName.size()) return false;
  std::string_view rest = bytes.substr(std::min(bytes.size(), kName.size() + 1));
  std::vector<uint64_t> numbers;
  constexpr uint64_t kMost[] = {'\n', 1, 2, 1, 1, static_cast<uint64_t>(Wanted::any_text)};
  if (!take(rest, std::size(kMost) + 2, numbers, greeting.begin, greeting.key)) return false;
  for (size_t i = 0; i < std::size(kMost); ++i) {
    if (numbers[i] > kMost[i] || (i == 0 && numbers[i] % '\n' != 0)) refuse(bytes);
  }
  greeting.terminator = static_cast<char>(numbers[0]);
  greeting.csv = numbers[1] != 0;
  greeting.numbers = static_cast<Greeting::Numbers>(numbers[2]);
  greeting.header = numbers[3] != 0;
  greeting.skip_bad = numbers[4] != 0;
  greeting.wanted = static_cast<Wanted>(numbers[5]);
  bytes = rest;
  return true;
}

std::string row_begin(Greeting::Numbers numbers, uint64_t number) {
  switch (numbers) {
    case Greeting::Numbers::none:
      return "";
    case Greeting::Numbers::field:
      return std::to_string(number);
    case Greeting::Numbers::json:
      return "{\"record\":" + std::to_string(number);
  }
  return "";
}

std::string_view take_row(std::string_view& rows, char terminator, bool csv) {
  const size_t end = csv ? CsvScanner().find_end(rows, 0) : rows.find(terminator);
  if (end == rows.npos) return "";
  const std::string_view row = rows.substr(0, end + 1);
  rows.remove_prefix(end + 1);
  return row;
}

void append_request(std::string& out, const Record& record, char terminator) {
  const std::string place =
      fmt::format("{}\t{}\t{}\t", record.number, record.number_in_file, printable(*record.file, 0));
  out += fmt::format("{}\t{}", place.size() + record.line.size(), place);
  out += record.line;
  out += terminator;
}

std::string_view take_request(Record& record) {
  std::string_view line = record.line;
  const auto count = take_number<size_t>(line);
  if (!count || !line.starts_with('\t') || *count != line.size() - 1)
    record.fail(Error::Kind::data, "found no request of memo");
  line.remove_prefix(1);
  const auto number = take_number<uint64_t>(line);
  const size_t first = line.find('\t');
  line.remove_prefix(std::min(line.size(), first + 1));
  const auto in_file = take_number<uint64_t>(line);
  const size_t second = line.find('\t');
  const size_t end = second == line.npos ? line.npos : line.find('\t', second + 1);
  if (!number || first != 0 || !in_file || second != 0 || end == line.npos) {
    record.fail(Error::Kind::data, "found no request of memo");
  }
  record.number = *number;
  record.number_in_file = *in_file;
  record.line = line.substr(end + 1);
  return line.substr(1, end - 1);
}

void append_reply(std::string& out, const Reply& reply) {
  out += fmt::format("{} {} {}\n", reply.number, reply.rows.size(), reply.message.size());
  out += reply.rows;
  out += reply.message;
}

bool take_reply(std::string_view& bytes, Reply& reply) {
  std::vector<uint64_t> numbers;
  if (!take(bytes, 3, numbers, reply.rows, reply.message)) return false;
  reply.number = numbers[0];
  return true;
}

}  // namespace bert
