// sentence-transformers directories from text to vector: each pooling mode, Dense, Normalize,
// prompts.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "golden.h"
#include "tasks/embed.h"

namespace bert {
namespace {

using test::golden_model;

std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream file(golden_model("expected/" + name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The vectors of `sentences`, end to end.
std::vector<float> embed(const std::string& directory, const std::vector<std::string>& sentences,
                         const std::string& prompt) {
  const SentenceModules modules = SentenceModules::open(directory);
  const Tokenizer tokenizer = Tokenizer::open(directory);
  const Model model = Model::open(directory);
  EmbedPlan plan = EmbedPlan::make(model, modules, "", "");
  plan.format = VectorFormat::f32;
  plan.prompt = prompt;
  const DenseModules dense(plan.dense);
  TaskOptions options;
  options.encode.max_length = modules.max_seq_length.value_or(*tokenizer.model_max_length());
  EmbedWorker worker(tokenizer, model, dense, plan, options);
  std::vector<Record> records;
  for (size_t i = 0; i < sentences.size(); ++i) {
    Record& record = records.emplace_back();
    record.line = record.text = sentences[i];
    record.number = i + 1;
  }
  Rows rows;
  worker.run(records, rows);
  std::vector<float> values(rows.raw().size() / sizeof(float));
  std::memcpy(values.data(), rows.raw().data(), rows.raw().size());
  return values;
}

}  // namespace

TEST_CASE("sentence-transformers directories give the reference's vectors") {
  const std::vector<std::string> sentences = lines_of("sentences.txt");
  REQUIRE(sentences.size() == 5);
  for (const std::string name :
       {"cls", "mean", "max", "mean-sqrt-len-tokens", "weightedmean", "lasttoken", "dense"}) {
    CAPTURE(name);
    const std::string directory = golden_model("st-" + name);
    std::vector<float> vectors = embed(directory, sentences, "");
    if (name == "dense") {
      const std::string prompt = SentenceModules::open(directory).prompts.at("query");
      const std::vector<float> prompted = embed(directory, sentences, prompt);
      vectors.insert(vectors.end(), prompted.begin(), prompted.end());
    }
    size_t i = 0;
    double error = 0;
    for (const std::string& line : lines_of("st-" + name + ".tsv")) {
      std::istringstream fields(line);
      for (double expected; fields >> expected; ++i) {
        REQUIRE(i < vectors.size());
        error = std::max(error, std::abs(vectors[i] - expected));
      }
    }
    CHECK(i == vectors.size());
    CHECK(error < 1e-5);
  }
}

}  // namespace bert
