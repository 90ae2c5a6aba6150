#include "rows/entity_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/words.h"

namespace bert {

void EntityRow::cells(Cells& c) const {
  const auto place = [&] { c.count("start", start).count("end", end); };
  const bool json = c.members().has_value();
  if (!json) place();
  c.text("type", type).number("score", score);
  if (json) place();
  c.passage("text", text);
}

void EntityWorker::run(std::span<const Record> records, Rows& rows) {
  make_texts(records.size());
  sentences_.resize(std::max(sentences_.size(), records.size()));
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) {
    find_words(records[i], i);
    read(records[i], i);
  }
  predict(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    if (!choose(i)) note_non_finite(records[i]);
    if (sink_) once(records[i], [&] { evaluate(i); });
    write_entities(records[i], i, rows);
  }
}

/// Sets the text, and the words that it has of its own.
void EntityWorker::find_words(const Record& record, size_t i) {
  WordedText& text = this->text(i);
  text.text = record.text;
  text.words.clear();
  text.given_words = shape_.input != NerInput::text;
  if (shape_.input == NerInput::columns) return split_columns(record, i);
  constexpr std::string_view kBlanks = " \t";
  for (size_t at = 0; text.given_words;) {
    at = text.text.find_first_not_of(kBlanks, at);
    if (at == text.text.npos) return;
    const size_t end = std::min(text.text.find_first_of(kBlanks, at), text.text.size());
    text.words.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
}

void EntityWorker::split_columns(const Record& record, size_t i) {
  auto& [joined, lines] = sentences_[i];
  lines.clear();
  joined.clear();
  for (std::string_view rest = record.text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const ConllLine line = parse_conll(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.line.empty()) lines.push_back(line);
  }
  check_sentence(lines, shape_.gold, [&, &lines = lines](size_t line, const std::string& what) {
    record.fail(Error::Kind::data,
                fmt::format("the line '{}' {}", printable(lines[line].line), what));
  });
  for (const ConllLine& line : lines) {
    if (!joined.empty() && !line.word.empty()) joined += ' ';
    const auto begin = static_cast<uint32_t>(joined.size());
    joined += line.word;
    text(i).words.push_back({begin, static_cast<uint32_t>(joined.size())});
  }
  text(i).text = joined;
}

void EntityWorker::evaluate(size_t i) const {
  std::vector<std::string_view> gold, predicted;
  const std::vector<std::string_view> all = tags(i);
  for (size_t k = 0; k < lines(i).size(); ++k) {
    if (!lines(i)[k].has_word()) continue;
    gold.push_back(lines(i)[k].label);
    predicted.push_back(all[k]);
  }
  if (!gold.empty()) sink_(gold, predicted);
}

size_t EntityWorker::position(std::string_view text, size_t byte) const {
  return options_.chars ? count_code_points(text.substr(0, byte)) : byte;
}

EntityRow EntityWorker::row_of(std::string_view text, const Entity& e) const {
  return {position(text, e.begin), position(text, e.end), e.type, e.score,
          text.substr(e.begin, e.end - e.begin)};
}

void EntityWorker::write_entities(const Record& record, size_t i, Rows& rows) const {
  if (options_.json) return write_json(record, i, rows);
  if (shape_.output == NerOutput::columns) return write_columns(i, rows);
  const std::vector<Entity> found = entities(i);
  if (shape_.output == NerOutput::marked) {
    return write(record, MarkedRow{marked(text(i).text, found)}, rows);
  }
  for (const Entity& entity : found) write(record, row_of(text(i).text, entity), rows);
}

/// The text, its entities marked: those that others lie in around these.
std::string EntityWorker::marked(std::string_view text, std::vector<Entity> entities) const {
  std::stable_sort(entities.begin(), entities.end(), [&](const Entity& a, const Entity& b) {
    return shape_.nested && (a.begin != b.begin ? a.begin < b.begin : a.end > b.end);
  });
  std::string marked;
  size_t written = 0;
  std::vector<const Entity*> open;
  const auto write_to = [&](size_t end) {
    marked += text.substr(written, end - written);
    written = end;
  };
  const auto close = [&] {
    write_to(open.back()->end);
    marked += fmt::format("</{}>", open.back()->type);
    open.pop_back();
  };
  for (const Entity& e : entities) {
    size_t begin =
        without_blank(text, {static_cast<uint32_t>(e.begin), static_cast<uint32_t>(e.end)}).begin;
    while (!open.empty() &&
           (!shape_.nested || open.back()->end <= begin || open.back()->end < e.end)) {
      close();
    }
    begin = std::max(begin, written);  // two may share a letter with its marks
    if (begin >= e.end) continue;
    write_to(begin);
    marked += fmt::format("<{}>", e.type);
    open.push_back(&e);
  }
  while (!open.empty()) close();
  write_to(text.size());
  return marked;
}

/// A word and its label, or the line as it came and, unless it is a comment, the label; then an
/// empty row.
void EntityWorker::write_columns(size_t index, Rows& rows) const {
  const std::vector<std::string_view> labels = tags(index);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (shape_.input == NerInput::columns) {
      const ConllLine& line = lines(index)[i];
      rows.raw() += line.line;
      if (!line.comment) {
        rows.raw() += line.separator;
        rows.raw() += labels[i];
      }
    } else {
      const Offset at = shown_word(index, i);
      rows.field(text(index).text.substr(at.begin, at.end - at.begin)).field(labels[i]);
    }
    rows.end();
  }
  rows.end();
}

void EntityWorker::write_json(const Record& record, size_t i, Rows& rows) const {
  Record shown = record;
  shown.text = text(i).text;
  const std::vector<Entity> found = entities(i);
  Cells cells = begin(shown, rows, Repeats::text);
  if (shape_.output == NerOutput::marked) MarkedRow{marked(shown.text, found)}.cells(cells);
  JsonRow json(rows.raw());
  json.list("entities");
  for (const Entity& entity : found) add_object(rows, row_of(shown.text, entity));
  json.end_list();
  add_scores(i, json);
  end(record, rows);
}

}  // namespace bert
