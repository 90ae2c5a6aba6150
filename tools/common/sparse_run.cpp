#include "common/sparse_run.h"

#include <memory>

#include "rows/sparse.h"

namespace bert::tools {

int run_sparse(const ModelOptions& models, const EmbedOptions& options, RowOptions& rows) {
  const SentenceModules modules = SentenceModules::open(models.directory());
  const Tokenizer tokenizer = models.open_tokenizer();
  modules.check_case(tokenizer.lowercase());
  modules.check_length(tokenizer.added_tokens_single());
  const Model model = models.open_model(HeadKind::masked_lm);
  const MaskedLM head = MaskedLM::open(model);

  SparsePlan plan;
  plan.pooling = modules.splade.value_or(SpladePooling());
  plan.top_k = options.top_k;
  plan.ids = options.ids;
  plan.prompt = !options.prompt.empty() ? options.prompt : modules.prompt(options.prompt_name);
  TaskOptions task;
  models.fill(task, tokenizer, model, task_spec(TaskKind::feature_extraction),
              ModuleLimit::of(modules));
  rows.fill(task);
  rows.stream().output_names = names_of<SparseRow>();
  return rows.run(
      [&] { return std::make_unique<SparseWorker>(tokenizer, model, head, plan, task); });
}

}  // namespace bert::tools
