#include "predict/maxsim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/token_layer.h"
#include "heads/pooling.h"
#include "ops/kernels.h"

namespace bert {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

MaxSimPlan MaxSimPlan::make(const Model& model, const SentenceModules& modules,
                            const Tokenizer& tokenizer) {
  LateInteraction late = LateInteraction::open(model.directory(), modules);
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
  } else if (const auto layer = find_token_layer(model.directory(), file_names::kColbertLayer,
                                                 model.config().hidden_size)) {
    dense = {*layer};
    late.query.skips_first = late.document.skips_first = late.mean = true;
  }
  return {LateSide::of_query(tokenizer, late, model.directory().path()),
          LateSide::of_document(tokenizer, late),
          dense,
          DenseModules(dense),
          !modules.of_tokens || modules.normalize,
          late.mean,
          {}};
}

MaxSimPlan MaxSimPlan::open(const OpenedModel& model) {
  model.request().directory.refuse_query_route();
  const SentenceModules modules = SentenceModules::open(model.request().directory);
  modules.check_case(model.tokenizer().lowercase());
  MaxSimPlan plan = make(model.model(), modules, model.tokenizer());
  for (const SentenceModules::Dense& module : plan.modules) model.settle(*module.weights);
  plan.limit = ModuleLimit::of(modules);
  if (plan.document.length > 0) plan.limit = {plan.document.length};
  return plan;
}

MaxSim::MaxSim(const Model& model, const MaxSimPlan& plan, const EncodeOptions& encode,
               Batcher& batcher)
    : model_(model), plan_(plan), query_options_(encode), batcher_(batcher) {
  const size_t limit = model.config().max_tokens();
  query_options_.max_length = std::min(limit, plan.query.length > 0 ? plan.query.length : limit);
}

/// The vectors of the tokens' states: states [T, H] -> [T, D], in scratch until the next call.
Matrix MaxSim::vectors_of(Matrix states) {
  const Matrix vectors = plan_.dense.apply(states, dense_first_, dense_second_,
                                           batcher_.workspace().linear);  // [T, D]
  for (size_t t = 0; plan_.normalize && t < vectors.rows; ++t) {
    normalize_l2({vectors.row(t), vectors.cols});
  }
  return vectors;
}

MaxSim::Query MaxSim::query(std::string_view text) {
  const LateSide& side = plan_.query;
  Query query{std::string(text)};
  side.tokenizer.encode(side.prompt + query.text, query_options_, query.encoding, scratch_);
  Encoding filled = query.encoding;
  const size_t attended = side.expand(filled);
  PackedBatch batch;
  batch.append(filled.input_ids, filled.token_type_ids);
  if (attended < batch.tokens()) batch.attended = {attended};
  const Matrix vectors = vectors_of(model_.forward(batch, batcher_.workspace()));  // [T, D]
  for (size_t t = 0; t < vectors.rows; ++t) {
    if (side.skips(filled.input_ids[t], t)) continue;
    query.vectors.insert(query.vectors.end(), vectors.row(t), vectors.row(t) + vectors.cols);
    ++query.tokens;
  }
  return query;
}

/// Takes the tokens [M, D] of one window of a document into best_ [N].
void MaxSim::match(const Query& query, const Encoding& encoding, ConstMatrix tokens) {
  for (size_t t = 0; t < tokens.rows; ++t) {
    if (plan_.document.skips(encoding.input_ids[t], t)) continue;
    for (size_t i = 0; i < query.tokens; ++i) {
      const float product = dot(&query.vectors[i * tokens.cols], tokens.row(t), tokens.cols);
      if (!(product <= best_[i])) best_[i] = product;  // NaN too
    }
  }
}

double MaxSim::sum_of(const Query& query) const {
  double sum = 0;
  for (const float best : best_) sum += best == kNone ? 0.0 : static_cast<double>(best);
  return plan_.mean && query.tokens > 0 ? sum / static_cast<double>(query.tokens) : sum;
}

void MaxSim::predict(const Sequences& documents, size_t texts,
                     const std::function<const Query&(size_t text)>& query_of,
                     std::vector<double>& scores) {
  scores.assign(texts, 0);
  size_t last = texts;  // the text of the window before
  batcher_.run(
      model_, documents.encodings(), [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        const Matrix vectors = vectors_of(hidden);  // [T, D]
        for (size_t s = 0; s < batch.sequences(); ++s) {
          const size_t text = documents.texts()[first + s];
          const Query& query = query_of(text);
          if (text != last) best_.assign(query.tokens, kNone);
          last = text;
          match(query, documents[first + s], vectors.slice(batch.begin(s), batch.length(s)));
          scores[text] = sum_of(query);
        }
      });
}

}  // namespace bert
