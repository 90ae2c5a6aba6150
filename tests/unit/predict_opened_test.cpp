// Models that are opened as a user asks, and how long their texts may be.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "golden.h"
#include "predict/embedder.h"
#include "predict/opened_model.h"
#include "predict/text_limits.h"

namespace bert {
namespace {

std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("texts are as long as the user, the files and the model allow, in this order") {
  TextLimits limits;
  limits.positions = 16;
  limits.own = 12;
  limits.added = 2;
  TaskRequest request;
  CHECK(limits.reading(request).encode.max_length == 12);
  CHECK(limits.reading(request).stride == 6);
  request.max_length = 16;
  CHECK(limits.reading(request).encode.max_length == 16);
  request.tail = 13;
  CHECK(limits.reading(request).encode.tail == 13);
  request.tail = 14;
  CHECK(error_of([&] { limits.reading(request); }) ==
        "`overflow`: found head-tail:14, wants less than 14, the tokens of a text");
  request.tail = 0;
  request.max_length = 17;
  CHECK(error_of([&] { limits.reading(request); }) ==
        "`max_length`: found 17, wants at most 16, the model's positions");
  request.max_length = 2;
  CHECK(error_of([&] { limits.reading(request); }) ==
        "`max_length`: found 2, wants more than the 2 special tokens");
  CHECK(TextLimits().reading(TaskRequest()).encode.max_length == 0);
}

TEST_CASE("what is not said of how texts are cut is the tokenizer's") {
  TextLimits limits;
  limits.truncates_left = true;
  TaskRequest request;
  CHECK(limits.reading(request).encode.tail == SIZE_MAX);
  request.truncates_left = false;
  CHECK(limits.reading(request).encode.tail == 0);
  request.overflow = Overflow::window;
  CHECK(error_of([&] { limits.reading(request); }) == "`truncation_side`: wants `overflow` cut");
}

TEST_CASE("a model is opened with the head of the task, and says how its texts are read") {
  TaskRequest request;
  request.directory = test::golden_model("albert-qa");
  request.task = task_spec(TaskKind::question_answering);
  request.overflow = request.task.overflow;
  const OpenedModel opened(request);
  const ReadOptions reading = opened.reading();
  CHECK(reading.encode.truncation == Truncation::only_second);
  CHECK(reading.overflow == Overflow::window);
  CHECK(reading.encode.max_length <= opened.model().config().max_tokens());
  CHECK(opened.fixed() == nullptr);
  CHECK(opened.bad_weights().empty());
  request.ablate = "";
  CHECK(error_of([&] { const OpenedModel refused(request); }) ==
        "`ablate`: '': wants LAYER.HEAD, as in 3.7 or 4.*");
}

TEST_CASE("a model gives vectors as its modules say, or as a user chooses") {
  TaskRequest request;
  request.directory = test::golden_model("static-model2vec");
  const OpenedModel fixed(request, ModelsTaken::any);
  CHECK(fixed.fixed() != nullptr);
  CHECK(error_of([&] { const OpenedModel refused(request); }).find("static vectors") !=
        std::string::npos);
  request.head = "sentiment";
  CHECK(error_of([&] { const OpenedModel refused(request, ModelsTaken::any); }) ==
        "`head`: this model has no heads");
  Embedder embedder(fixed, SentenceModules::open(fixed.request().directory));
  const size_t width = embedder.plan({}).width();
  CHECK(embedder.plan({.dims = width}).width() == width);
  CHECK(error_of([&] { embedder.plan({.dims = 100000}); }).starts_with("`dims`: found 100000"));
  CHECK(embedder.reading("").fixed == fixed.fixed());
  CHECK(embedder.predictor(embedder.plan({})).width() == width);
}

TEST_CASE("vectors of tokens of a model of late interaction are those of documents") {
  TaskRequest request;
  request.directory = test::golden_model("colbert-pylate");
  const OpenedModel opened(request);
  Embedder embedder(opened, SentenceModules::open(request.directory));
  CHECK(error_of([&] { embedder.plan({}); }).find("ColBERT") != std::string::npos);
  CHECK(embedder.plan({.pool = "none", .words = true}).dense.empty());
  CHECK(embedder.tokenizer().added_tokens_single() == opened.tokenizer().added_tokens_single());
  CHECK_FALSE(embedder.plan({.pool = "none"}).dense.empty());
  CHECK(embedder.tokenizer().added_tokens_single() == opened.tokenizer().added_tokens_single() + 1);
}

}  // namespace bert
