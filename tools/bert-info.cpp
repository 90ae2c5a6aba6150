// bert-info - show what a model directory holds. See man/bert-info.1.
#include "common/options.h"
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

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Show what a model directory holds."};
  app.footer("bert-info --shapes --seq 16");
  std::string name;
  bool parameters = false, shapes = false, tree = false, cpu = false, models = false;
  std::vector<std::string> patients;
  size_t tokens = 128;
  tools::add_model(app, name);
  auto* what = app.add_option_group("what", "one of these instead of the summary");
  app.add({"--params", "a row for each tensor, and the total"}, parameters, what);
  auto shapes_flag =
      app.add({"--shapes", "the shapes of a text's tensors, step by step"}, shapes, what);
  app.add({"--tree", "the modules as a tree"}, tree, what);
  app.add({"--cpu", "the kernels and threads of this machine; reads no model"}, cpu, what);
  app.add({"--models", "the models that -m can name, and which is the default"}, models, what);
  app.add({"--check", "check model directories; status 1 if there are errors", tools::model()},
          patients, what);
  what->require_option(0, 1);
  app.add({"--seq", "tokens of the text for --shapes (default: 128)", tools::whole()}, tokens)
      .of("tokens")
      ->needs(shapes_flag);
  CLI::Option* place = app.add({"DIR", "the same as -m", tools::text("TEXT")}, name);
  for (auto* model : {app.get_option("--model"), place}) {
    for (const char* other : {"--cpu", "--check", "--models"})
      model->excludes(what->get_option(other));
  }
  place->excludes("--model");

  return tools::run(app, argc, argv, [&] {
    Rows rows;
    if (cpu) {
      write_cpu(rows);
    } else if (models) {
      write_models(rows);
    } else if (!patients.empty()) {
      return check(patients);
    } else {
      const ModelDirectory directory = ModelDirectory::open(name);
      if (const StaticFiles* files = directory.static_files()) {
        if (parameters || shapes || tree) {
          refuse(directory, "static vectors have no layers to show");
        }
        write_static_summary(directory, *files, rows);
        tools::print_rows(rows.bytes());
        return 0;
      }
      if (directory.translates()) {
        if (shapes || tree) {
          refuse(directory, "models that translate are shown by summary and --params only");
        }
        (parameters ? write_seq2seq_parameters : write_seq2seq_summary)(directory, rows);
        tools::print_rows(rows.bytes());
        return 0;
      }
      const ModelFiles model = ModelFiles::open(directory);
      if (parameters) {
        write_parameters(model, rows);
      } else if (shapes) {
        write_shapes(model.config, tokens, rows);
      } else if (tree) {
        write_tree(model, rows);
      } else {
        write_summary(model, rows);
      }
    }
    tools::print_rows(rows.bytes());
    return 0;
  });
}
