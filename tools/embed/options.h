#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/command.h"
#include "common/report.h"
#include "predict/embedder.h"
#include "rows/embed.h"

namespace bert::tools {

/// The options of embed that say what its vectors are and how they are written.
struct EmbedOptions {
  VectorChoice vector;
  std::optional<std::string> prompt;  ///< none: as prompt_name says, or the model's own
  std::string prompt_name, spans, whiten, learn, baseline, gold;
  ReportOption report;
  bool no_special = false, normalize = false, compare = false;
  bool sparse = false, ids = false;
  enum class Score { cosine, bert_score } score = Score::cosine;  ///< what --compare writes
  bool idf = false;
  size_t rows = 0, top_k = 0;
  EmbedRows shape;
};
void add_embed_options(Command& app, EmbedOptions& options);

/// Counts the similarity of a record beside the value in its extra field `field`.
SimilaritySink gold_sink(ValueMetrics& metrics, size_t field);

/// Completes the options: the prompt of the model if none is given, and what a row is of. Throws
/// Error(usage) for options that do not go together or do not fit the model.
VectorPlan make_plan(const Command& app, Embedder& embedder, EmbedOptions& options);

}  // namespace bert::tools
