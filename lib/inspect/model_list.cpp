#include "inspect/model_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/model_dir.h"
#include "checkpoint/static_files.h"
#include "inspect/bert_info.h"
#include "io/adapter.h"
#include "io/json.h"
#include "model/seq2seq_config.h"

namespace bert {
namespace {

struct Description {
  std::string kind, heads;
};

std::string model_type(const std::string& directory) {
  const JsonDocument document = JsonDocument::open(directory + "/config.json");
  return std::string(document.root().find("model_type")->as_string());
}

/// What embed makes of it, in a word; empty: nothing of its own.
std::string vectors_of(const std::string& directory) {
  const SentenceModules modules = SentenceModules::open(directory);
  if (modules.splade) return "sparse_vectors";
  if (modules.of_tokens) return "token_vectors";
  return modules.present ? "vectors" : "";
}

/// Throws Error for a directory that the tools would not run.
Description describe(const std::string& directory) {
  refuse_adapter(directory);
  if (StaticFiles::find(directory)) return {"static", "vectors"};
  if (seq2seq_kind(directory)) return {model_type(directory), "translation"};
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
    return describe(directory);
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
