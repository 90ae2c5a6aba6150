// bert-info - show what a model directory holds. See man/bert-info.1.
#include <algorithm>
#include <optional>

#include "common/model_options.h"
#include "common/run.h"
#include "common/terminal.h"
#include "inspect/bert_info.h"
#include "inspect/doctor.h"
#include "inspect/model_list.h"
#include "inspect/model_tree.h"
#include "inspect/shapes.h"
#include "inspect/static_info.h"

using namespace bert;

namespace {

/// The findings in each directory, of several with its name before them. One that is none is told,
/// and the others are checked.
int check(const std::vector<std::string>& names) {
  size_t errors = 0;
  int status = 0;
  for (const std::string& name : names) {
    Rows rows;
    try {
      errors += check_model(ModelDirectory::open(name), rows, names.size() > 1 ? name : "");
    } catch (const Error& error) {
      tools::complain(error.what());
      status = static_cast<int>(error.kind());
    }
    tools::print_rows(rows.bytes());
  }
  return status == 0 && errors > 0 ? 1 : status;
}

[[noreturn]] void refuse(const ModelDirectory& directory, const char* why) {
  throw Error(Error::Kind::unsupported, directory.path(), why);
}

/// What is shown instead of the summary, and of which model.
struct Options {
  std::string name;
  bool parameters = false, shapes = false, tree = false, cpu = false, models = false;
  std::vector<std::string> patients;
  std::optional<size_t> tokens;
};

void add(tools::Command& app, Options& o) {
  tools::add_model(app, o.name);
  auto* what = app.add_option_group("what", "one of these instead of the summary");
  app.add({"--params", "a row for each tensor, and the total"}, o.parameters, what);
  auto shapes =
      app.add({"--shapes", "the shapes of a text's tensors, step by step"}, o.shapes, what);
  app.add({"--tree", "the modules as a tree"}, o.tree, what);
  app.add({"--cpu", "the kernels and threads of this machine; reads no model"}, o.cpu, what);
  app.add({"--models", "the models that -m can name, and which is the default"}, o.models, what);
  app.add({"--check", "check model directories; status 1 if there are errors", tools::model()},
          o.patients, what);
  what->require_option(0, 1);
  app.add({"--seq", "tokens of the text for --shapes (default: 128, or the model's positions)",
           tools::whole()},
          o.tokens)
      .of("tokens")
      ->needs(shapes);
  CLI::Option* place = app.add({"DIR", "the same as -m", tools::text("TEXT")}, o.name);
  for (auto* model : {app.get_option("--model"), place}) {
    for (const char* other : {"--cpu", "--check", "--models"})
      model->excludes(what->get_option(other));
  }
  place->excludes("--model");
}

void write_model(const ModelDirectory& directory, const Options& o, Rows& rows) {
  if (const StaticFiles* files = directory.static_files()) {
    if (o.parameters || o.shapes || o.tree) {
      refuse(directory, "static vectors have no layers to show");
    }
    return write_static_summary(directory, *files, rows);
  }
  if (directory.translates()) {
    if (o.shapes || o.tree) {
      refuse(directory, "models that translate are shown by summary and --params only");
    }
    return (o.parameters ? write_seq2seq_parameters : write_seq2seq_summary)(directory, rows);
  }
  const ModelFiles model = ModelFiles::open(directory);
  if (o.parameters) return write_parameters(model, rows);
  const size_t usual = std::min<size_t>(128, model.config.max_tokens());
  if (o.shapes) return write_shapes(model.config, o.tokens.value_or(usual), rows);
  if (o.tree) return write_tree(model, rows);
  write_summary(model, rows);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Show what a model directory holds."};
  app.footer("bert-info --shapes --seq 16");
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    if (!options.patients.empty()) return check(options.patients);
    Rows rows;
    if (options.cpu) {
      write_cpu(rows);
    } else if (options.models) {
      write_models(rows);
    } else {
      write_model(ModelDirectory::open(options.name), options, rows);
    }
    tools::print_rows(rows.bytes());
    return 0;
  });
}
