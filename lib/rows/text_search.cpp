#include "rows/text_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "rows/text_vectors.h"

namespace bert {

bool SearchResult::empty() const {
  return std::all_of(nearest.begin(), nearest.end(), [](const auto& n) { return n.empty(); });
}

void SearchResult::expect_texts(const std::string& file) {
  for (const auto& neighbours : nearest) {
    for (const Neighbour& n : neighbours) texts[n.index] = {file, n.index + 1, n.index + 1, 0, ""};
  }
}

void SearchResult::rank(TextRanking& ranking) const {
  for (const Neighbour& n : nearest[0]) {
    FoundText found = texts.at(n.index);
    found.score = n.score;
    ranking.add(std::move(found));
  }
}

void NeighbourRow::cells(Cells& c) const {
  c.count("record", record).count("rank", rank).number("score", score);
  c.count("neighbour", neighbour);
  if (auto json = c.members()) json->text("file", file);
  if (Rows* fields = c.fields(); fields && line) fields->field(*line);
  c.text("text", text);
}

void SearchResult::write_neighbours(size_t query, uint64_t number, Rows& rows, bool json,
                                    const std::string* line) const {
  size_t rank = 0;
  for (const Neighbour& n : nearest[query]) {
    const FoundText& found = texts.at(n.index);
    add_row(rows, json,
            NeighbourRow{number, ++rank, n.score, found.number, found.file, found.text, line});
  }
}

FoundText found_text(const Record& record, bool whole_line) {
  return {*record.file, record.number, record.number_in_file, 0,
          std::string(whole_line ? record.line : record.text)};
}

void TextSearch::add(std::span<const Record> records, ConstMatrix vectors) {
  const auto finite = [&](size_t i) { return is_finite({vectors.row(i), vectors.cols}); };
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < records.size();) {
    if (!finite(i)) {
      ++i;
      continue;
    }
    // A run of records without a gap is one block.
    const uint64_t number = records[i].number;
    size_t end = i + 1;
    while (end < records.size() && records[end].number == number + end - i && finite(end)) ++end;
    search_.add(vectors.slice(i, end - i), number - 1);
    for (; i < end; ++i) {
      FoundText found = found_text(records[i], whole_lines_);
      bytes_ += found.text.size();
      texts_.emplace(records[i].number - 1, std::move(found));
    }
  }
  if (texts_.size() > most_texts_ || bytes_ > most_bytes_) forget_texts();
}

/// Forgets the texts that are not among the nearest of a query any more.
void TextSearch::forget_texts() {
  std::unordered_set<uint64_t> kept;
  for (size_t q = 0; q < queries_; ++q) {
    for (const Neighbour& n : search_.nearest(q)) kept.insert(n.index);
  }
  std::erase_if(texts_, [&](const auto& entry) { return !kept.contains(entry.first); });
  bytes_ = 0;
  for (const auto& [index, found] : texts_) bytes_ += found.text.size();
  most_texts_ = std::max(most_texts_, 2 * texts_.size());
  most_bytes_ = std::max(most_bytes_, 2 * bytes_);
}

SearchResult TextSearch::result() {
  SearchResult result;
  for (size_t q = 0; q < queries_; ++q) result.nearest.push_back(search_.nearest(q));
  result.texts = std::move(texts_);
  return result;
}

void PickWorker::run(std::span<const Record> records, Rows&) {
  for (const Record& record : records) {
    if (record.number > vectors_) {
      record.fail(Error::Kind::data, fmt::format("has no vector, of which there are {}", vectors_));
    }
    const auto wanted = result_.texts.find(record.number - 1);
    if (wanted != result_.texts.end()) wanted->second = found_text(record, whole_lines_);
  }
}

}  // namespace bert
