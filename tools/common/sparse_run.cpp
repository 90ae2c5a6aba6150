#include "common/sparse_run.h"

#include <memory>

#include "directory/file_names.h"
#include "predict/token_weights.h"
#include "rows/sparse.h"

namespace bert::tools {

int run_sparse(const ModelOptions& models, const EmbedOptions& options, RowOptions& rows) {
  const SentenceModules modules = SentenceModules::open(models.directory());
  const Tokenizer tokenizer = models.open_tokenizer();
  modules.check_case(tokenizer.lowercase());
  modules.check_length(tokenizer.added_tokens_single());
  const bool layer = models.directory().has(file_names::kSparseLayer);
  const Model model = models.open_model(layer ? std::optional<HeadKind>() : HeadKind::masked_lm);
  const auto head = layer ? std::optional<MaskedLM>() : MaskedLM::open(model);
  const auto weights = layer ? TokenWeights::find(model, tokenizer) : std::nullopt;
  if (weights) models.settle(*weights->layer().weights);

  SparsePlan plan;
  plan.top_k = options.top_k;
  plan.ids = options.ids;
  plan.prompt = !options.prompt.empty() ? options.prompt : modules.prompt(options.prompt_name);
  const SpladePooling pooling = modules.splade.value_or(SpladePooling());
  TaskOptions task;
  models.fill(task, tokenizer, model, task_spec(TaskKind::feature_extraction),
              ModuleLimit::of(modules));
  rows.fill(task);
  rows.stream().output_names = names_of<SparseRow>();
  return rows.run([&] {
    std::unique_ptr<SparseVectors> vectors;
    if (weights) {
      vectors = std::make_unique<TokenWeightPredictor>(*weights, task.max_batch_tokens);
    } else {
      vectors = std::make_unique<SparsePredictor>(model, *head, pooling, task.max_batch_tokens);
    }
    return std::make_unique<SparseWorker>(tokenizer, std::move(vectors), plan, task);
  });
}

}  // namespace bert::tools
