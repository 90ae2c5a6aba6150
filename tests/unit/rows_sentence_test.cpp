// sentence-transformers directories from text to vector: each pooling mode, Dense, Normalize,
// prompts.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "golden.h"
#include "predict/vectors.h"

namespace bert {
namespace {

using test::golden_model;

std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream file(golden_model("expected/" + name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The vectors of the sentences, end to end.
std::vector<float> run(const VectorPredictor& predictor, const ReadOptions& options,
                       const std::vector<std::string>& sentences) {
  Batcher batcher;
  Sequences sequences;
  TextReader reader(predictor.tokenizer(), options);
  for (size_t i = 0; i < sentences.size(); ++i) reader.read({sentences[i]}, i, sequences);
  VectorScratch scratch(predictor, options, batcher);
  const Matrix vectors = predictor.predict(sequences, sentences.size(), scratch);
  return {vectors.data, vectors.data + vectors.rows * vectors.cols};
}

std::vector<float> embed(const std::string& directory, const std::vector<std::string>& sentences,
                         const std::string& prompt) {
  const SentenceModules modules = SentenceModules::open(directory);
  const Tokenizer tokenizer = Tokenizer::open(directory);
  const Model model = Model::open(directory);
  const VectorPredictor predictor(tokenizer, model, VectorPlan::make(model, modules, "", ""));
  ReadOptions options;
  options.prompt = prompt;
  options.encode.max_length = modules.settings.max_length.value_or(*tokenizer.model_max_length());
  return run(predictor, options, sentences);
}

std::vector<float> embed_static(const std::string& directory,
                                const std::vector<std::string>& sentences,
                                const std::string& prompt) {
  const SentenceModules modules = SentenceModules::open(directory);
  const auto files = StaticFiles::find(directory);
  REQUIRE(files);
  const Tokenizer tokenizer = open_any_tokenizer(directory);
  const StaticText text = StaticText::open(*files, tokenizer);
  const VectorPredictor predictor(tokenizer, text, VectorPlan::make(text, modules, "", ""));
  ReadOptions options;
  options.prompt = prompt;
  options.fixed = &text;
  options.encode.max_length = text.max_length;
  options.encode.add_special_tokens = false;
  return run(predictor, options, sentences);
}

/// The largest difference from expected/NAME, whose count must be the same.
double error_of(const std::vector<float>& vectors, const std::string& name) {
  size_t i = 0;
  double error = 0;
  for (const std::string& line : lines_of(name)) {
    std::istringstream fields(line);
    for (double expected; fields >> expected; ++i) {
      REQUIRE(i < vectors.size());
      error = std::max(error, std::abs(vectors[i] - expected));
    }
  }
  CHECK(i == vectors.size());
  return error;
}

}  // namespace

TEST_CASE("sentence-transformers directories give the reference's vectors") {
  const std::vector<std::string> sentences = lines_of("sentences.txt");
  REQUIRE(sentences.size() == 5);
  for (const std::string name : {"cls", "mean", "max", "mean-sqrt-len-tokens", "weightedmean",
                                 "lasttoken", "dense", "qwen3", "gemma3"}) {
    CAPTURE(name);
    const std::string directory = golden_model("st-" + name);
    std::vector<float> vectors = embed(directory, sentences, "");
    const auto prompts = SentenceModules::open(directory).prompts;
    const auto query = prompts.find("query");
    if (query != prompts.end() && !query->second.empty()) {
      const std::string& prompt = query->second;
      const std::vector<float> prompted = embed(directory, sentences, prompt);
      vectors.insert(vectors.end(), prompted.begin(), prompted.end());
    }
    CHECK(error_of(vectors, "st-" + name + ".tsv") < 1e-5);
  }
}

TEST_CASE("static vectors are those of model2vec and of sentence-transformers") {
  const std::vector<std::string> sentences = lines_of("sentences.txt");
  for (const std::string name : {"model2vec", "shared", "embedding"}) {
    CAPTURE(name);
    const std::string directory = golden_model("static-" + name);
    std::vector<float> vectors = embed_static(directory, sentences, "");
    if (name == "embedding") {
      const std::string prompt = SentenceModules::open(directory).prompt("query");
      const std::vector<float> prompted = embed_static(directory, sentences, prompt);
      vectors.insert(vectors.end(), prompted.begin(), prompted.end());
    }
    CHECK(error_of(vectors, "static-" + name + ".tsv") < 1e-5);
  }
}

TEST_CASE("model2vec's cut counts characters, not bytes") {
  const std::string directory = golden_model("static-model2vec");
  const Tokenizer tokenizer = open_any_tokenizer(directory);
  StaticText text = StaticText::open(*StaticFiles::find(directory), tokenizer);
  CHECK(text.token_length == 2);  // half of the pieces have one or two
  CHECK(text.max_length == 9);
  CHECK(text.cut("\u00e9\u00e9\u00e9\u00e9\u00e9", 2) == "\u00e9\u00e9\u00e9\u00e9");
  CHECK(text.cut("ab\xFF\xFF"
                 "c",
                 2) == "ab\xFF\xFF");
  CHECK(text.cut("abcd", 2) == "abcd");
  CHECK(text.cut("abcde", 0) == "abcde");
  CHECK_FALSE(StaticFiles::find(golden_model("st-mean")));
}

}  // namespace bert
