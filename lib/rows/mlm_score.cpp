#include "rows/mlm_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json.h"
#include "ops/kernels.h"
#include "rows/score_rows.h"
#include "rows/spans.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

/// Whether two ranges of bytes share one.
bool meet(const Offset& a, const Offset& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

std::vector<std::string> MlmScoreOptions::columns() const {
  const bool pair = output == ScoreOutput::pair;
  if (summary_only) return ScoreSummary::columns(pair, against);
  if (output == ScoreOutput::per_token) return names_of<ScoredTokenRow>();
  if (output == ScoreOutput::per_word) return names_of<ScoredWordRow>();
  if (output == ScoreOutput::words) return names_of<PartRow>();
  if (output == ScoreOutput::regions) return names_of(PartRow{"region"});
  return pair ? names_of<ScoredPairRow>() : names_of<TotalRow>();
}

MlmScoreWorker::MlmScoreWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                               const MlmScoreOptions& score, ScoreSummary& summary,
                               const TaskOptions& options)
    : MlmWorker(tokenizer, options, score.tokens),
      score_(score),
      summary_(summary),
      queries_(model, head, options.max_batch_tokens) {
  if (tokenizer.mask_id() < 0) {
    throw Error(Error::Kind::data, model.directory().path(), "its vocabulary has no mask token");
  }
}

void MlmScoreWorker::run(std::span<const Record> records, Rows& rows) {
  const bool pair = score_.output == ScoreOutput::pair;
  const size_t texts = pair ? 2 : 1;
  items_.resize(std::max(items_.size(), texts * records.size()));
  scores_.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    prepare(records[i], records[i].text, items_[texts * i]);
    if (pair) prepare(records[i], records[i].text_pair, items_[texts * i + 1]);
  }
  queries_.start([this](size_t tag, std::span<const float> logits) {
    TokenScore& score = scores_[tag];
    score.logprob =
        (static_cast<double>(logits[static_cast<size_t>(score.id)]) - log_sum_exp(logits)) /
        score_.nats;
  });
  for (size_t i = 0; i < texts * records.size(); ++i) ask(items_[i]);
  queries_.finish();
  for (size_t i = 0; i < records.size(); ++i) {
    if (pair) {
      write_pair(records[i], items_[2 * i], items_[2 * i + 1], rows);
    } else {
      write_text(records[i], items_[i], rows);
    }
  }
}

void MlmScoreWorker::prepare(const Record& record, std::string_view text, Item& item) {
  item.text = text;
  item.text_begin = 0;
  if (score_.context && !record.extra[0].empty()) {
    item.joined.assign(record.extra[0]).append(" ").append(text);
    item.text = item.joined;
    item.text_begin = record.extra[0].size() + 1;
  }
  tokenize(record, item.text, item.tokens, {static_cast<uint32_t>(item.text_begin), UINT32_MAX});
  item.parts.clear();
  if (score_.output == ScoreOutput::words) find_words(item);
  if (score_.output == ScoreOutput::regions) find_regions(record, item);
  list_tokens(item);
}

/// A word reaches from blank to blank, for the metric too. A token is of the word of its last byte.
void MlmScoreWorker::find_words(Item& item) {
  item.parts = words_between_blanks(item.text, item.text_begin);
  for (size_t t = 0; t < item.tokens.count(); ++t) {
    int32_t& word = item.tokens.encoding.word_ids[item.tokens.index(t)];
    word = -1;
    if (is_special(item.tokens.id(t)) || is_context(item, t)) continue;
    word = word_of(item.parts, item.text, item.tokens.offset(t));
  }
}

void MlmScoreWorker::find_regions(const Record& record, Item& item) {
  const auto shift = static_cast<uint32_t>(item.text_begin);
  for (const Offset region : parse_spans(record, record.extra[score_.last_field()])) {
    item.parts.push_back({region.begin + shift, region.end + shift});
  }
}

/// Whether a token is of the context. That of the first word may begin with the blank before it.
bool MlmScoreWorker::is_context(const Item& item, size_t token) {
  const Offset& bytes = item.tokens.offset(token);
  return bytes.begin < item.text_begin && bytes.end <= item.text_begin;
}

bool MlmScoreWorker::is_special(int32_t id) const {
  return tokenizer_.is_special(id) && id != tokenizer_.unk_id();
}

bool MlmScoreWorker::is_scored(const Item& item, size_t token) const {
  if (is_special(item.tokens.id(token)) || is_context(item, token)) return false;
  if (score_.output != ScoreOutput::regions) return true;
  const Offset bytes = behind_blanks(item.text, item.tokens.offset(token));
  return std::any_of(item.parts.begin(), item.parts.end(),
                     [&](const Offset& region) { return meet(bytes, region); });
}

void MlmScoreWorker::list_tokens(Item& item) {
  item.first_score = scores_.size();
  for (size_t t = 0; t < item.tokens.count(); ++t) {
    if (is_scored(item, t)) scores_.push_back({t, item.tokens.id(t), 0});
  }
  item.scores = scores_.size() - item.first_score;
}

/// Asks for every score of a text: a copy with masks for each, in the window where it has most
/// context. With whole_word the tokens of a word share a copy.
void MlmScoreWorker::ask(const Item& item) {
  const std::vector<TokenWindow> windows = windows_of(item.tokens);
  const auto window_of = [&](size_t s) { return mask_window(windows, scores_[s].token); };
  const size_t end = item.first_score + item.scores;
  size_t loaded = SIZE_MAX;
  for (size_t s = item.first_score; s < end;) {
    const size_t w = window_of(s);
    if (w != loaded) item.tokens.ids_of(windows[w], ids_);
    loaded = w;
    const size_t shift = item.tokens.front - windows[w].first;
    const int32_t word = item.tokens.word(scores_[s].token);
    wanted_.clear();
    size_t first = scores_[s].token;
    do {
      wanted_.push_back({scores_[s].token + shift, s});
      ++s;
    } while (score_.metric == PllMetric::whole_word && word >= 0 && s < end &&
             item.tokens.word(scores_[s].token) == word && window_of(s) == w);
    size_t last = first + 1;
    const auto same_word = [&](size_t t) { return word >= 0 && item.tokens.word(t) == word; };
    if (score_.metric != PllMetric::original) {
      while (last < windows[w].end() && same_word(last)) ++last;
    }
    if (score_.metric == PllMetric::whole_word) {
      while (first > windows[w].first && same_word(first - 1)) --first;
    }
    for (size_t t = first; t < last; ++t) ids_[t + shift] = tokenizer_.mask_id();
    queries_.ask(ids_, wanted_);
    for (size_t t = first; t < last; ++t) ids_[t + shift] = item.tokens.id(t);
  }
}

size_t MlmScoreWorker::words_in(const Item& item) const {
  size_t words = 0;
  int32_t word = -1;
  for (const TokenScore& score : scores_of(item)) {
    const int32_t own = item.tokens.word(score.token);
    if (own < 0 || own != word) ++words;
    word = own;
  }
  return words;
}

MlmScoreWorker::Result MlmScoreWorker::result_of(const Item& item) const {
  Result result;
  for (const TokenScore& score : scores_of(item)) result.sum += score.logprob;
  result.tokens = item.scores;
  result.pll = result.sum;
  if (score_.normalize == ScoreUnit::tokens) result.pll /= static_cast<double>(item.scores);
  if (score_.normalize == ScoreUnit::words) result.pll /= static_cast<double>(words_in(item));
  return result;
}

uint64_t MlmScoreWorker::unknown_in(const Item& item) const {
  const auto scores = scores_of(item);
  return static_cast<uint64_t>(
      std::count_if(scores.begin(), scores.end(),
                    [this](const TokenScore& score) { return score.id == tokenizer_.unk_id(); }));
}

ScoreSummary::Part& MlmScoreWorker::group_of(const Record& record) {
  return summary_.groups[score_.group ? std::string(record.extra[score_.group_field()]) : ""];
}

void MlmScoreWorker::write_text(const Record& record, const Item& item, Rows& rows) {
  const Result result = result_of(item);
  if (!std::isfinite(result.sum)) note_non_finite(record);
  once(record, [&] {
    ScoreSummary::Part& part = group_of(record);
    ++part.records;
    part.tokens += result.tokens;
    part.pll.add(result.sum);
    summary_.unknown.add(record.number, unknown_in(item));
  });
  if (score_.summary_only) return;
  if (options_.json) {
    begin(record, rows, Repeats::text).sum("pll", result.pll);
    add_scores(item, rows);
    end(record, rows);
  } else if (score_.output == ScoreOutput::per_token) {
    write_tokens(record, item, rows);
  } else if (score_.output == ScoreOutput::per_word) {
    write_words(record, item, rows);
  } else if (score_.output == ScoreOutput::words || score_.output == ScoreOutput::regions) {
    for_each_part(item, [&](const PartRow& row) { write(record, row, rows); });
  } else {
    write(record, TotalRow{result.pll, result.tokens}, rows);
  }
}

/// Counts whether the other model, whose choice is 1, 2 or 0, has the pair right.
void MlmScoreWorker::count_other(const Record& record, bool right, ScoreSummary::Part& part) const {
  if (!score_.against) return;
  const bool other = record.extra[score_.last_field()] == "1";
  part.other_better += other;
  part.own_only += right && !other;
  part.other_only += other && !right;
}

void MlmScoreWorker::check_other(const Record& record) const {
  if (!score_.against) return;
  const std::string_view choice = record.extra[score_.last_field()];
  if (choice == "0" || choice == "1" || choice == "2") return;
  record.fail(Error::Kind::data,
              fmt::format("found the other choice '{}', wants 0, 1 or 2", printable(choice)));
}

void MlmScoreWorker::write_pair(const Record& record, const Item& first, const Item& second,
                                Rows& rows) {
  const Result a = result_of(first), b = result_of(second);
  if (!std::isfinite(a.sum + b.sum)) note_non_finite(record);
  check_other(record);
  const int better = a.pll > b.pll ? 1 : b.pll > a.pll ? 2 : 0;
  once(record, [&] {
    ScoreSummary::Part& part = group_of(record);
    ++part.records;
    part.tokens += a.tokens + b.tokens;
    part.first_better += better == 1;
    part.ties += better == 0;
    count_other(record, better == 1, part);
    part.pll.add(a.sum + b.sum);
    summary_.unknown.add(record.number, unknown_in(first) + unknown_in(second));
  });
  if (score_.summary_only) return;
  write(record, ScoredPairRow{a.pll, b.pll, better, a.tokens, b.tokens}, rows, Repeats::pair);
}

/// Tokens of a context: it has no rows, and does not count in an index.
size_t MlmScoreWorker::context_tokens(const Item& item) {
  size_t before = 0;
  while (before < item.tokens.count() && is_context(item, before)) ++before;
  return before;
}

void MlmScoreWorker::write_tokens(const Record& record, const Item& item, Rows& rows) const {
  const size_t before = context_tokens(item);
  for (const TokenScore& score : scores_of(item)) {
    write(record,
          ScoredTokenRow{item.tokens.index(score.token - before), tokenizer_.token(score.id),
                         score.logprob},
          rows);
  }
}

/// Calls use(index, word, logprob) for each word, in order.
template <typename Use>
void MlmScoreWorker::for_each_word(const Item& item, Use use) const {
  const std::span<const TokenScore> scores = scores_of(item);
  const size_t before = context_tokens(item);
  const int32_t words = before > 0 ? item.tokens.word(before - 1) + 1 : 0;
  for (size_t s = 0; s < scores.size();) {
    const size_t first = s;
    const int32_t word = item.tokens.word(scores[s].token);
    double sum = 0;
    do {
      sum += scores[s++].logprob;
    } while (word >= 0 && s < scores.size() && item.tokens.word(scores[s].token) == word);
    const Offset bytes = without_blank(item.text, {item.tokens.offset(scores[first].token).begin,
                                                   item.tokens.offset(scores[s - 1].token).end});
    use(word - words, item.text.substr(bytes.begin, bytes.end - bytes.begin), sum);
  }
}

void MlmScoreWorker::write_words(const Record& record, const Item& item, Rows& rows) const {
  for_each_word(item, [&](int32_t index, std::string_view word, double logprob) {
    write(record, ScoredWordRow{index, word, logprob}, rows);
  });
}

/// The sum over the tokens of a word or region; NaN if none of them is scored.
double MlmScoreWorker::part_score(const Item& item, size_t part) const {
  double sum = 0;
  bool found = false;
  for (const TokenScore& score : scores_of(item)) {
    const bool within =
        score_.output == ScoreOutput::words
            ? item.tokens.word(score.token) == static_cast<int32_t>(part)
            : meet(behind_blanks(item.text, item.tokens.offset(score.token)), item.parts[part]);
    if (!within) continue;
    sum += score.logprob;
    found = true;
  }
  return found ? sum : std::nan("");
}

/// Calls use(row) for each word between blanks, or each region.
template <typename Use>
void MlmScoreWorker::for_each_part(const Item& item, Use use) const {
  const auto shift = static_cast<uint32_t>(item.text_begin);
  for (size_t i = 0; i < item.parts.size(); ++i) {
    const Offset bytes = item.parts[i];
    use(PartRow{score_.output == ScoreOutput::words ? "word" : "region",
                i,
                item.text.substr(bytes.begin, bytes.end - bytes.begin),
                {bytes.begin - shift, bytes.end - shift},
                part_score(item, i)});
  }
}

void MlmScoreWorker::add_scores(const Item& item, Rows& rows) const {
  JsonRow json(rows.raw());
  json.count("tokens", item.scores).count("words", words_in(item)).list("scores");
  for (const TokenScore& score : scores_of(item)) {
    const Offset& bytes = item.tokens.offset(score.token);
    json.object().text("token", tokenizer_.token(score.id)).count("id", score.id);
    json.count("word", item.tokens.word(score.token));
    json.count("start", std::max<size_t>(bytes.begin, item.text_begin) - item.text_begin)
        .count("end", bytes.end - item.text_begin);
    json.digits("logprob", score.logprob, 9).end_object();
  }
  json.end_list();
  if (score_.output == ScoreOutput::words || score_.output == ScoreOutput::regions) {
    json.list(score_.output == ScoreOutput::words ? "word_scores" : "region_scores");
    for_each_part(item, [&](const PartRow& row) { add_object(rows, row); });
    json.end_list();
  }
  if (score_.output != ScoreOutput::per_word) return;
  json.list("word_scores");
  for_each_word(item, [&](int32_t index, std::string_view word, double logprob) {
    add_object(rows, ScoredWordRow{index, word, logprob});
  });
  json.end_list();
}

}  // namespace bert
