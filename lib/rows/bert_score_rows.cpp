#include "rows/bert_score_rows.h"

#include <cmath>

#include "tokenizer/classes.h"
#include "tokenizer/files/tokenizer_facts.h"
#include "tokenizer/words.h"

namespace bert {

bool reads_behind_blank(const ModelDirectory& directory) {
  const TokenizerFacts facts = read_tokenizer_facts(directory, TokenizerSide::source);
  const TokenizerClass* row = facts.named ? facts.named : facts.of_type;
  return row && takes_prefix_space(*row);
}

BertScoreReader::BertScoreReader(const VectorPredictor& predictor, bool behind_blank,
                                 const TaskOptions& options)
    : TaskWorker(predictor.tokenizer(), options), behind_blank_(behind_blank) {
  refuse_windows(" with BERTScore");
}

void BertScoreReader::read_text(const Record& record, std::string_view text, size_t number) {
  const std::vector<Offset> words = words_between_blanks(text);
  text_ = behind_blank_ && !words.empty() ? " " : "";
  if (!words.empty())
    text_ += text.substr(words.front().begin, words.back().end - words.front().begin);
  read(record, Text{text_}, number);
}

void TokenIdfWorker::run(std::span<const Record> records, Rows&) {
  clear_texts();
  for (const Record& record : records) {
    const size_t first = sequences_.size();
    for (size_t r = 0; r < references_; ++r) read_text(record, reference(record, r), first + r);
    once(record, [&] {
      for (size_t r = 0; r < references_; ++r) idf_.add(sequences_[first + r].input_ids);
    });
  }
}

void BertScoreWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  const size_t texts = 1 + score_.references;
  for (size_t i = 0; i < records.size(); ++i) {
    read_text(records[i], records[i].text, texts * i);
    for (size_t r = 0; r < score_.references; ++r)
      read_text(records[i], reference(records[i], r), texts * i + 1 + r);
  }
  const std::span<const SharedText> found = texts_.make(sequences_, texts * records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const std::span<const SharedText> own = found.subspan(texts * i, texts);
    BertScore score = bert_score(*own[0], *own[1]);
    for (size_t r = 2; r < texts; ++r) score = BertScore::best(score, bert_score(*own[0], *own[r]));
    if (score_.baseline) score = score.rescaled(*score_.baseline);
    if (!std::isfinite(score.f1)) note_non_finite(records[i]);
    if (sink_) once(records[i], [&] { sink_(records[i], score.f1); });
    write(records[i], BertScoreRow{score}, rows, Repeats::pair);
  }
}

}  // namespace bert
