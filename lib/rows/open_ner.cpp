#include "rows/open_ner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bert {

OpenNerWorker::OpenNerWorker(const OpenEntityPredictor& predictor, const EntityRows& shape,
                             const TaskOptions& options, TagSink sink)
    : EntityWorker(predictor.tokenizer(), shape, options, std::move(sink)),
      predictor_(predictor),
      scorer_(predictor.head()) {}

void OpenNerWorker::make_texts(size_t count) {
  texts_.resize(std::max(texts_.size(), count));
  searched_.resize(texts_.size());
}

void OpenNerWorker::read(const Record& record, size_t i) {
  const WordedText& shown = texts_[i].shown;
  SearchedText& text = searched_[i];
  text.text = shown.text;
  text.given_words = shown.given_words;
  text.words.clear();
  texts_[i].words.clear();
  for (size_t w = 0; w < shown.words.size(); ++w) {  // comments have no word
    if (shown.words[w].begin == shown.words[w].end) continue;
    text.words.push_back(shown.words[w]);
    texts_[i].words.push_back(w);
  }
  const Reading reading = predictor_.read(text, i, reader_, sequences_);
  const bool refused = options_.strict || options_.overflow == Overflow::error;
  if (reading.dropped > 0 && refused && options_.overflow != Overflow::window) {
    record.fail(
        Error::Kind::data,
        fmt::format("is too long, wants at most {} words, and {} tokens with the names",
                    predictor_.head().config().max_words,
                    options_.encode.max_length > 0 ? fmt::format("{}", options_.encode.max_length)
                                                   : "any number of"));
  }
  note(record, reading);
}

void OpenNerWorker::predict(size_t count) {
  predictor_.predict(sequences_, std::span(searched_).first(count), scorer_, batcher_);
}

std::vector<std::string_view> OpenNerWorker::tags(size_t i) const {
  const std::vector<std::string_view> found = predictor_.tags(searched_[i]);
  if (!searched_[i].given_words) return found;
  std::vector<std::string_view> tags(texts_[i].shown.words.size(), predictor_.tags()[0]);
  for (size_t w = 0; w < found.size(); ++w) tags[texts_[i].words[w]] = found[w];
  return tags;
}

}  // namespace bert
