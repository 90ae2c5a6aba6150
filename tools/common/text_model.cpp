#include "common/text_model.h"

#include <fmt/format.h>

#include <utility>

#include "directory/file_names.h"

namespace bert::tools {

TextModel::TextModel(const ModelOptions& models)
    : directory_(models.directory()),
      embedder_(models),
      plan_(embedder_.plan({})),
      task_(embedder_.task("")) {}

Similarity TextModel::similarity() const {
  if (modules().similarity == "cosine") return Similarity::cosine;
  if (modules().similarity == "dot") return Similarity::dot;
  throw Error(Error::Kind::unsupported, directory_.file(file_names::kSentenceTransformers),
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
  return std::make_unique<TextVectorWorker>(embedder_.predictor(plan_),
                                            with_prompt(task_, prompt ? *prompt : own_prompt(role)),
                                            std::move(sink));
}

}  // namespace bert::tools
