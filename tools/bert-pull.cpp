// bert-pull - download models of the Hugging Face hub. See man/bert-pull.1.
#include <functional>

#include "common/progress.h"
#include "common/run.h"
#include "hub/pull.h"
#include "io/rows.h"

using namespace bert;

namespace {

struct Options {
  std::vector<std::string> names;
  bool dry_run = false, verify = false;
};

/// A row for each file: its size, whether it is in the cache, its path.
void write_files(Puller& puller, const ModelName& model) {
  Rows rows;
  for (const PulledFile& pulled : puller.list(model)) {
    rows.field(pulled.file.size).field(pulled.cached ? "cached" : "missing");
    rows.field(pulled.file.path).end();
  }
  tools::print(rows.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Download models of the Hugging Face hub into its cache."};
  app.footer("embed -m \"$(bert-pull sentence-transformers/all-MiniLM-L6-v2)\" reviews.txt");
  Options options;
  auto dry_run = app.add(
      {"--dry-run", "write size, state and path of each file, and download none"}, options.dry_run);
  app.add({"--verify", "also check the hashes of files that are in the cache already"},
          options.verify)
      ->excludes(dry_run);
  app.add({"-q,--quiet", "write only errors to stderr"}, [] { tools::set_quiet(true); });
  app.add({"NAME", "models, as NAME[@REVISION]", tools::text("NAME[@REVISION] ...")}, options.names)
      .may_be_empty()  // NAME's own rule says it better
      ->required();

  return tools::run(app, argc, argv, [&] {
    std::vector<ModelName> models;
    for (const std::string& name : options.names) models.push_back(ModelName::parse(name));
    const HubSettings settings = HubSettings::from_environment();
    tools::ByteProgress progress(!settings.hide_progress);
    const PullEvents events{tools::notice,
                            std::bind_front(&tools::ByteProgress::update, &progress)};
    Puller puller(settings, "bertutils/" BERT_VERSION " bert-pull", events);
    int status = 0;
    for (const ModelName& model : models) {
      try {
        if (options.dry_run) {
          write_files(puller, model);
          continue;
        }
        const std::string directory = puller.pull(model, options.verify);
        tools::print(directory + "\n");
      } catch (const Error& error) {  // the others may be there
        tools::complain(error.what());
        status = static_cast<int>(error.kind());
      }
    }
    return status;
  });
}
