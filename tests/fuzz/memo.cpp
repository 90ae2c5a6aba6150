// What a tool says to memo, and memo to a tool. The first byte chooses who reads: what is taken is
// written again as it was.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "memo/protocol.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void greeting(std::string_view bytes) {
  bert::Greeting found, again;
  const size_t before = bytes.size();
  if (!bert::take_greeting(bytes, found)) {
    require(bytes.size() == before);
    return;
  }
  const std::string written = found.bytes();
  std::string_view rest = written;
  require(bert::take_greeting(rest, again) && rest.empty());
  require(again.begin == found.begin && again.key == found.key);
  require(again.terminator == found.terminator && again.header == found.header);
  bert::row_begin(found.numbers, 1);
}

void replies(std::string_view bytes) {
  const std::string_view all = bytes;
  bert::Reply found, again;
  while (!bytes.empty()) {
    const size_t before = bytes.size();
    if (!bert::take_reply(bytes, found)) {
      require(bytes.size() == before);
      return;
    }
    require(bytes.size() < before);
    require(all.substr(all.size() - before, 200).find('\n') != all.npos);
    std::string written;
    bert::append_reply(written, found);
    std::string_view rest = written;
    require(bert::take_reply(rest, again) && rest.empty());
    require(again.number == found.number && again.rows == found.rows);
    require(again.message == found.message);
  }
}

void request(std::string_view bytes) {
  const std::string name = "fuzz";
  bert::Record record;
  record.line = bytes;
  record.file = &name;
  const std::string file(bert::take_request(record));
  record.file = &file;
  std::string written;
  bert::append_request(written, record, '\n');
  bert::Record again;
  written.pop_back();
  again.line = written;
  again.file = &name;
  bert::take_request(again);
  require(again.line == record.line && again.number == record.number);
  require(again.number_in_file == record.number_in_file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Kind = bert::Error::Kind;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 0) greeting(bytes);
    if (data[0] % 3 == 1) replies(bytes);
    if (data[0] % 3 == 2) request(bytes);
  } catch (const bert::Error& error) {
    require(error.kind() == (data[0] % 3 == 2 ? Kind::data : Kind::protocol));
  }
  return 0;
}
