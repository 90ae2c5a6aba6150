#include "tasks/maxsim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "heads/pooling.h"
#include "ops/kernels.h"

namespace bert {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

MaxSimPlan MaxSimPlan::make(const Model& model, const SentenceModules& modules,
                            const Tokenizer& tokenizer) {
  const LateInteraction late = LateInteraction::open(model.directory(), modules);
  if (late.expansion.length > 0 && !late.expansion.attend &&
      has_module(model.config(), Role::convolution)) {
    throw Error(
        Error::Kind::unsupported, model.config().path,
        "queries that are filled up with tokens to which no token attends are not supported "
        "in a model with a convolution");
  }
  std::vector<SentenceModules::Dense> dense;  // one behind a pooling is not of tokens
  if (modules.of_tokens) {
    modules.check_widths(model.config().hidden_size);
    dense = modules.dense;
  }
  return {LateSide::of_query(tokenizer, late, model.directory().path()),
          LateSide::of_document(tokenizer, late),
          dense,
          DenseModules(dense),
          !modules.of_tokens || modules.normalize,
          late.mean};
}

MaxSimWorker::MaxSimWorker(const Model& model, const MaxSimPlan& plan, const RankOptions& rank,
                           const TaskOptions& options)
    : RankWorker(plan.document.tokenizer, model, rank, options),
      plan_(plan),
      query_options_(options.encode) {
  const size_t limit = model.config().max_tokens();
  query_options_.max_length = std::min(limit, plan.query.length > 0 ? plan.query.length : limit);
}

void MaxSimWorker::encode_documents(std::span<const Record> records) {
  clear_encodings();
  prompted_.clear();
  prompted_.reserve(records.size());  // views into it must stay
  const std::string& prompt = plan_.document.prompt;
  for (size_t i = 0; i < records.size(); ++i) {
    note_query(records[i], queries_[query_of_[i]].encoding);  // records are counted in order
    Record document = records[i];
    if (!searches()) document.text = records[i].text_pair;
    if (!prompt.empty()) {
      document.text = prompted_.emplace_back(prompt + std::string(document.text));
    }
    encode(document, false, i, prompt.size());
  }
}

/// The vectors of the tokens' states: states [T, H] -> [T, D], in scratch until the next call.
Matrix MaxSimWorker::vectors_of(Matrix states) {
  const Matrix vectors =
      plan_.dense.apply(states, dense_first_, dense_second_, workspace_.linear);  // [T, D]
  for (size_t t = 0; plan_.normalize && t < vectors.rows; ++t) {
    normalize_l2({vectors.row(t), vectors.cols});
  }
  return vectors;
}

MaxSimWorker::Query MaxSimWorker::make_query(std::string_view text) {
  const LateSide& side = plan_.query;
  Query query{std::string(text)};
  side.tokenizer.encode(side.prompt + query.text, query_options_, query.encoding, scratch_);
  Encoding filled = query.encoding;
  const size_t attended = side.expand(filled);
  PackedBatch batch;
  batch.append(filled.input_ids, filled.token_type_ids);
  if (attended < batch.tokens()) batch.attended = {attended};
  const Matrix vectors = vectors_of(model_->forward(batch, workspace_));  // [T, D]
  for (size_t t = 0; t < vectors.rows; ++t) {
    if (side.skips(filled.input_ids[t])) continue;
    query.vectors.insert(query.vectors.end(), vectors.row(t), vectors.row(t) + vectors.cols);
    ++query.tokens;
  }
  return query;
}

/// The queries of all records; neighbours often share one.
void MaxSimWorker::make_queries(std::span<const Record> records) {
  if (!queries_.empty()) queries_.erase(queries_.begin(), queries_.end() - 1);
  query_of_.clear();
  for (const Record& record : records) {
    const std::string_view text = searches() ? std::string_view(rank_.query) : record.text;
    if (queries_.empty() || queries_.back().text != text) queries_.push_back(make_query(text));
    query_of_.push_back(queries_.size() - 1);
  }
}

/// Counts for this record what its query has: the query is cut, never read in windows.
void MaxSimWorker::note_query(const Record& record, const Encoding& encoding) {
  if (encoding.dropped > 0) {
    if (options_.strict || options_.overflow == Overflow::error) {
      record.fail(Error::Kind::data, "its query is too long");
    }
    note_cut(record);
  }
  Encoding whole = encoding;
  whole.dropped = 0;
  note(record, whole, {static_cast<uint32_t>(plan_.query.prompt.size()), UINT32_MAX});
}

/// Takes the tokens [M, D] of one window of a document into best_ [N].
void MaxSimWorker::match(const Query& query, const Encoding& encoding, ConstMatrix tokens) {
  for (size_t t = 0; t < tokens.rows; ++t) {
    if (plan_.document.skips(encoding.input_ids[t])) continue;
    for (size_t i = 0; i < query.tokens; ++i) {
      const float product = dot(&query.vectors[i * tokens.cols], tokens.row(t), tokens.cols);
      if (!(product <= best_[i])) best_[i] = product;  // NaN too
    }
  }
}

double MaxSimWorker::sum_of(const Query& query) const {
  double sum = 0;
  for (const float best : best_) sum += best == kNone ? 0.0 : static_cast<double>(best);
  return plan_.mean && query.tokens > 0 ? sum / static_cast<double>(query.tokens) : sum;
}

void MaxSimWorker::score(std::span<const Record> records) {
  make_queries(records);
  encode_documents(records);
  scores_.assign(records.size(), 0);
  size_t last = records.size();  // the record of the window before
  for_each_batch([&](size_t first, const PackedBatch& batch, Matrix hidden) {
    const Matrix vectors = vectors_of(hidden);  // [T, D]
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const size_t owner = owners_[first + s];
      const Query& query = queries_[query_of_[owner]];
      if (owner != last) best_.assign(query.tokens, kNone);
      last = owner;
      match(query, encodings()[first + s], vectors.slice(batch.begin(s), batch.length(s)));
      scores_[owner] = sum_of(query);
    }
  });
}

}  // namespace bert
