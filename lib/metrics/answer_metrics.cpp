#include "metrics/answer_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "io/json.h"
#include "metrics/metrics.h"
#include "text/unicode.h"

namespace bert {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; (begin = text.find_first_not_of(' ', begin)) != std::string_view::npos;) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    i += c.length;
    if (is_ascii_punctuation(c.code_point)) continue;
    const unsigned kind = char_class(c.code_point);
    if ((kind & (kCharSpace | kCharWhite)) ||
        (c.code_point < 128 && std::isspace(static_cast<int>(c.code_point)))) {
      plain += ' ';
      continue;
    }
    char32_t lower[2];
    char bytes[4];
    const size_t count = to_lower(c.code_point, lower);
    for (size_t k = 0; k < count; ++k) plain.append(bytes, encode_utf8(lower[k], bytes));
  }
  std::string out;
  for (const std::string_view word : words_of(plain)) {
    if (word == "a" || word == "an" || word == "the") continue;
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

double word_f1(std::string_view gold, std::string_view predicted) {
  const auto gold_words = words_of(gold), predicted_words = words_of(predicted);
  if (gold_words.empty() || predicted_words.empty()) {
    return gold_words.empty() && predicted_words.empty() ? 1 : 0;
  }
  std::map<std::string_view, size_t> left;
  for (const std::string_view word : gold_words) ++left[word];
  size_t common = 0;
  for (const std::string_view word : predicted_words) {
    const auto found = left.find(word);
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++common;
  }
  return 2 * static_cast<double>(common) /
         static_cast<double>(gold_words.size() + predicted_words.size());
}

std::vector<std::string> gold_answers(std::string_view field) {
  if (!field.starts_with('[')) return {std::string(field)};
  std::vector<std::string> answers;
  try {
    const JsonDocument document = JsonDocument::parse(field, "gold");
    document.root().for_each_element([&](Json value) { answers.emplace_back(value.as_string()); });
  } catch (const Error&) {
    return {std::string(field)};  // an answer in brackets
  }
  if (answers.empty()) answers.emplace_back();
  return answers;
}

void AnswerMetrics::add(const std::vector<std::string>& gold, std::string_view predicted) {
  const std::string mine = normalize_answer(predicted);
  bool exact = false;
  double f1 = 0;
  for (const std::string& answer : gold) {
    const std::string theirs = normalize_answer(answer);
    exact |= theirs == mine;
    f1 = std::max(f1, word_f1(theirs, mine));
  }
  const std::lock_guard lock(mutex_);
  ++records_;
  exact_ += exact ? 1 : 0;
  f1_ += f1;
  ++f1s_[f1];
}

double AnswerMetrics::f1() const {
  const std::lock_guard lock(mutex_);
  return records_ == 0 ? 0 : f1_ * (100.0 / static_cast<double>(records_));
}

std::string AnswerMetrics::report() const {
  const std::lock_guard lock(mutex_);
  const auto n = static_cast<double>(records_);
  return fmt::format("records\t{}\nexact_match\t{}\nf1\t{}\n", records_,
                     number_text(100.0 * static_cast<double>(exact_) / n),
                     number_text(100.0 * f1_ / n));
}

std::string AnswerMetrics::json(const Doubt& doubt) const {
  const std::lock_guard lock(mutex_);
  const auto n = static_cast<double>(records_);
  std::string text;
  JsonRow json(text);
  json.object().count("records", records_);
  json.number("exact_match", 100.0 * static_cast<double>(exact_) / n);
  json.number("f1", 100.0 * f1_ / n);
  doubt.add_to(json);
  json.end_object();
  return text;
}

Doubt AnswerMetrics::doubt(const Resampling& how) const {
  const std::lock_guard lock(mutex_);
  std::vector<double> f1s;
  std::vector<uint64_t> records;
  for (const auto& [f1, count] : f1s_) {
    f1s.push_back(f1);
    records.push_back(count);
  }
  const Interval exact = wilson(exact_, records_);
  const std::vector<Interval> found = bootstrap(records, 1, how, [&](auto times, auto values) {
    double sum = 0;
    for (size_t k = 0; k < f1s.size(); ++k) sum += times[k] * f1s[k];
    values[0] = 100.0 * sum / static_cast<double>(records_);
  });
  return {{{"exact_match", {100 * exact.low, 100 * exact.high}}, {"f1", found[0]}}};
}

}  // namespace bert
