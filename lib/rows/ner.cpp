#include "rows/ner.h"

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

NerWorker::NerWorker(const TokenLabelPredictor& predictor, const NerOptions& ner,
                     const TaskOptions& options, TagSink sink)
    : TaskWorker(predictor.tokenizer(), options),
      predictor_(predictor),
      scorer_(predictor.head()),
      ner_(ner),
      sink_(std::move(sink)) {
  if (!by_word(ner_.aggregation) && (ner_.output == NerOutput::columns || ner_.gold)) {
    throw Error::of_field(
        "aggregation", fmt::format("found '{}', wants first, average or max, as words are labelled",
                                   ner.aggregation == Aggregation::none ? "none" : "simple"));
  }
}

void NerWorker::run(std::span<const Record> records, Rows& rows) {
  texts_.resize(std::max(texts_.size(), records.size()));
  sentences_.resize(texts_.size());
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) {
    find_words(records[i], i);
    note(records[i], predictor_.read(texts_[i], i, reader_, sequences_));
  }
  predictor_.predict(sequences_, std::span(texts_).first(records.size()), scorer_, batcher_);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!predictor_.choose(ner_.aggregation, texts_[i])) note_non_finite(records[i]);
    if (sink_) once(records[i], [&] { evaluate(i); });
    write_entities(records[i], i, rows);
  }
}

/// Sets the text, and the words that it has of its own.
void NerWorker::find_words(const Record& record, size_t i) {
  LabelledText& text = texts_[i];
  text.text = record.text;
  text.words.clear();
  text.given_words = ner_.input != NerInput::text;
  if (ner_.input == NerInput::columns) return split_columns(record, i);
  constexpr std::string_view kBlanks = " \t";
  for (size_t at = 0; text.given_words;) {
    at = text.text.find_first_not_of(kBlanks, at);
    if (at == text.text.npos) return;
    const size_t end = std::min(text.text.find_first_of(kBlanks, at), text.text.size());
    text.words.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
}

void NerWorker::split_columns(const Record& record, size_t i) {
  auto& [joined, lines] = sentences_[i];
  lines.clear();
  joined.clear();
  for (std::string_view rest = record.text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const ConllLine line = parse_conll(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.line.empty()) lines.push_back(line);
  }
  check_sentence(lines, ner_.gold, [&, &lines = lines](size_t line, const std::string& what) {
    record.fail(Error::Kind::data,
                fmt::format("the line '{}' {}", printable(lines[line].line), what));
  });
  for (const ConllLine& line : lines) {
    if (!joined.empty() && !line.word.empty()) joined += ' ';
    const auto begin = static_cast<uint32_t>(joined.size());
    joined += line.word;
    texts_[i].words.push_back({begin, static_cast<uint32_t>(joined.size())});
  }
  texts_[i].text = joined;
}

void NerWorker::evaluate(size_t i) const {
  std::vector<std::string_view> gold, predicted;
  const std::vector<ConllLine>& lines = sentences_[i].lines;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (!lines[k].has_word()) continue;
    gold.push_back(lines[k].label);
    predicted.push_back(predictor_.tag(texts_[i].labels[k]));
  }
  if (!gold.empty()) sink_(gold, predicted);
}

size_t NerWorker::position(std::string_view text, size_t byte) const {
  return options_.chars ? count_code_points(text.substr(0, byte)) : byte;
}

EntityRow NerWorker::row_of(std::string_view text, const Entity& e) const {
  return {position(text, e.begin), position(text, e.end), e.type, e.score,
          text.substr(e.begin, e.end - e.begin)};
}

void NerWorker::write_entities(const Record& record, size_t i, Rows& rows) const {
  if (options_.json) return write_json(record, i, rows);
  if (ner_.output == NerOutput::columns) return write_columns(i, rows);
  const std::vector<Entity> found = entities(texts_[i]);
  if (ner_.output == NerOutput::marked) {
    return write(record, MarkedRow{marked(texts_[i], found)}, rows);
  }
  for (const Entity& entity : found) write(record, row_of(texts_[i].text, entity), rows);
}

/// The text, its entities marked.
std::string NerWorker::marked(const LabelledText& s, std::span<const Entity> entities) {
  std::string marked;
  size_t written = 0;
  for (const Entity& e : entities) {
    // Two may share a letter with its marks.
    const size_t begin = std::max<size_t>(
        without_blank(s.text, {static_cast<uint32_t>(e.begin), static_cast<uint32_t>(e.end)}).begin,
        written);
    if (begin >= e.end) continue;
    marked += s.text.substr(written, begin - written);
    marked += fmt::format("<{0}>{1}</{0}>", e.type, s.text.substr(begin, e.end - begin));
    written = e.end;
  }
  return marked += s.text.substr(written);
}

/// A word and its label, or the line as it came and, unless it is a comment, the label; then an
/// empty row.
void NerWorker::write_columns(size_t index, Rows& rows) const {
  const LabelledText& s = texts_[index];
  const std::vector<ConllLine>& lines = sentences_[index].lines;
  for (size_t i = 0; i < s.labels.size(); ++i) {
    if (ner_.input == NerInput::columns) {
      rows.raw() += lines[i].line;
      if (!lines[i].comment) {
        rows.raw() += lines[i].separator;
        rows.raw() += predictor_.tag(s.labels[i]);
      }
    } else {
      const Offset at = without_blank(s.text, bytes(s, i));
      size_t begin = at.begin, end = at.end;
      include_marks(s.text, begin, end);
      rows.field(s.text.substr(begin, end - begin)).field(predictor_.tag(s.labels[i]));
    }
    rows.end();
  }
  rows.end();
}

void NerWorker::write_json(const Record& record, size_t i, Rows& rows) const {
  const LabelledText& s = texts_[i];
  Record shown = record;
  shown.text = s.text;
  const std::vector<Entity> found = entities(s);
  Cells cells = begin(shown, rows, Repeats::text);
  if (ner_.output == NerOutput::marked) MarkedRow{marked(s, found)}.cells(cells);
  JsonRow json(rows.raw());
  json.list("entities");
  for (const Entity& entity : found) add_object(rows, row_of(s.text, entity));
  json.end_list();
  if (ner_.scores) add_scores(i, json);
  end(record, rows);
}

/// Each word (or token) with the probability of each label.
void NerWorker::add_scores(size_t index, JsonRow& json) const {
  const LabelledText& s = texts_[index];
  const std::vector<ConllLine>& lines = sentences_[index].lines;
  json.list(by_word(ner_.aggregation) ? "words" : "tokens");
  const std::vector<std::string>& labels = predictor_.labels();
  for (size_t i = 0; i < s.labels.size(); ++i) {
    if (by_word(ner_.aggregation) && !lines.empty() && lines[i].comment) continue;
    const LabelledWord& word = s.labels[i];
    const Offset at = bytes(s, i);
    json.object().text("label", predictor_.tag(word)).number("score", word.score);
    json.count("start", position(s.text, at.begin)).count("end", position(s.text, at.end));
    json.text("text", s.text.substr(at.begin, at.end - at.begin)).list("scores");
    for (size_t k = 0; word.count > 0 && k < labels.size(); ++k) {
      json.object().text("label", labels[k]);
      json.exact("score", s.scores[word.first * labels.size() + k]).end_object();
    }
    json.end_list().end_object();
  }
  json.end_list();
}

}  // namespace bert
