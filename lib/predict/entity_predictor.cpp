#include "predict/entity_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "predict/name_words.h"

namespace bert {
namespace {

/// The context of a span of words in windows[window], if that one holds all of it: the words on its
/// shorter side, where the text's own ends lack nothing.
size_t context_of(std::span<const TokenWindow> windows, size_t window, const EntityScore& span) {
  const TokenWindow& w = windows[window];
  const size_t left = window == 0 ? SIZE_MAX : span.begin - w.first;
  const size_t right = window + 1 == windows.size() ? SIZE_MAX : w.end() - span.end;
  return std::min(left, right);
}

bool owns(std::span<const TokenWindow> windows, size_t window, const EntityScore& span) {
  const auto holds = [&](size_t w) {
    return windows[w].first <= span.begin && span.end <= windows[w].end();
  };
  const size_t own = context_of(windows, window, span);
  for (size_t w = window; w-- > 0 && holds(w);) {
    if (context_of(windows, w, span) >= own) return false;
  }
  for (size_t w = window + 1; w < windows.size() && holds(w); ++w) {
    if (context_of(windows, w, span) > own) return false;
  }
  return true;
}

/// Tokens of a word by itself.
void encode_alone(const Tokenizer& tokenizer, std::string_view word, bool literal, Encoding& out,
                  Tokenizer::Scratch& scratch) {
  EncodeOptions options;
  options.add_special_tokens = false;
  options.max_length = 0;
  options.literal = literal;
  out.clear();
  tokenizer.encode(word, options, out, scratch);
}

}  // namespace

OpenEntityPredictor::OpenEntityPredictor(const Tokenizer& tokenizer, const Model& model,
                                         OpenEntityOptions options)
    : tokenizer_(tokenizer),
      model_(model),
      head_(EntityHead::open(model)),
      options_(std::move(options)) {
  tags_ = {"O"};
  for (const std::string& name : options_.names) {
    tags_.push_back("B-" + name);
    tags_.push_back("I-" + name);
  }
  make_prompt(find_marks());
}

/// The marks' tokens. Those that the tokenizer lacks stand behind its own, in the order in which
/// the package adds them.
OpenEntityPredictor::Marks OpenEntityPredictor::find_marks() const {
  const OpenEntities& config = head_.config();
  Marks marks;
  auto next = static_cast<int32_t>(tokenizer_.vocab_size());
  const bool adds = config.mark_id < 0;
  const auto id_of = [&](const std::string& mark) {
    if (const auto id = tokenizer_.token_to_id(mark)) return *id;
    if (adds) return next++;
    throw Error(Error::Kind::data, model_.directory().path(),
                fmt::format("the vocabulary has no {}, the mark of names", printable(mark)));
  };
  if (adds) id_of("[FLERT]");
  marks.name = {id_of(config.name_mark)};
  marks.end = {id_of(config.end_mark)};
  marks.id = adds ? next - 2 : config.mark_id;
  return marks;
}

void OpenEntityPredictor::make_prompt(const Marks& marks) {
  const size_t before = tokenizer_.frame().before.size();
  Tokenizer::Scratch scratch;
  Encoding tokens;
  for (const std::string& name : options_.names) {
    prompt_.insert(prompt_.end(), marks.name.begin(), marks.name.end());
    encode_alone(tokenizer_, name, true, tokens, scratch);
    if (tokens.size() == 0) {
      throw Error::of_field("labels",
                            fmt::format("found '{}', which has no tokens", printable(name)));
    }
    prompt_.insert(prompt_.end(), tokens.input_ids.begin(), tokens.input_ids.end());
  }
  prompt_.insert(prompt_.end(), marks.end.begin(), marks.end.end());
  for (size_t i = 0; i < prompt_.size(); ++i) {
    if (prompt_[i] == marks.id) names_.push_back(before + i + (head_.config().at_mark ? 0 : 1));
  }
  if (names_.size() == options_.names.size()) return;
  throw Error(Error::Kind::data, model_.directory().path(),
              fmt::format("class_token_index {} is not the mark of names", marks.id));
}

Reading OpenEntityPredictor::read(SearchedText& text, size_t number, TextReader& reader,
                                  Sequences& to) const {
  const ReadOptions& options = reader.options();
  const size_t taken = tokenizer_.added_tokens_single() + prompt_.size();
  const size_t limit = options.encode.max_length > 0 ? options.encode.max_length : SIZE_MAX;
  if (limit <= taken) {
    throw Error::of_field(
        "labels", fmt::format("found names of {} tokens, which leave a text of at most {} no room",
                              prompt_.size(), limit));
  }
  if (!text.given_words) {
    text.words.clear();
    split_name_words(text.text, text.words);
  }
  Reading reading;
  encode_words(text, limit - taken, options.encode, reader.scratch(), reading);
  cut_windows(text, limit - taken, options);
  text.entities.clear();
  text.finite = true;
  text.first_sequence = to.size();
  for (const TokenWindow& window : text.windows) {
    FramedText framed(tokenizer_.frame(), to.add(number));
    for (const int32_t id : prompt_) framed.push(id, {}, -1);
    for (size_t t = text.tokens[window.first]; t < text.tokens[window.end()]; ++t) {
      framed.push(text.ids[t], {}, 0);
    }
    framed.finish();
  }
  if (options.overflow != Overflow::window && !text.windows.empty()) {
    reading.dropped += text.ids.size() - text.tokens[text.windows[0].end()];
  }
  return reading;
}

/// Encodes each word by itself, as is_split_into_words of transformers; of one that has more tokens
/// than there is room the first.
void OpenEntityPredictor::encode_words(SearchedText& text, size_t room,
                                       const EncodeOptions& options, Tokenizer::Scratch& scratch,
                                       Reading& reading) const {
  text.ids.clear();
  text.tokens.assign(1, 0);
  Encoding one;
  for (const Offset& word : text.words) {
    encode_alone(tokenizer_, text.text.substr(word.begin, word.end - word.begin), options.literal,
                 one, scratch);
    const size_t count = std::min(one.size(), room);
    for (size_t t = 0; t < count; ++t) {
      reading.unknown[0] += one.input_ids[t] == tokenizer_.unk_id();
      text.ids.push_back(one.input_ids[t]);
    }
    reading.dropped += one.size() - count;
    reading.replaced_bytes += one.replaced_bytes;
    text.tokens.push_back(text.ids.size());
  }
  reading.tokens[0] = text.ids.size();
}

/// Windows of as many words as the model takes, if their tokens have room. Two share words of at
/// most `stride` tokens, and at most half.
void OpenEntityPredictor::cut_windows(SearchedText& text, size_t room,
                                      const ReadOptions& options) const {
  const size_t words = text.words.size(), most = head_.config().max_words;
  const auto tokens = [&](size_t first, size_t end) {
    return text.tokens[end] - text.tokens[first];
  };
  text.windows.clear();
  for (size_t first = 0, end = 0; end < words;) {
    end = first + 1;
    while (end < words && end - first < most && tokens(first, end + 1) <= room) ++end;
    text.windows.push_back({first, end - first});
    if (options.overflow != Overflow::window) return;
    const size_t shared = std::min(options.stride, tokens(first, end) / 2);
    size_t next = end;
    while (next > first + 1 && tokens(next - 1, end) <= shared) --next;
    first = next;
  }
}

EntityTokens OpenEntityPredictor::tokens_of(const SearchedText& text, size_t window) const {
  const TokenWindow& words = text.windows[window];
  EntityTokens tokens{names_, {}};
  const size_t begin = tokenizer_.frame().before.size() + prompt_.size();
  for (size_t w = words.first; w <= words.end(); ++w) {
    tokens.words.push_back(begin + text.tokens[w] - text.tokens[words.first]);
  }
  return tokens;
}

void OpenEntityPredictor::predict(const Sequences& sequences, std::span<SearchedText> texts,
                                  EntityScorer& scorer, Batcher& batcher) const {
  std::vector<EntityTokens> tokens;
  std::vector<std::vector<EntityScore>> found;
  batcher.run(
      model_, sequences.encodings(), [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        tokens.clear();
        found.resize(std::max(found.size(), batch.sequences()));
        const auto text_of = [&](size_t i) -> SearchedText& {
          return texts[sequences.texts()[first + i]];
        };
        const auto window_of = [&](size_t i) { return first + i - text_of(i).first_sequence; };
        for (size_t i = 0; i < batch.sequences(); ++i) {
          tokens.push_back(tokens_of(text_of(i), window_of(i)));
        }
        scorer(batch, hidden, tokens, options_.threshold, batcher.workspace(), found);
        for (size_t i = 0; i < batch.sequences(); ++i) {
          take(text_of(i), window_of(i), found[i]);
          text_of(i).finite = text_of(i).finite && scorer.finite(i);
        }
      });
  for (SearchedText& text : texts) settle(text);
}

/// Adds what a window says of the spans that are its own.
void OpenEntityPredictor::take(SearchedText& text, size_t window,
                               std::span<const EntityScore> found) const {
  const auto first = static_cast<uint32_t>(text.windows[window].first);
  for (EntityScore span : found) {
    span.begin += first;
    span.end += first;
    if (owns(text.windows, window, span)) text.entities.push_back(span);
  }
}

void OpenEntityPredictor::settle(SearchedText& text) const {
  const bool of_words = head_.config().of_words;
  const auto key = [&](const EntityScore& e) {
    return std::tuple(e.begin, of_words ? e.name : e.end, of_words ? e.end : e.name);
  };
  if (text.windows.size() > 1) {
    std::sort(text.entities.begin(), text.entities.end(),
              [&](const EntityScore& a, const EntityScore& b) { return key(a) < key(b); });
  }
  choose_entities(options_.rule, text.words.size(), text.entities);
}

std::vector<Entity> OpenEntityPredictor::entities(const SearchedText& text) const {
  std::vector<Entity> list;
  for (const EntityScore& e : text.entities) {
    list.push_back(
        {text.words[e.begin].begin, text.words[e.end - 1].end, options_.names[e.name], e.score});
  }
  return list;
}

std::vector<std::string_view> OpenEntityPredictor::tags(const SearchedText& text) const {
  std::vector<std::string_view> tags(text.words.size(), tags_[0]);
  for (const EntityScore& e : text.entities) {
    for (size_t w = e.begin; w < e.end; ++w) tags[w] = tags_[2 * e.name + (w == e.begin ? 1 : 2)];
  }
  return tags;
}

}  // namespace bert
