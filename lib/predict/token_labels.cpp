#include "predict/token_labels.h"

#include <algorithm>
#include <cmath>

#include "ops/kernels.h"
#include "text/unicode.h"
#include "tokenizer/words.h"

namespace bert {

Reading TokenLabelPredictor::read(LabelledText& text, size_t number, TextReader& reader,
                                  Sequences& to) const {
  const ReadOptions& options = reader.options();
  const size_t room = options.encode.max_length - tokenizer_.added_tokens_single();
  EncodeOptions encode = options.encode;
  encode.add_special_tokens = false;
  encode.max_length = options.overflow == Overflow::window ? 0 : room;
  text.tokens.clear();
  if (text.given_words) {
    encode_words(text, encode, reader.scratch());
  } else {
    tokenizer_.encode(text.text, encode, text.tokens, reader.scratch());
  }
  text.first_sequence = to.size();
  cut_windows(text.tokens.size(), room, window_stride(room, options.stride), text.windows);
  for (const TokenWindow& window : text.windows) {
    FramedText framed(tokenizer_.frame(), to.add(number));
    for (size_t t = window.first; t < window.end(); ++t) {
      framed.push(text.tokens.input_ids[t], text.tokens.offsets[t], text.tokens.word_ids[t]);
    }
    framed.finish();
  }
  return Reading::of(text.tokens, tokenizer_.unk_id());
}

/// Encodes each word by itself.
void TokenLabelPredictor::encode_words(LabelledText& s, const EncodeOptions& encode,
                                       Tokenizer::Scratch& scratch) const {
  EncodeOptions alone = encode;
  alone.max_length = 0;
  Encoding one;
  FramedText words(tokenizer_.frame(), s.tokens, false);
  for (size_t w = 0; w < s.words.size(); ++w) {
    const Offset at = s.words[w];
    const std::string_view word = s.text.substr(at.begin, at.end - at.begin);
    if (w == 0) {
      tokenizer_.encode(word, alone, one, scratch);
    } else {
      encode_behind_blank(tokenizer_, word, alone, one, scratch);
    }
    s.tokens.replaced_bytes += one.replaced_bytes;
    for (size_t t = 0; t < one.size(); ++t) {
      if (encode.max_length > 0 && s.tokens.size() == encode.max_length) {
        ++s.tokens.dropped;
        continue;
      }
      const Offset in_word = one.offsets[t];
      words.push(one.input_ids[t], {at.begin + in_word.begin, at.begin + in_word.end},
                 static_cast<int32_t>(w));
    }
  }
}

void TokenLabelPredictor::predict(const Sequences& sequences, std::span<LabelledText> texts,
                                  TokenScorer& scorer, Batcher& batcher) const {
  const size_t labels = head_.labels().size(), before = tokenizer_.frame().before.size();
  for (LabelledText& text : texts) text.scores.resize(text.tokens.size() * labels);
  for_each_batch(sequences.encodings(), scorer, batcher,
                 [&](size_t first, const PackedBatch& batch, Matrix logits) {
                   for (size_t i = 0; i < batch.sequences(); ++i) {
                     LabelledText& text = texts[sequences.texts()[first + i]];
                     const size_t w = first + i - text.first_sequence;
                     for (size_t t = 0; t < text.windows[w].count; ++t) {
                       const size_t token = text.windows[w].first + t;
                       if (!owns_token(text.windows, w, token)) continue;
                       const std::span<float> scores(&text.scores[token * labels], labels);
                       std::copy_n(logits.row(batch.begin(i) + before + t), labels, scores.data());
                       softmax(scores);
                     }
                   }
                 });
}

bool TokenLabelPredictor::choose(Aggregation aggregation, LabelledText& s) const {
  s.labels.clear();
  const bool finite =
      std::all_of(s.scores.begin(), s.scores.end(), [](float v) { return std::isfinite(v); });
  if (finite) {
    const std::vector<int32_t> words =
        s.given_words ? s.tokens.word_ids : pipeline_words(tokenizer_, s.text, s.tokens);
    s.labels = aggregate(aggregation, words,
                         Matrix(s.scores.data(), s.tokens.size(), head_.labels().size()));
  }
  if (s.words.empty() || !by_word(aggregation)) return finite;
  std::vector<LabelledWord> all(s.words.size());  // a word may have no token, or was cut
  for (const LabelledWord& word : s.labels) {
    all[static_cast<size_t>(s.tokens.word_ids[word.first])] = word;
  }
  s.labels.swap(all);
  return finite;
}

Offset TokenLabelPredictor::bytes(const LabelledText& s, Aggregation aggregation, size_t word) {
  if (!s.words.empty() && by_word(aggregation)) return s.words[word];
  const LabelledWord& w = s.labels[word];
  return {s.tokens.offsets[w.first].begin, s.tokens.offsets[w.first + w.count - 1].end};
}

std::string_view TokenLabelPredictor::tag(const LabelledWord& word) const {
  return word.count == 0 ? "O" : std::string_view(head_.labels()[word.label]);
}

std::vector<Entity> TokenLabelPredictor::entities(const LabelledText& s, Aggregation aggregation,
                                                  double threshold) const {
  std::vector<std::string_view> tags;
  for (const LabelledWord& word : s.labels) tags.push_back(tag(word));
  std::vector<EntitySpan> spans;
  if (aggregation == Aggregation::none) {
    for (size_t i = 0; i < tags.size(); ++i) {
      if (tags[i] != "O") spans.push_back({i, i + 1, tags[i]});
    }
  } else {
    spans = scheme_.entities(tags);
  }
  // Pieces of a word are as they are, unless the tokenizer took marks away.
  const bool keep_marks = by_word(aggregation) || tokenizer_.marks_continuations();
  std::vector<Entity> found;
  for (const EntitySpan& span : spans) {
    Entity e{bytes(s, aggregation, span.begin).begin, bytes(s, aggregation, span.end - 1).end,
             span.type, 0};
    if (keep_marks) include_marks(s.text, e.begin, e.end);
    for (size_t i = span.begin; i < span.end; ++i) e.score += s.labels[i].score;
    e.score /= static_cast<double>(span.end - span.begin);
    if (e.score >= threshold) found.push_back(e);
  }
  return found;
}

}  // namespace bert
