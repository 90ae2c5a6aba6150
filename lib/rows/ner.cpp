#include "rows/ner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/words.h"

namespace bert {

NerWorker::NerWorker(const TokenLabelPredictor& predictor, const NerOptions& ner,
                     const TaskOptions& options, TagSink sink)
    : EntityWorker(predictor.tokenizer(), ner, options, std::move(sink)),
      predictor_(predictor),
      scorer_(predictor.head()),
      ner_(ner) {
  if (!by_word(ner_.aggregation) && (ner_.output == NerOutput::columns || ner_.gold)) {
    throw Error::of_field(
        "aggregation", fmt::format("found '{}', wants first, average or max, as words are labelled",
                                   ner.aggregation == Aggregation::none ? "none" : "simple"));
  }
}

void NerWorker::make_texts(size_t count) { texts_.resize(std::max(texts_.size(), count)); }

void NerWorker::read(const Record& record, size_t i) {
  note(record, predictor_.read(texts_[i], i, reader_, sequences_));
}

void NerWorker::predict(size_t count) {
  predictor_.predict(sequences_, std::span(texts_).first(count), scorer_, batcher_);
}

std::vector<std::string_view> NerWorker::tags(size_t i) const {
  std::vector<std::string_view> tags;
  for (const LabelledWord& word : texts_[i].labels) tags.push_back(predictor_.tag(word));
  return tags;
}

Offset NerWorker::shown_word(size_t i, size_t word) const {
  const Offset at = without_blank(texts_[i].text, bytes(texts_[i], word));
  size_t begin = at.begin, end = at.end;
  include_marks(texts_[i].text, begin, end);
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

/// Each word (or token) with the probability of each label.
void NerWorker::add_scores(size_t index, JsonRow& json) const {
  if (!ner_.scores) return;
  const LabelledText& s = texts_[index];
  json.list(by_word(ner_.aggregation) ? "words" : "tokens");
  const std::vector<std::string>& labels = predictor_.labels();
  for (size_t i = 0; i < s.labels.size(); ++i) {
    const bool of_lines = by_word(ner_.aggregation) && !lines(index).empty();
    if (of_lines && lines(index)[i].comment) continue;
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
