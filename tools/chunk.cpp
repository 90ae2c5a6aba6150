// chunk - cut each line of text into parts that a model can read. See man/chunk.1.
#include "rows/chunk.h"

#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"

using namespace bert;

namespace {

struct Options {
  ChunkOptions chunks;
  bool spans = false, chars = false;
};

void add(tools::Command& app, Options& o) {
  app.add({"--tokens", "the most tokens of a chunk, special ones included (default: 256)",
           tools::positive()},
          o.chunks.tokens);
  app.add({"--overlap", "the most tokens that two chunks share (default: 0)", tools::whole()},
          o.chunks.overlap);
  const tools::Declared spans =
      app.add({"--spans", "write the chunks' bytes as one field: start-end start-end"}, o.spans);
  app.add({"--chars", "offsets count code points, not bytes"}, o.chars)->excludes(spans);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Cut each line of text into parts that a model can read."};
  app.footer("echo 'The cat sat. It saw a dog.' | chunk --tokens 8");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, {}, tools::ModelOptions::Use::whole_texts);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = open_tokenizer(models.request(), ModelsTaken::any);
    TaskOptions task = task_options(models.request(), tokenizer, false, false);
    task.chars = options.chars;
    options.chunks.literal = task.encode.literal;
    if (options.spans) rows.annotate("", true);
    using Per = tools::RowShape::Per;
    rows.fill(task, {options.spans ? Per::one : Per::several});
    rows.stream().output_names = options.spans ? names_of<SpansRow>() : names_of<ChunkRow>();
    return rows.run([&] {
      return std::make_unique<ChunkWorker>(
          tokenizer, options.chunks, options.spans ? ChunkOutput::spans : ChunkOutput::rows, task);
    });
  });
}
