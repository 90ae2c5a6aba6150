#include "rows/embed.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "rows/spans.h"

namespace bert {

void EmbedWorker::read_all(std::span<const Record> records, bool pair) {
  clear_texts();
  texts_.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    read(records[i], false, pair ? 2 * i : i);
    if (pair) read(records[i], Text{records[i].text_pair}, 2 * i + 1);
    texts_.push_back(records[i].text);
  }
}

template <typename Members, typename Fields>
void EmbedWorker::write(const Record& record, std::span<const float> vector, Rows& rows,
                        Members members, Fields fields) {
  if (!is_finite(vector)) note_non_finite(record);
  if (rows_.format != VectorFormat::tsv) return write_numbers(record, vector, rows);
  if (options_.json) {
    JsonRow json(rows.raw());
    members(json.object().count("record", record.number));
    json.exact("vector", vector);
    return end_json(rows);
  }
  begin_row(rows, record);
  fields(rows);
  write_numbers(record, vector, rows);
  end_row(rows, record);
}

void EmbedWorker::write_numbers(const Record& record, std::span<const float> vector,
                                Rows& rows) const {
  if (rows_.format == VectorFormat::tsv) {
    for (const float value : vector) rows.field(value);
    return;
  }
  try {
    append_vector(rows_.format, vector, rows_.scale, rows.raw());
  } catch (const Error& error) {
    record.fail(error.kind(), error.what());
  }
}

namespace {

class TextWorker : public EmbedWorker {
 public:
  using EmbedWorker::EmbedWorker;
  void run(std::span<const Record> records, Rows& rows) override {
    read_all(records);
    const Matrix vectors = predictor_.predict(sequences_, records.size(), vectors_);
    for (size_t i = 0; i < records.size(); ++i) {
      write(
          records[i], {vectors.row(i), vectors.cols}, rows,
          [&](JsonRow& json) { write_cut(json, records[i]); }, [](Rows&) {});
    }
  }
};

class PairWorker : public EmbedWorker {
 public:
  using EmbedWorker::EmbedWorker;
  void run(std::span<const Record> records, Rows& rows) override {
    read_all(records, true);
    const Matrix vectors = predictor_.predict(sequences_, 2 * records.size(), vectors_);
    for (size_t i = 0; i < records.size(); ++i) {
      write_cosine(
          records[i],
          cosine({vectors.row(2 * i), vectors.cols}, {vectors.row(2 * i + 1), vectors.cols}), rows);
    }
  }

 private:
  void write_cosine(const Record& record, double similarity, Rows& rows) {
    if (!std::isfinite(similarity)) note_non_finite(record);
    if (options_.json) {
      begin_json(rows, record, true).number("cosine", similarity);
      return end_json(rows);
    }
    begin_row(rows, record);
    rows.number(similarity);
    end_row(rows, record);
  }
};

/// A row for each token or word.
class TokenWorker : public EmbedWorker {
 public:
  using EmbedWorker::EmbedWorker;
  void run(std::span<const Record> records, Rows& rows) override {
    read_all(records);
    const UseTokenVector use = [&](const TokenVector& token) {
      write(
          records[token.text], token.vector, rows,
          [&](JsonRow& json) { json.count("index", token.index).text("token", token.token); },
          [&](Rows& row) { row.field(token.index).field(token.token); });
    };
    if (rows_.of == EmbedRows::Of::words) {
      predict_words(predictor_, sequences_, texts_, vectors_, use);
    } else {
      predict_tokens(predictor_, sequences_, vectors_, use);
    }
  }
};

/// A row for each span.
class SpanWorker : public EmbedWorker {
 public:
  SpanWorker(const VectorPredictor& predictor, const EmbedRows& rows, const TaskOptions& options)
      : EmbedWorker(predictor, rows, options), spans_(predictor, vectors_, options.prompt) {}
  void run(std::span<const Record> records, Rows& rows) override {
    read_all(records);
    spans_.predict(
        sequences_, texts_, [&](size_t i) { return parse_spans(records[i], records[i].extra[0]); },
        [&](const SpanVector& found) {
          write(
              records[found.text], found.vector, rows,
              [&](JsonRow& json) {
                json.count("start", found.span.begin).count("end", found.span.end);
              },
              [&](Rows& row) { row.field(found.span.begin).field(found.span.end); });
        });
  }

 private:
  SpanPredictor spans_;
};

}  // namespace

std::unique_ptr<Worker> EmbedWorker::make(const VectorPredictor& predictor, const EmbedRows& rows,
                                          const TaskOptions& options) {
  switch (rows.of) {
    case EmbedRows::Of::pair:
      return std::make_unique<PairWorker>(predictor, rows, options);
    case EmbedRows::Of::tokens:
    case EmbedRows::Of::words:
      return std::make_unique<TokenWorker>(predictor, rows, options);
    case EmbedRows::Of::spans:
      return std::make_unique<SpanWorker>(predictor, rows, options);
    case EmbedRows::Of::text:
      break;
  }
  return std::make_unique<TextWorker>(predictor, rows, options);
}

}  // namespace bert
