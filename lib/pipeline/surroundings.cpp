#include "pipeline/surroundings.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "pipeline/worker.h"

namespace bert {
namespace {

/// Takes the texts of records that are wanted.
class Taker : public Worker {
 public:
  Taker(std::map<uint64_t, NearRecord>& texts, bool whole_lines)
      : texts_(texts), whole_lines_(whole_lines) {}
  void run(std::span<const Record> records, Rows&) override {
    for (const Record& record : records) {
      const auto wanted = texts_.find(record.number);
      if (wanted == texts_.end()) continue;
      wanted->second = {*record.file, record.number, record.number_in_file,
                        std::string(whole_lines_ ? record.line : record.text)};
    }
  }

 private:
  std::map<uint64_t, NearRecord>& texts_;
  bool whole_lines_;
};

}  // namespace

void Surroundings::want(uint64_t number) {
  const uint64_t first = number - std::min<uint64_t>(around_, number - 1);
  for (uint64_t n = first; n <= number + around_; ++n) texts_[n];
}

void Surroundings::read(StreamOptions stream, bool told) {
  stream.jobs = 1;
  stream.begin = {};
  stream.progress = {};
  stream.write_place = {};
  stream.output_names.clear();
  stream.write = [](std::string_view) {};
  stream.on_skipped = [told](const Error& error) {
    if (!told) throw Error(error);
  };
  try {
    bert::stream(stream, [&] { return std::make_unique<Taker>(texts_, stream.keeps_line); });
  } catch (const Error&) {
    if (!told) throw;
  }
}

std::vector<const NearRecord*> Surroundings::of(uint64_t number, int side) const {
  const NearRecord& own = texts_.at(number);
  std::vector<const NearRecord*> found;
  const uint64_t least = side < 0 ? number - std::min<uint64_t>(around_, number - 1) : number;
  const uint64_t most = side > 0 ? number + around_ : number;
  for (auto at = texts_.find(least); at != texts_.end() && at->first <= most; ++at) {
    const NearRecord& text = at->second;
    const bool in_file = text.number - text.record == own.number - own.record;
    if (text.number > 0 && in_file && (side == 0 || at->first != number)) found.push_back(&text);
  }
  return found;
}

}  // namespace bert
