#include "inspect/model_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/find_model.h"
#include "directory/sentence_modules.h"
#include "inspect/bert_info.h"
#include "io/json.h"

namespace bert {
namespace {

struct Description {
  std::string kind, heads;
};

/// What embed makes of it, in a word; empty: nothing of its own.
std::string vectors_of(const ModelDirectory& directory) {
  const SentenceModules modules = SentenceModules::open(directory);
  if (modules.splade) return "sparse_vectors";
  if (modules.of_tokens) return "token_vectors";
  if (modules.scores) return "scores";
  return modules.present ? "vectors" : "";
}

/// Throws Error for a directory that the tools would not run.
Description describe(const ModelDirectory& directory) {
  if (directory.kind() == ModelDirectory::Kind::static_vectors) return {"static", "vectors"};
  if (directory.translates()) {
    const Json root = directory.document(file_names::kConfig).root();
    return {std::string(root.at("model_type").as_string()), "translation"};
  }
  const ModelFiles model = ModelFiles::open(directory);
  std::vector<std::string> heads;
  if (model.weights) heads = heads_of(*model.weights, model.config);
  for (const NamedHead& head : model.config.heads) heads.push_back(head.name);
  if (std::string vectors = vectors_of(directory); !vectors.empty()) heads.push_back(vectors);
  return {std::string(model.config.family->model_type),
          !model.weights  ? "no weights"
          : heads.empty() ? "none"
                          : fmt::format("{}", fmt::join(heads, " "))};
}

Description describe_or_say_why(const std::string& directory) {
  if (directory.empty()) return {"broken", "no snapshot with config.json, or several"};
  try {
    return describe(ModelDirectory::open(directory));
  } catch (const Error& error) {
    return {error.kind() == Error::Kind::unsupported ? "unsupported" : "broken", error.what()};
  }
}

void write_model(const InstalledModel& model, const Description& what, bool is_default,
                 Rows& rows) {
  rows.field(printable(model.name, 0)).field(printable(what.kind)).field(printable(what.heads, 0));
  rows.field(model.directory.empty() ? "-" : printable(model.directory, 0));
  rows.field(is_default ? "default" : "-");
  rows.end();
}

bool is_same(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

}  // namespace

void write_models(Rows& rows) {
  const char* variable = std::getenv("BERT_MODEL");
  InstalledModel chosen{variable ? variable : "", ""};
  std::string fault;
  try {
    chosen.directory = resolve_model("");
  } catch (const Error& error) {
    fault = error.what();
  }
  bool listed = false;
  for (const InstalledModel& model : installed_models()) {
    const bool is_default = is_same(model.directory, chosen.directory);
    listed |= is_default;
    write_model(model, describe_or_say_why(model.directory), is_default, rows);
  }
  if (listed || chosen.name.empty()) return;
  write_model(chosen,
              fault.empty() ? describe_or_say_why(chosen.directory) : Description{"broken", fault},
              true, rows);
}

}  // namespace bert
