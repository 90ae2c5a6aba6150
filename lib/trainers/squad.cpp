#include "trainers/squad.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

void add(SquadQuestion& question, Json text, Json place, std::optional<Json> start) {
  const std::string_view answer = text.as_string();
  if (!answer.empty()) question.answers.push_back({answer, place, start});
}

/// [{"text": "..", "answer_start": 0}], or the texts and the starts in an array each.
void add_answers(SquadQuestion& question, Json answers) {
  if (!answers.is_object()) {
    answers.for_each_element([&](Json answer) {
      add(question, answer.at("text"), answer, answer.find("answer_start"));
    });
    return;
  }
  std::vector<Json> starts;
  answers.at("answer_start").for_each_element([&](Json start) { starts.push_back(start); });
  const size_t texts = answers.at("text").size();
  if (texts != starts.size()) {
    throw Error(Error::Kind::data, answers.where(),
                fmt::format("has {} texts and {} starts", texts, starts.size()));
  }
  size_t i = 0;
  answers.at("text").for_each_element([&](Json text) { add(question, text, text, starts[i++]); });
}

SquadQuestion question_of(Json qa, std::string_view context) {
  SquadQuestion question;
  question.context = context;
  question.question = qa.at("question").as_string();
  if (const auto id = qa.find("id")) question.id = id->describe();
  add_answers(question, qa.at("answers"));
  return question;
}

void use_flat(Json qa, const UseSquad& use) { use(question_of(qa, qa.at("context").as_string())); }

bool is_flat(Json root) { return root.is_object() && root.find("question"); }

bool begins_with_flat_line(const std::string& path) {
  const MappedFile file = MappedFile::open(path, kMostBytes);
  const std::string_view line = file.text().substr(0, file.text().find('\n'));
  try {
    return is_flat(JsonDocument::parse(line, path).root());
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool read_squad(const std::string& path, const UseSquad& use) {
  std::optional<JsonDocument> document;
  try {
    document.emplace(JsonDocument::open(path, kMostBytes));
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::data && begins_with_flat_line(path)) return false;
    throw;
  }
  const Json root = document->root();
  if (is_flat(root)) {
    use_flat(root, use);
  } else if (root.is_array()) {
    root.for_each_element([&](Json qa) { use_flat(qa, use); });
  } else {
    root.at("data").for_each_element([&](Json article) {
      article.at("paragraphs").for_each_element([&](Json paragraph) {
        const std::string_view context = paragraph.at("context").as_string();
        paragraph.at("qas").for_each_element([&](Json qa) { use(question_of(qa, context)); });
      });
    });
  }
  return true;
}

bool is_json_record(const Record& record) {
  return record.line.starts_with('{') && record.line.find('\t') == record.line.npos;
}

void read_flat_question(const Record& record, const UseSquad& use) {
  const std::string place = fmt::format("{}: record {}", *record.file, record.number_in_file);
  const JsonDocument document = JsonDocument::parse(record.body(), place);
  use_flat(document.root(), use);
}

}  // namespace bert
