#include "rows/text_model.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"
#include "directory/file_names.h"
#include "directory/hashes.h"

namespace bert {

TextModel::TextModel(const TaskRequest& request, SentenceModules modules)
    : model_(request, ModelsTaken::any),
      embedder_(model_, std::move(modules)),
      plan_(embedder_.plan({})),
      task_(task_options(model_, embedder_.reading(""))) {}

uint64_t TextModel::hash() const {
  std::string hashes;
  for (const FileHash& file : hash_model(model_.request().directory)) {
    hashes += fmt::format(" {}", file.hash);
  }
  return xxh64(hashes);
}

Similarity TextModel::similarity() const {
  if (modules().similarity == "cosine") return Similarity::cosine;
  if (modules().similarity == "dot") return Similarity::dot;
  throw Error(Error::Kind::unsupported,
              model_.request().directory.file(file_names::kSentenceTransformers),
              fmt::format("similarity_fn_name is '{}', wants cosine or dot; `similarity` chooses "
                          "one of them",
                          printable(modules().similarity)));
}

std::string TextModel::own_prompt(Role role) const {
  if (role == Role::query && modules().prompts.contains("query")) return modules().prompt("query");
  if (role == Role::document) {
    for (const char* name : {"document", "passage", "corpus"}) {
      if (modules().prompts.contains(name)) return modules().prompt(name);
    }
  }
  return modules().prompt();
}

std::unique_ptr<Worker> TextModel::worker(Role role, const std::optional<std::string>& prompt,
                                          VectorSink sink) {
  if (role == Role::query) model_.request().directory.refuse_query_route();
  return std::make_unique<TextVectorWorker>(embedder_.predictor(plan_),
                                            with_prompt(task_, prompt ? *prompt : own_prompt(role)),
                                            std::move(sink));
}

}  // namespace bert
