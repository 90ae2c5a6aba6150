#include "rows/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "seq2seq/forced.h"

namespace bert {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

SearchOptions search_options(const TranslateOptions& translate) {
  SearchOptions options;
  options.best = translate.top_k;
  options.cache = translate.cache;
  return options;
}

/// Numbers of a row as one field, a blank between them.
std::string joined(std::span<const float> values) {
  std::string text;
  for (const float value : values) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{:.6g}", static_cast<double>(value));
  }
  return text;
}

struct TargetRow {
  std::string_view target = {};
  void cells(Cells& c) const { c.text("target", target); }
};

struct RankedRow {
  size_t rank = 0;
  double logprob = 0;
  std::string_view target = {};
  void cells(Cells& c) const {
    c.count("rank", rank).number("logprob", logprob).text("target", target);
  }
};

/// A target that was given.
struct ForcedRow {
  double logprob = 0;
  size_t tokens = 0;
  void cells(Cells& c) const { c.number("logprob", logprob).count("tokens", tokens); }
};

struct AlignRow {
  size_t layer = 0, head = 0, from = 0, to = 0;
  double weight = 0;
  std::string_view from_token = {}, to_token = {};
  void cells(Cells& c) const {
    c.count("layer", layer).count("head", head).count("from", from).count("to", to);
    c.number("weight", weight).text("from_token", from_token).text("to_token", to_token);
  }
};

struct TraceRow {
  size_t layer = 0, head = 0, from = 0;
  std::string_view from_token = {}, stage = {};
  std::span<const float> values = {};
  void cells(Cells& c) const {
    c.count("layer", layer).count("head", head).count("from", from);
    c.text("from_token", from_token).text("stage", stage);
    if (auto json = c.members()) {
      json->list("values");
      for (const float value : values) json->number("", static_cast<double>(value));
      json->end_list();
    } else {
      c.text("values", joined(values));
    }
  }
};

/// Whether the text gives no tokens of its own, or only blanks.
bool is_blank(std::string_view text, const Encoding& encoding) {
  if (text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos) return true;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (!encoding.is_added(i)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> TranslateOptions::columns() const {
  if (show == Show::align) return names_of<AlignRow>();
  if (show == Show::trace) return names_of<TraceRow>();
  if (show == Show::best) return names_of<RankedRow>();
  return forced ? names_of<ForcedRow>() : names_of<TargetRow>();
}

GenerationConfig TranslateOptions::generation(const Seq2Seq& model) const {
  if (beam && *beam < top_k) {
    throw Error::of_field("beam",
                          fmt::format("found {}, wants at least the {} of `top_k`", *beam, top_k));
  }
  GenerationConfig config = model.generation();
  config.num_beams = beam.value_or(std::max(config.num_beams, top_k));
  if (max_new_tokens) config.max_length = *max_new_tokens + 1;
  config.max_length = std::min(config.max_length, model.max_target_tokens());
  if (length_penalty) config.length_penalty = *length_penalty;
  return config;
}

TranslateWorker::TranslateWorker(const TranslationTokenizers& tokenizers, const Seq2Seq& model,
                                 const TranslateOptions& translate, const TaskOptions& options)
    : TaskWorker(tokenizers.source, options),
      tokenizers_(tokenizers),
      seq2seq_(model),
      translate_(translate),
      generation_(translate.generation(model)),
      languages_(tokenizers, generation_, translate.source_language, translate.target_language) {
  refuse_windows();
  if (!translate.languages_field) languages_.require_target(languages_.usual());
}

void TranslateWorker::use_team(Team* team) {
  team_ = team;
  for (auto& [target, search] : searches_) search->use_team(team);
}

LanguagePair TranslateWorker::languages_of(const Record& record) const {
  if (!translate_.languages_field) return languages_.usual();
  try {
    const LanguagePair pair = languages_.read(record.extra[translate_.forced ? 1 : 0]);
    languages_.require_target(pair);
    return pair;
  } catch (const Error& error) {
    record.fail(Error::Kind::data, error.what());
  }
}

TextReader& TranslateWorker::reader_of(int32_t source) {
  std::unique_ptr<Source>& made = sources_of_[source];
  if (!made) made = std::make_unique<Source>(languages_.source_tokenizer(source), options_);
  return made->reader;
}

const Tokenizer& TranslateWorker::target_tokenizer(int32_t target) {
  return targets_of_.try_emplace(target, languages_.target_tokenizer(target)).first->second;
}

bool TranslateWorker::needs_probabilities() const {
  return translate_.forced || translate_.show == TranslateOptions::Show::best || options_.json;
}

void TranslateWorker::encode_texts(std::span<const Record> records) {
  clear_texts();
  sources_.clear();
  texts_.clear();
  pairs_.clear();
  for (const Record& record : records) {
    const LanguagePair pair = languages_of(record);
    note(record, reader_of(pair.source).read({record.text}, texts_.size(), sequences_));
    const Encoding& encoding = sequences_.encodings().back();
    if (!translate_.forced && is_blank(record.text, encoding)) {
      once(record, [&] {
        if (counts_.empty++ == 0) counts_.first_empty = FirstRecord(record);
      });
      continue;
    }
    if (encoding.size() == 0) record.fail(Error::Kind::data, "has no tokens");
    sources_.append(encoding.input_ids, encoding.token_type_ids);
    texts_.push_back(record);
    pairs_.push_back(pair);
  }
}

void TranslateWorker::run(std::span<const Record> records, Rows& rows) {
  encode_texts(records);
  found_.clear();
  if (!texts_.empty()) translate_.forced ? read_targets(texts_) : search(texts_);
  if (translate_.looks()) {
    AttentionTrace trace;
    const auto has = [](const std::vector<size_t>& list, size_t number) {
      return std::find(list.begin(), list.end(), number) != list.end();
    };
    trace.wants = [&](size_t layer, size_t head) {
      return has(translate_.layers, layer + 1) && has(translate_.heads, head + 1);
    };
    trace.show = [&](const AttentionView& view) {
      const Found& found = found_[view.sequence];
      write_view(texts_[found.record], found, view, rows);
    };
    return force(&trace);
  }
  if (needs_probabilities()) force(nullptr);
  size_t first = 0;
  for (size_t i = 0, text = 0; i < records.size(); ++i) {
    size_t last = first;
    if (text < texts_.size() && texts_[text].number == records[i].number) {
      while (last < found_.size() && found_[last].record == text) ++last;
      ++text;
    }
    options_.json ? write_json(records[i], first, last, rows)
                  : write_targets(records[i], first, last, rows);
    first = last;
  }
}

/// targets_ of all texts, those of one language together.
void TranslateWorker::search_languages() {
  std::map<int32_t, std::vector<size_t>> of_target;
  for (size_t i = 0; i < pairs_.size(); ++i) of_target[pairs_[i].target].push_back(i);
  targets_.assign(pairs_.size(), {});
  for (const auto& [target, texts] : of_target) {
    std::unique_ptr<Search>& search = searches_[target];
    if (!search) {
      search = std::make_unique<Search>(seq2seq_, languages_.settle(generation_, target),
                                        search_options(translate_));
      search->use_team(team_);
    }
    PackedBatch sources;
    for (const size_t i : texts) {
      const size_t begin = sources_.begin(i), count = sources_.length(i);
      sources.append(std::span(sources_.input_ids).subspan(begin, count),
                     std::span(sources_.token_type_ids).subspan(begin, count));
    }
    std::vector<std::vector<Target>> found;
    search->run(sources, found);
    for (size_t i = 0; i < texts.size(); ++i) targets_[texts[i]] = std::move(found[i]);
  }
}

void TranslateWorker::search(std::span<const Record> records) {
  search_languages();
  for (size_t i = 0; i < records.size(); ++i) {
    bool finite = !targets_[i].empty();
    for (size_t rank = 0; rank < targets_[i].size(); ++rank) {
      Target& target = targets_[i][rank];
      finite = finite && target.finite;
      found_.push_back({i, rank, std::move(target.ids), target.finite});
    }
    if (targets_[i].empty()) found_.push_back({i, 0, {}, false});
    if (!finite) note_non_finite(records[i]);
  }
}

void TranslateWorker::read_targets(std::span<const Record> records) {
  Encoding encoding;
  EncodeOptions encode = options_.encode;
  // The start token stands before it.
  encode.max_length = seq2seq_.max_target_tokens();
  if (encode.max_length == std::numeric_limits<size_t>::max()) encode.max_length = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    encoding.clear();
    target_tokenizer(pairs_[i].target).encode(records[i].extra[0], encode, encoding, scratch_);
    if (encoding.dropped > 0) {
      records[i].fail(
          Error::Kind::data,
          fmt::format("its target is too long, wants at most {} tokens", encode.max_length));
    }
    std::vector<int32_t> ids = encoding.input_ids;
    const int32_t start = languages_.settle(generation_, pairs_[i].target).start;
    if (!ids.empty() && ids[0] == start) ids.erase(ids.begin());
    for (const int32_t id : ids) {
      if (id >= 0 && static_cast<size_t>(id) < seq2seq_.output().size()) continue;
      records[i].fail(Error::Kind::data,
                      fmt::format("its target has the token {}, wants one below {}", id,
                                  seq2seq_.output().size()));
    }
    found_.push_back({i, 0, std::move(ids), true});
  }
}

void TranslateWorker::force(const AttentionTrace* trace) {
  PackedBatch sources;
  std::vector<std::vector<int32_t>> targets;
  std::vector<int32_t> starts;
  for (const Found& found : found_) {
    const size_t s = found.record;
    const size_t begin = sources_.begin(s), count = sources_.length(s);
    sources.append(std::span(sources_.input_ids).subspan(begin, count),
                   std::span(sources_.token_type_ids).subspan(begin, count));
    targets.push_back(found.ids);
    starts.push_back(languages_.settle(generation_, pairs_[s].target).start);
  }
  if (targets.empty()) return;
  force_targets(seq2seq_, sources, targets, log_probabilities_, team_, trace, starts);
  for (size_t i = 0; i < found_.size(); ++i) {
    if (!found_[i].finite) log_probabilities_[i] = kNan;
  }
}

std::string TranslateWorker::text(const Found& found) const {
  std::string text = tokenizers_.target.decode(found.ids, true);
  // A row is one line of fields.
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r' || c == '\0') c = ' ';
  }
  return text;
}

void TranslateWorker::write_targets(const Record& record, size_t first, size_t last, Rows& rows) {
  const bool best = translate_.show == TranslateOptions::Show::best;
  if (first == last && !best) write(record, TargetRow(), rows);
  for (size_t i = first; i < last; ++i) {
    const Found& found = found_[i];
    if (needs_probabilities() && found.finite && !std::isfinite(log_probabilities_[i])) {
      note_non_finite(record);
    }
    if (translate_.forced) {
      write(record, ForcedRow{log_probabilities_[i], found.ids.size()}, rows);
    } else if (best) {
      write(record, RankedRow{found.rank + 1, log_probabilities_[i], text(found)}, rows);
    } else {
      write(record, TargetRow{text(found)}, rows);
    }
  }
}

void TranslateWorker::write_json(const Record& record, size_t first, size_t last, Rows& rows) {
  begin(record, rows, Repeats::text);
  JsonRow json(rows.raw());
  json.list("targets");
  for (size_t i = first; i < last; ++i) {
    json.object().text("text", text(found_[i])).number("logprob", log_probabilities_[i]);
    json.list("tokens");
    for (const int32_t id : found_[i].ids) json.text("", tokenizers_.target.token(id));
    json.end_list().end_object();
  }
  json.end_list();
  end(record, rows);
}

void TranslateWorker::write_view(const Record& record, const Found& found,
                                 const AttentionView& view, Rows& rows) {
  for (size_t from = 0; from < view.weights.rows; ++from) {
    const float* row = view.weights.row(from);
    float sum = 0;
    for (size_t to = 0; to < view.weights.cols; ++to) sum += row[to];
    if (!(std::abs(sum - 1) < 0.01f)) note_non_finite(record);
  }
  translate_.show == TranslateOptions::Show::align ? write_align(record, found, view, rows)
                                                   : write_trace(record, found, view, rows);
}

void TranslateWorker::write_align(const Record& record, const Found& found,
                                  const AttentionView& view, Rows& rows) const {
  const auto source = std::span(sources_.input_ids).subspan(sources_.begin(found.record));
  for (size_t from = 0; from < view.weights.rows; ++from) {
    for (size_t to = 0; to < view.weights.cols; ++to) {
      write(
          record,
          AlignRow{view.layer + 1, view.head + 1, from, to,
                   static_cast<double>(view.weights.row(from)[to]),
                   tokenizers_.target.token(found.ids[from]), tokenizers_.source.token(source[to])},
          rows);
    }
  }
}

/// Attention in steps: the scores, their softmax, and the sum of the values that it weighs.
void TranslateWorker::write_trace(const Record& record, const Found& found,
                                  const AttentionView& view, Rows& rows) const {
  const std::pair<const char*, ConstMatrix> stages[] = {
      {"scores", view.scores}, {"softmax", view.weights}, {"vector", view.context}};
  for (size_t from = 0; from < view.weights.rows; ++from) {
    for (const auto& [stage, values] : stages) {
      write(record,
            TraceRow{view.layer + 1,
                     view.head + 1,
                     from,
                     tokenizers_.target.token(found.ids[from]),
                     stage,
                     {values.row(from), values.cols}},
            rows);
    }
  }
}

}  // namespace bert
