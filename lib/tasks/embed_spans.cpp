// The vectors of spans of a text: late chunking.
#include <algorithm>
#include <limits>

#include "tasks/embed.h"
#include "tasks/spans.h"
#include "tokenizer/words.h"

namespace bert {

/// One row per span: its tokens, pooled, from one pass over the whole text, so that each of them
/// has seen what is around the span (late chunking, Guenther et al. 2024). Special tokens around
/// the text and tokens of a prompt belong to no span.
void EmbedWorker::compute_spans(std::span<const Record> records, Rows& rows) {
  tokens_of_.end = 0;
  for_each_features([&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const size_t sequence = first + s;
      const Record& record = records[owners_[sequence]];
      if (sequence == tokens_of_.end) begin_spans(record, sequence);
      const size_t read =
          add_span_tokens(record, sequence, states.slice(batch.begin(s), batch.length(s)));
      const bool last = sequence + 1 == tokens_of_.end;
      write_spans(record, last ? std::numeric_limits<size_t>::max() : read, rows);
    }
  });
}

void EmbedWorker::begin_spans(const Record& record, size_t sequence) {
  begin_tokens(sequence);
  spans_of_.spans = parse_spans(record, record.extra[0]);
  spans_of_.next = 0;
  spans_of_.bytes.clear();
  spans_of_.tokens.clear();
  const auto prompt = static_cast<uint32_t>(plan_.prompt.size());
  spans_of_.needs.assign(spans_of_.spans.size() + 1, std::numeric_limits<uint32_t>::max());
  for (size_t i = spans_of_.spans.size(); i-- > 0;) {
    Offset& span = spans_of_.spans[i];
    span = {span.begin + prompt, span.end + prompt};
    spans_of_.needs[i] = std::min(spans_of_.needs[i + 1], span.begin);
  }
}

/// Keeps the tokens [T, W] of a window that the record's spans need; each token counts in the
/// window where it has the most context. Returns where the last of them begins.
size_t EmbedWorker::add_span_tokens(const Record& record, size_t sequence, ConstMatrix tokens) {
  const Encoding& encoding = encodings()[sequence];
  const Encoding::Range text = encoding.range(0);
  const std::string_view read = plan_.prompt.empty() ? record.text : prompted_[owners_[sequence]];
  size_t last = 0;
  for (size_t t = text.begin; t < text.end; ++t) {
    const size_t token = encoding.before + t - text.begin;
    if (is_left_out(encoding.input_ids[t])) continue;
    if (!owns_token(tokens_of_.windows, sequence - tokens_of_.begin, token)) continue;
    const Offset bytes = without_blank(read, encoding.offsets[t]);
    last = bytes.begin;
    if (bytes.end <= spans_of_.needs[spans_of_.next]) continue;
    spans_of_.bytes.push_back(bytes);
    spans_of_.tokens.insert(spans_of_.tokens.end(), tokens.row(t), tokens.row(t) + tokens.cols);
  }
  return last;
}

/// The rows of the spans that end before byte `ready`: all their tokens are there. Tokens that no
/// other span needs are dropped.
void EmbedWorker::write_spans(const Record& record, size_t ready, Rows& rows) {
  const auto prompt = static_cast<uint32_t>(plan_.prompt.size());
  auto& [spans, next, needs, bytes, tokens] = spans_of_;
  for (; next < spans.size() && spans[next].end <= ready; ++next) {
    const Matrix pooled = pooled_.matrix(1, plan_.poolings.size() * plan_.features);  // [1, W]
    pool_span(spans[next], {pooled.data, pooled.cols});
    const Matrix vector =
        finish(dense_.apply(pooled, dense_first_, dense_second_, workspace_.linear));
    write_span(record, {spans[next].begin - prompt, spans[next].end - prompt},
               {vector.data, vector.cols}, rows);
  }
  const uint32_t from = needs[next];
  const auto needed =
      std::find_if(bytes.begin(), bytes.end(), [from](Offset token) { return token.end > from; });
  const auto dropped = needed - bytes.begin();
  bytes.erase(bytes.begin(), needed);
  tokens.erase(tokens.begin(), tokens.begin() + dropped * static_cast<ptrdiff_t>(plan_.features));
}

/// The tokens that share a byte with a span, pooled; NaN if there are none.
void EmbedWorker::pool_span(Offset span, std::span<float> out) const {
  const auto& bytes = spans_of_.bytes;
  size_t begin = 0;
  while (begin < bytes.size() && bytes[begin].end <= span.begin) ++begin;
  size_t end = begin;
  while (end < bytes.size() && bytes[end].begin < span.end) ++end;
  const size_t width = plan_.features;
  const ConstMatrix tokens(spans_of_.tokens.data() + begin * width, end - begin, width);
  for (size_t i = 0; i < plan_.poolings.size(); ++i) {
    const std::span<float> part = out.subspan(i * width, width);
    if (begin == end) {
      std::fill(part.begin(), part.end(), std::numeric_limits<float>::quiet_NaN());
    } else {
      pool(plan_.poolings[i], tokens, part);
    }
  }
}

void EmbedWorker::write_span(const Record& record, Offset span, std::span<const float> vector,
                             Rows& rows) {
  note_vector(record, vector);
  if (plan_.format != VectorFormat::tsv) {
    write_numbers(record, vector, rows);
    return;
  }
  if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number).count("start", span.begin);
    json.count("end", span.end).exact("vector", vector);
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.field(span.begin).field(span.end);
  write_numbers(record, vector, rows);
  end_row(rows, record);
}

}  // namespace bert
