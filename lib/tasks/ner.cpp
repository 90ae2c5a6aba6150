#include "tasks/ner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json.h"
#include "ops/kernels.h"
#include "text/unicode.h"
#include "tokenizer/words.h"

namespace bert {

NerWorker::NerWorker(const Tokenizer& tokenizer, const Model& model, const TokenClassifier& head,
                     const NerOptions& ner, const TaskOptions& options)
    : TaskWorker(tokenizer, &model, options),
      head_(head),
      scorer_(head),
      scheme_(head.labels()),
      ner_(ner),
      encode_(options.encode) {
  if (!by_word(ner.aggregation) && (ner.output == NerOutput::columns || ner.metrics)) {
    throw Error::of_field(
        "aggregation", fmt::format("found '{}', wants first, average or max, as words are labelled",
                                   ner.aggregation == Aggregation::none ? "none" : "simple"));
  }
  room_ = options.encode.max_length - tokenizer.added_tokens_single();
  encode_.add_special_tokens = false;
  encode_.max_length = options.overflow == Overflow::window ? 0 : room_;
}

void NerWorker::run(std::span<const Record> records, Rows& rows) {
  if (sentences_.size() < records.size()) sentences_.resize(records.size());
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) encode_sentence(records[i], i);
  compute_scores();
  for (size_t i = 0; i < records.size(); ++i) {
    choose_labels(records[i], sentences_[i]);
    if (ner_.metrics) once(records[i], [&] { evaluate(sentences_[i]); });
    write(records[i], sentences_[i], rows);
  }
}

/// Fills all of the record's Sentence but scores and labels, and appends its encodings.
void NerWorker::encode_sentence(const Record& record, size_t owner) {
  Sentence& s = sentences_[owner];
  s.text = record.text;
  s.words.clear();
  s.tokens.clear();
  if (ner_.input == NerInput::text) {
    tokenizer_.encode(s.text, encode_, s.tokens, scratch_);
  } else {
    if (ner_.input == NerInput::columns) {
      split_columns(record, s);
    } else {
      constexpr std::string_view kBlanks = " \t";
      for (size_t at = 0; (at = s.text.find_first_not_of(kBlanks, at)) != s.text.npos;) {
        const size_t end = std::min(s.text.find_first_of(kBlanks, at), s.text.size());
        s.words.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
        at = end;
      }
    }
    encode_words(s);
  }
  note(record, s.tokens);
  add_windows(s, owner);
}

void NerWorker::split_columns(const Record& record, Sentence& s) const {
  s.lines.clear();
  s.joined.clear();
  for (std::string_view rest = record.text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const ConllLine line = parse_conll(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.line.empty()) s.lines.push_back(line);
  }
  check_sentence(s.lines, ner_.metrics != nullptr, [&](size_t line, const std::string& what) {
    record.fail(Error::Kind::data,
                fmt::format("the line '{}' {}", printable(s.lines[line].line), what));
  });
  for (const ConllLine& line : s.lines) {
    if (!s.joined.empty() && !line.word.empty()) s.joined += ' ';
    const auto begin = static_cast<uint32_t>(s.joined.size());
    s.joined += line.word;
    s.words.push_back({begin, static_cast<uint32_t>(s.joined.size())});
  }
  s.text = s.joined;
}

/// Each word by itself, as is_split_into_words of transformers.
void NerWorker::encode_words(Sentence& s) {
  EncodeOptions alone = encode_;
  alone.max_length = 0;
  FramedText words(tokenizer_.frame(), s.tokens, false);
  for (size_t w = 0; w < s.words.size(); ++w) {
    const Offset at = s.words[w];
    const std::string_view word = s.text.substr(at.begin, at.end - at.begin);
    if (w == 0) {
      tokenizer_.encode(word, alone, word_, scratch_);
    } else {
      encode_behind_blank(tokenizer_, word, alone, word_, scratch_);
    }
    s.tokens.replaced_bytes += word_.replaced_bytes;
    for (size_t t = 0; t < word_.size(); ++t) {
      if (encode_.max_length > 0 && s.tokens.size() == encode_.max_length) {
        ++s.tokens.dropped;
        continue;
      }
      const Offset in_word = word_.offsets[t];
      words.push(word_.input_ids[t], {at.begin + in_word.begin, at.begin + in_word.end},
                 static_cast<int32_t>(w));
    }
  }
}

void NerWorker::add_windows(Sentence& s, size_t owner) {
  s.first_encoding = encodings().size();
  cut_windows(s.tokens.size(), room_, window_stride(room_, options_.stride), s.windows);
  for (const TokenWindow& window : s.windows) {
    FramedText framed(tokenizer_.frame(), next_encoding(owner));
    for (size_t t = window.first; t < window.end(); ++t) {
      framed.push(s.tokens.input_ids[t], s.tokens.offsets[t], s.tokens.word_ids[t]);
    }
    framed.finish();
  }
}

/// scores [tokens, labels] of each sentence
void NerWorker::compute_scores() {
  const size_t labels = head_.labels().size(), before = tokenizer_.frame().before.size();
  for (Sentence& s : sentences_) s.scores.resize(s.tokens.size() * labels);
  for_each_batch(
      [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        const Matrix logits = scorer_.logits(batch, hidden, workspace_);  // [T, labels]
        for (size_t i = 0; i < batch.sequences(); ++i) {
          Sentence& s = sentences_[owners_[first + i]];
          const size_t w = first + i - s.first_encoding;
          for (size_t t = 0; t < s.windows[w].count; ++t) {
            const size_t token = s.windows[w].first + t;
            if (!owns_token(s.windows, w, token)) continue;
            const std::span<float> scores(&s.scores[token * labels], labels);
            std::copy_n(logits.row(batch.begin(i) + before + t), labels, scores.data());
            softmax(scores);
          }
        }
      },
      scorer_.options());
}

/// Fills s.labels; a text with a score that is no number has none.
void NerWorker::choose_labels(const Record& record, Sentence& s) {
  s.labels.clear();
  if (std::all_of(s.scores.begin(), s.scores.end(), [](float v) { return std::isfinite(v); })) {
    const bool given = ner_.input != NerInput::text;
    const std::vector<int32_t> words =
        given ? s.tokens.word_ids : pipeline_words(tokenizer_, s.text, s.tokens);
    s.labels = aggregate(ner_.aggregation, words,
                         Matrix(s.scores.data(), s.tokens.size(), head_.labels().size()));
  } else {
    note_non_finite(record);
  }
  if (s.words.empty() || !by_word(ner_.aggregation)) return;
  std::vector<LabelledWord> all(s.words.size());  // a word may have no token, or was cut
  for (const LabelledWord& word : s.labels) {
    all[static_cast<size_t>(s.tokens.word_ids[word.first])] = word;
  }
  s.labels.swap(all);
}

Offset NerWorker::bytes(const Sentence& s, size_t word) const {
  if (!s.words.empty() && by_word(ner_.aggregation)) return s.words[word];
  const LabelledWord& w = s.labels[word];
  return {s.tokens.offsets[w.first].begin, s.tokens.offsets[w.first + w.count - 1].end};
}

std::string_view NerWorker::tag(const LabelledWord& word) const {
  return word.count == 0 ? "O" : std::string_view(head_.labels()[word.label]);
}

std::vector<NerWorker::Entity> NerWorker::entities(const Sentence& s) const {
  std::vector<std::string_view> tags;
  for (const LabelledWord& word : s.labels) tags.push_back(tag(word));
  std::vector<EntitySpan> spans;
  if (ner_.aggregation == Aggregation::none) {
    for (size_t i = 0; i < tags.size(); ++i) {
      if (tags[i] != "O") spans.push_back({i, i + 1, tags[i]});
    }
  } else {
    spans = scheme_.entities(tags);
  }
  // Pieces of a word are as they are, unless the tokenizer took marks away.
  const bool keep_marks = by_word(ner_.aggregation) || tokenizer_.marks_continuations();
  std::vector<Entity> found;
  for (const EntitySpan& span : spans) {
    Entity e{bytes(s, span.begin).begin, bytes(s, span.end - 1).end, span.type, 0};
    if (keep_marks) include_marks(s.text, e.begin, e.end);
    for (size_t i = span.begin; i < span.end; ++i) e.score += s.labels[i].score;
    e.score /= static_cast<double>(span.end - span.begin);
    if (e.score >= ner_.threshold) found.push_back(e);
  }
  return found;
}

void NerWorker::evaluate(const Sentence& s) const {
  std::vector<std::string_view> gold, predicted;
  for (size_t i = 0; i < s.lines.size(); ++i) {
    if (!s.lines[i].has_word()) continue;
    gold.push_back(s.lines[i].label);
    predicted.push_back(tag(s.labels[i]));
  }
  if (!gold.empty()) ner_.metrics->add(gold, predicted);
}

size_t NerWorker::position(std::string_view text, size_t byte) const {
  return options_.chars ? count_code_points(text.substr(0, byte)) : byte;
}

void NerWorker::write(const Record& record, const Sentence& s, Rows& rows) const {
  if (options_.json) {
    write_json(record, s, rows);
  } else if (ner_.output == NerOutput::rows) {
    write_rows(record, s, rows);
  } else if (ner_.output == NerOutput::marked) {
    write_marked(record, s, rows);
  } else {
    write_columns(s, rows);
  }
}

/// record start end type score text, and the line
void NerWorker::write_rows(const Record& record, const Sentence& s, Rows& rows) const {
  for (const Entity& e : entities(s)) {
    std::string text(s.text.substr(e.begin, e.end - e.begin));
    std::replace(text.begin(), text.end(), '\t', ' ');  // a field has none
    begin_row(rows, record);
    rows.field(position(s.text, e.begin)).field(position(s.text, e.end));
    rows.field(e.type).number(e.score).field(text);
    end_row(rows, record);
  }
}

/// The text, its entities marked.
std::string NerWorker::marked(const Sentence& s, std::span<const Entity> entities) {
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

void NerWorker::write_marked(const Record& record, const Sentence& s, Rows& rows) const {
  begin_row(rows, record);
  rows.field(marked(s, entities(s)));
  end_row(rows, record);
}

/// A word and its label, or the line as it came and, unless it is a comment, the label; then an
/// empty row.
void NerWorker::write_columns(const Sentence& s, Rows& rows) const {
  for (size_t i = 0; i < s.labels.size(); ++i) {
    if (ner_.input == NerInput::columns) {
      rows.raw() += s.lines[i].line;
      if (!s.lines[i].comment) {
        rows.raw() += s.lines[i].separator;
        rows.raw() += tag(s.labels[i]);
      }
    } else {
      const Offset at = without_blank(s.text, bytes(s, i));
      size_t begin = at.begin, end = at.end;
      include_marks(s.text, begin, end);
      rows.field(s.text.substr(begin, end - begin)).field(tag(s.labels[i]));
    }
    rows.end();
  }
  rows.end();
}

void NerWorker::write_json(const Record& record, const Sentence& s, Rows& rows) const {
  Record shown = record;
  shown.text = s.text;
  const std::vector<Entity> found = entities(s);
  JsonRow json = begin_json(rows, shown, false);
  if (ner_.output == NerOutput::marked) json.text("marked", marked(s, found));
  json.list("entities");
  for (const Entity& e : found) {
    json.object().text("type", e.type).number("score", e.score);
    add_place(s, e.begin, e.end, json);
    json.end_object();
  }
  json.end_list();
  if (ner_.scores) write_scores(s, json);
  end_json(rows);
}

void NerWorker::add_place(const Sentence& s, size_t begin, size_t end, JsonRow& json) const {
  json.count("start", position(s.text, begin)).count("end", position(s.text, end));
  json.text("text", s.text.substr(begin, end - begin));
}

/// Each word (or token) with the probability of each label.
void NerWorker::write_scores(const Sentence& s, JsonRow& json) const {
  json.list(by_word(ner_.aggregation) ? "words" : "tokens");
  const std::vector<std::string>& labels = head_.labels();
  for (size_t i = 0; i < s.labels.size(); ++i) {
    if (by_word(ner_.aggregation) && !s.lines.empty() && s.lines[i].comment) continue;
    const LabelledWord& word = s.labels[i];
    const Offset at = bytes(s, i);
    json.object().text("label", tag(word)).number("score", word.score);
    add_place(s, at.begin, at.end, json);
    json.list("scores");
    for (size_t k = 0; word.count > 0 && k < labels.size(); ++k) {
      json.object().text("label", labels[k]);
      json.exact("score", s.scores[word.first * labels.size() + k]).end_object();
    }
    json.end_list().end_object();
  }
  json.end_list();
}

}  // namespace bert
