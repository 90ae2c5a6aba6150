// quantize - make a model smaller and faster, or a head a model of its own. See man/quantize.1.
#include "inspect/quantize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/cpu.h"
#include "common/options.h"
#include "common/run.h"
#include "inspect/compare_models.h"
#include "model/config.h"

using namespace bert;

namespace {

/// Says which heads of a directory in f32 only these tools read.
void tell_named_heads(const QuantizeOptions& options) {
  if (options.precision != Precision::f32 || !options.head.empty()) return;
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

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{
      "Write a model directory in the order and precision that the tools compute with."};
  app.footer("quantize -m bert-base-uncased --dtype int8 --output small-bert");
  QuantizeOptions options;
  CompareOptions compare;
  compare.threads = allowed_cpus();
  std::string model;
  tools::add_model(app, model);
  app.add({"-o,--output", "directory to write", tools::directory()}, options.output)->required();
  app.add<Precision>(
         {"--dtype", "number type of the matrices (default: int8)"}, options.precision,
         {{"int8", Precision::int8}, {"bf16", Precision::bf16}, {"f32", Precision::f32}})
      .same_rows();
  app.add({"--head", "write only this named head, as the main head of the new model",
           tools::text("NAME")},
          options.head);
  app.add({"--overwrite", "replace a model in the output directory"}, options.overwrite);
  app.add({"--check", "then compare the results of both models on the lines of files",
           tools::text("FILE")},
          compare.files)
      .of("files");
  app.add({"-j,--jobs", "threads of --check (default: the CPUs it may use)", tools::whole(1, 1024)},
          compare.threads)
      .same_rows();

  return tools::run(app, argc, argv, [&] {
    options.model = ModelDirectory::open(model);
    std::error_code absent;
    if (!compare.files.empty() &&
        std::filesystem::equivalent(options.model.path(), options.output, absent)) {
      throw Error(Error::Kind::usage, "--check", "wants another output than the model itself");
    }
    for (const std::string& file : compare.files) {
      if (file != "-" && ::access(file.c_str(), R_OK) != 0) {
        throw Error::from_errno(file, "cannot open", errno);
      }
    }
    quantize(options);
    tell_named_heads(options);
    if (compare.files.empty()) return 0;
    compare.original = options.model;
    compare.other = options.output;
    compare.head = options.head;
    Rows rows;
    for (const Agreement& agreement : compare_models(compare)) {
      rows.field(agreement.what)
          .field(fmt::format("{:.6f}", agreement.value))
          .field(static_cast<uint64_t>(agreement.count));
      rows.end();
    }
    tools::print(rows.bytes());
    return 0;
  });
}
