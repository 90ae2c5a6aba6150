#include "rows/embed.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "rows/spans.h"

namespace bert {
namespace {

struct TextRow {
  std::span<const float> vector;
  void cells(Cells& c) const { c.vector("vector", vector); }
};

struct TokenRow {
  size_t index;
  std::string_view token;
  std::span<const float> vector;
  void cells(Cells& c) const {
    c.count("index", index).text("token", token).vector("vector", vector);
  }
};

struct SpanRow {
  Offset span;
  std::span<const float> vector;
  void cells(Cells& c) const {
    c.count("start", span.begin).count("end", span.end).vector("vector", vector);
  }
};

struct PairRow {
  double cosine;
  void cells(Cells& c) const { c.number("cosine", cosine); }
};

}  // namespace

std::vector<std::string> EmbedRows::columns(const VectorPlan& plan) const {
  if (format != VectorFormat::tsv) return {};
  if (of == Of::pair) return names_of(PairRow{});
  const std::vector<float> vector(plan.width());
  if (of == Of::spans) return names_of(SpanRow{{}, vector});
  if (plan.per_token) return names_of(TokenRow{0, "", vector});
  return names_of(TextRow{vector});
}

void EmbedWorker::read_all(std::span<const Record> records, bool pair) {
  clear_texts();
  texts_.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    read(records[i], false, pair ? 2 * i : i);
    if (pair) read(records[i], Text{records[i].text_pair}, 2 * i + 1);
    texts_.push_back(records[i].text);
  }
}

template <typename Row>
void EmbedWorker::write_vector(const Record& record, const Row& row, Rows& rows, Repeats repeats) {
  if (!is_finite(row.vector)) note_non_finite(record);
  if (rows_.format == VectorFormat::tsv) return write(record, row, rows, repeats);
  try {
    append_vector(rows_.format, row.vector, rows_.scale, rows.raw());
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
      write_vector(records[i], TextRow{{vectors.row(i), vectors.cols}}, rows, Repeats::cut);
    }
  }
};

class PairWorker : public EmbedWorker {
 public:
  PairWorker(const VectorPredictor& predictor, const EmbedRows& rows, const TaskOptions& options,
             SimilaritySink sink)
      : EmbedWorker(predictor, rows, options), sink_(std::move(sink)) {}
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
    if (sink_) once(record, [&] { sink_(record, similarity); });
    write(record, PairRow{similarity}, rows, Repeats::pair);
  }

  const SimilaritySink sink_;
};

/// A row for each token or word.
class TokenWorker : public EmbedWorker {
 public:
  using EmbedWorker::EmbedWorker;
  void run(std::span<const Record> records, Rows& rows) override {
    read_all(records);
    const UseTokenVector use = [&](const TokenVector& token) {
      write_vector(records[token.text], TokenRow{token.index, token.token, token.vector}, rows);
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
          write_vector(records[found.text], SpanRow{found.span, found.vector}, rows);
        });
  }

 private:
  SpanPredictor spans_;
};

}  // namespace

std::unique_ptr<Worker> EmbedWorker::make(const VectorPredictor& predictor, const EmbedRows& rows,
                                          const TaskOptions& options, const SimilaritySink& sink) {
  switch (rows.of) {
    case EmbedRows::Of::pair:
      return std::make_unique<PairWorker>(predictor, rows, options, sink);
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
