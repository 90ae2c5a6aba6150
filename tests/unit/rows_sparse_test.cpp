// Sparse vectors (SPLADE) are those of SparseEncoder of sentence-transformers.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "golden.h"
#include "rows/sparse.h"

namespace bert {
namespace {

using test::golden_model;

/// The rows of lines of expected/sentences.txt, as items "id:weight".
std::vector<std::string> run(const std::string& name, const std::string& prompt) {
  const std::string directory = golden_model(name);
  const SentenceModules modules = SentenceModules::open(directory);
  const Tokenizer tokenizer = Tokenizer::open(directory);
  const Model model = Model::open(directory);
  const MaskedLM head = MaskedLM::open(model);
  SparsePlan plan;
  plan.prompt = prompt.empty() ? "" : modules.prompt(prompt);
  plan.ids = true;
  TaskOptions options;
  options.encode.max_length = modules.settings.max_length.value_or(64);
  options.max_batch_tokens = 16;
  std::vector<std::string> texts, lines;
  std::ifstream file(golden_model("expected/sentences.txt"));
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  std::vector<Record> records(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    records[i].line = records[i].text = texts[i];
    records[i].number = i + 1;
  }
  Rows rows;
  auto vectors = std::make_unique<SparsePredictor>(
      model, head, modules.splade.value_or(SpladePooling()), options.max_batch_tokens);
  SparseWorker(tokenizer, std::move(vectors), plan, options).run(records, rows);
  std::istringstream stream(rows.bytes());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The largest difference of a row's weights from the dense vector that follows in `fields`. The
/// weights must not grow along the row.
double error_of(const std::string& row, std::istringstream& fields) {
  std::vector<double> expected;
  for (double value; fields >> value;) expected.push_back(value);
  std::istringstream items(row);
  double last = INFINITY, error = 0;
  size_t id = 0;
  char colon = 0;
  for (double weight = 0; items >> id >> colon >> weight; last = weight) {
    REQUIRE(id < expected.size());
    CHECK(weight > 0);
    CHECK(weight <= last);
    error = std::max(error, std::abs(weight - expected[id]));
    expected[id] = 0;
  }
  for (const double rest : expected) error = std::max(error, rest);  // weights without an item
  return error;
}

}  // namespace

TEST_CASE("sparse vectors are those of the reference") {
  std::vector<std::string> rows;
  for (const auto& [name, prompt] : {std::pair{"sparse-native", ""},
                                     {"sparse-native", "query"},
                                     {"sparse-legacy", ""},
                                     {"distilbert-mlm", ""}}) {
    for (std::string& row : run(name, prompt)) rows.push_back(std::move(row));
  }
  std::ifstream file(golden_model("expected/sparse.tsv"));
  size_t i = 0;
  for (std::string line; std::getline(file, line); ++i) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    CAPTURE(name);
    REQUIRE(i < rows.size());
    CHECK(error_of(rows[i], fields) < 1e-5);
  }
  CHECK(i == rows.size());
}

}  // namespace bert
