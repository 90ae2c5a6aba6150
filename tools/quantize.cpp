// quantize - make a model smaller and faster, or a head a model of its own. See man/quantize.1.
#include "inspect/quantize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/cpu.h"
#include "common/model_options.h"
#include "common/run.h"
#include "inspect/compare_models.h"
#include "io/rows.h"
#include "model/config.h"

using namespace bert;

namespace {

/// Says which heads of a directory in f32 only these tools read.
void tell_named_heads(const QuantizeOptions& options) {
  if (options.precision != Precision::f32 || !options.head.empty()) return;
  if (options.model.translates()) return;
  std::string names;
  const Config written = ModelDirectory(options.output).config();
  for (const NamedHead& head : written.heads) {
    names += (names.empty() ? "" : ", ") + head.name;
    if (head.preferred) names += " (which the tools take for " + head.task + ")";
  }
  if (names.empty()) return;
  tools::notice(
      "transformers reads only the trunk and the heads without a name; --head NAME writes a "
      "named head as it reads it: " +
      names);
}

struct Options {
  std::string model, adapter;
  QuantizeOptions quantize;
  CompareOptions compare;
};

void add(tools::Command& app, Options& o) {
  o.compare.threads = allowed_cpus();
  tools::add_model(app, o.model);
  tools::add_adapter(app, o.adapter);
  app.add({"-o,--output", "directory to write", tools::directory()}, o.quantize.output)->required();
  app.add<Precision>(
         {"--dtype", "number type of the matrices (default: int8)"}, o.quantize.precision,
         {{"int8", Precision::int8}, {"bf16", Precision::bf16}, {"f32", Precision::f32}})
      .same_rows();
  app.add({"--head", "write only this named head, as the main head of the new model",
           tools::text("NAME")},
          o.quantize.head);
  app.add({"--overwrite", "replace a model in the output directory"}, o.quantize.overwrite);
  app.add({"--check", "then compare the results of both models on the lines of files",
           tools::text("FILE")},
          o.compare.files)
      .of("files");
  app.add({"-j,--jobs", "threads of --check (default: the CPUs it may use)", tools::whole(1, 1024)},
          o.compare.threads)
      .same_rows();
}

/// What --check wants, before the work begins.
void check_files(const Options& o) {
  std::error_code absent;
  if (!o.compare.files.empty() &&
      std::filesystem::equivalent(o.quantize.model.path(), o.quantize.output, absent)) {
    throw Error(Error::Kind::usage, "--check", "wants another output than the model itself");
  }
  for (const std::string& file : o.compare.files) {
    if (file != "-" && ::access(file.c_str(), R_OK) != 0) {
      throw Error::from_errno(file, "cannot open", errno);
    }
  }
}

void compare(Options& o) {
  o.compare.original = o.quantize.model;
  o.compare.other = o.quantize.output;
  o.compare.head = o.quantize.head;
  Rows rows;
  for (const Agreement& agreement : compare_models(o.compare)) {
    rows.field(agreement.what)
        .field(fmt::format("{:.6f}", agreement.value))
        .field(static_cast<uint64_t>(agreement.count));
    rows.end();
  }
  tools::print(rows.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{
      "Write a model directory in the order and precision that the tools compute with."};
  app.footer("quantize -m bert-base-uncased --dtype int8 --output small-bert");
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    if (options.compare.files.empty()) tools::refuse_given(app, {"--jobs"}, "wants --check");
    options.quantize.model = ModelDirectory::open(options.model, options.adapter);
    check_files(options);
    quantize(options.quantize);
    tell_named_heads(options.quantize);
    if (!options.compare.files.empty()) compare(options);
    return 0;
  });
}
