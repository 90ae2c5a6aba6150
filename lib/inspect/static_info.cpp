#include "inspect/static_info.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "inspect/findings.h"
#include "predict/static_text.h"
#include "predict/vector_plan.h"

namespace bert {
namespace {

std::string_view kind_name(const StaticFiles& files) {
  return files.kind == StaticFiles::Kind::model2vec ? "model2vec" : "StaticEmbedding";
}

/// "mean, dense, normalize"
std::string steps_of(const VectorPlan& plan) {
  return fmt::format("mean{}{}", plan.dense.empty() ? "" : ", dense",
                     plan.normalize ? ", normalize" : "");
}

}  // namespace

void write_static_summary(const ModelDirectory& directory, const StaticFiles& files, Rows& rows) {
  const Tokenizer tokenizer = Tokenizer::open_alone(files.folder);
  const StaticText text = StaticText::open(files, tokenizer);
  const VectorPlan plan = VectorPlan::make(text, SentenceModules::open(directory), "", "");
  const StaticVectors& vectors = text.vectors;
  const auto row = [&](std::string_view key, const std::string& value) {
    rows.field(key).field(printable(value, 0));
    rows.end();
  };
  row("model", directory.path());
  row("static_vectors", std::string(kind_name(files)));
  row("hidden_size", fmt::format("{}", vectors.width()));
  row("rows", fmt::format("{}", vectors.rows()));
  row("parameters", fmt::format("{}", vectors.parameters()));
  row("weights", vectors.weights().path());
  row("dtype", std::string(dtype_name(vectors.dtype())));
  row("tokens", fmt::format("{}", tokenizer.vocab_size()));
  row("do_lower_case", tokenizer.lowercase() ? "true" : "false");
  if (text.max_length > 0) row("max_seq_length", fmt::format("{}", text.max_length));
  row("sentence_modules", steps_of(plan));
}

namespace {

/// Checks one directory of static vectors.
class StaticDoctor : Findings {
 public:
  StaticDoctor(const ModelDirectory& directory, const StaticFiles& files, Rows& rows,
               std::string_view name)
      : Findings(rows, name), directory_(directory), files_(files) {}

  size_t run() {
    say("ok", "config", fmt::format("static vectors, {}", kind_name(files_)));
    look("tokenizer", [&] { look_at_tokenizer(); });
    if (tokenizer_) look("weights", [&] { look_at_weights(); });
    if (!text_) return errors();
    look_at_rows();
    say("ok", "length",
        text_->max_length > 0 ? fmt::format("at most {} tokens", text_->max_length) : "no limit");
    look("pooling", [&] {
      const SentenceModules modules = SentenceModules::open(directory_);
      say("ok", "pooling", steps_of(VectorPlan::make(*text_, modules, "", "")));
    });
    return errors();
  }

 private:
  void look_at_tokenizer() {
    tokenizer_ = Tokenizer::open_alone(files_.folder);
    for (const std::string& warning : tokenizer_->warnings()) say("warning", "tokenizer", warning);
  }
  void look_at_weights() {
    text_ = StaticText::open(files_, *tokenizer_);
    const Weights& weights = text_->vectors.weights();
    say("ok", "weights",
        fmt::format("{} vectors of {} numbers in {}", text_->vectors.rows(), text_->vectors.width(),
                    printable(weights.path(), 0)));
    for (const NonFinite& tensor : weights.non_finite()) say("warning", "weights", tensor.text());
  }
  void look_at_rows() {
    const size_t tokens = tokenizer_->vocab_size(), vectors = text_->vectors.rows();
    if (text_->vectors.shared_rows()) {
      say("ok", "vocabulary", fmt::format("{} tokens share {} vectors", tokens, vectors));
    } else if (tokens == vectors) {
      say("ok", "vocabulary", fmt::format("{} tokens, as many as vectors", tokens));
    } else {
      say("warning", "vocabulary",
          fmt::format("{} tokens for {} vectors; {} are never used", tokens, vectors,
                      vectors - tokens));
    }
  }

  const ModelDirectory& directory_;
  const StaticFiles& files_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<StaticText> text_;
};

}  // namespace

size_t check_static_model(const ModelDirectory& directory, const StaticFiles& files, Rows& rows,
                          std::string_view name) {
  return StaticDoctor(directory, files, rows, name).run();
}

}  // namespace bert
