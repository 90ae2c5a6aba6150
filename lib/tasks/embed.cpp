#include "tasks/embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "io/json.h"
#include "ops/kernels.h"
#include "tokenizer/words.h"

namespace bert {
DenseModules::DenseModules(const std::vector<SentenceModules::Dense>& modules) {
  for (const SentenceModules::Dense& module : modules) {
    layers_.push_back({module.load(), module.activation});
  }
}

Matrix DenseModules::apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch) const {
  bool flip = false;
  for (const Layer& layer : layers_) {
    const Matrix y = (flip ? second : first).matrix(x.rows, layer.linear.out_features());
    layer.linear(x, y, layer.activation, scratch);
    x = y;
    flip = !flip;
  }
  return x;
}

void EmbedWorker::encode_all(std::span<const Record> records) {
  clear_encodings();
  prompted_.clear();
  prompted_.reserve(records.size() * 2);  // views into it must stay
  const auto with_prompt = [&](std::string_view text) -> std::string_view {
    if (plan_.prompt.empty()) return text;
    prompted_.push_back(plan_.prompt + std::string(text));
    return prompted_.back();
  };
  for (size_t i = 0; i < records.size(); ++i) {
    Record record = records[i];
    record.text = cut(record, with_prompt(record.text));
    if (plan_.compare) {
      encode(record, false, 2 * i, plan_.prompt.size());
      record.text = cut(record, with_prompt(record.text_pair));
      encode(record, false, 2 * i + 1, plan_.prompt.size());
    } else {
      encode(record, false, i, plan_.prompt.size());
    }
  }
}

/// What is read of a text, by model2vec's rule.
std::string_view EmbedWorker::cut(const Record& record, std::string_view text) {
  if (text_ == nullptr) return text;
  const std::string_view kept = text_->cut(text, options_.encode.max_length);
  if (kept.size() < text.size()) note_too_long(record);
  return kept;
}

void EmbedWorker::run(std::span<const Record> records, Rows& rows) {
  if (!plan_.prompt.empty() && prompt_tokens_ == 0) {
    prompt_tokens_ = plan_.prompt_tokens(tokenizer_, options_.encode, scratch_);
  }
  encode_all(records);
  if (plan_.spans) return compute_spans(records, rows);
  if (plan_.per_token) {
    compute_tokens(records, rows);
    return;
  }
  compute_vectors(plan_.compare ? 2 * records.size() : records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    if (plan_.compare) {
      const double similarity =
          cosine({vectors_.row(2 * i), vectors_.cols}, {vectors_.row(2 * i + 1), vectors_.cols});
      if (!std::isfinite(similarity)) note_non_finite(records[i]);
      write_similarity(records[i], similarity, rows);
    } else {
      write_vector(records[i], {vectors_.row(i), vectors_.cols}, rows);
    }
  }
}

/// What no layer is needed for: the static word vectors, or one-hot rows. features_ [T, W]
void EmbedWorker::fill_static(const PackedBatch& batch) {
  const bool one_hot = plan_.layers.combine == LayerExpression::Combine::one_hot;
  const Matrix features = features_.matrix(batch.tokens(), plan_.features);
  for (size_t t = 0; t < batch.tokens(); ++t) {
    const std::span<float> row(features.row(t), features.cols);
    if (one_hot) {
      std::fill(row.begin(), row.end(), 0.0f);
      row[static_cast<size_t>(batch.input_ids[t])] = 1;
    } else {
      model_->word_vector(batch.input_ids[t], row);
    }
  }
}

/// for_each_features of static vectors.
void EmbedWorker::for_each_static(const UseFeatures& use) {
  for (size_t first = 0; first < encodings().size();) {
    const size_t last = pack(first);
    const Matrix features = features_.matrix(batch_.tokens(), plan_.features);
    for (size_t t = 0; t < features.rows; ++t) {
      text_->vectors.vector(batch_.input_ids[t], {features.row(t), features.cols});
    }
    use(first, batch_, Matrix(), features);
    first = last;
  }
}

/// Calls `use` for each batch of the encodings.
void EmbedWorker::for_each_features(const UseFeatures& use) {
  if (text_ != nullptr) return for_each_static(use);
  ForwardOptions options;
  options.last_layer = plan_.layers.last_layer();
  if (!plan_.layers.is_static()) {
    options.trace.request = Traced::hidden;
    options.trace.layers = plan_.layers.layers;
    options.trace.show = [this](const TraceView& view) {
      plan_.layers.add(view.layer, view.values, features_.matrix(view.values.rows, plan_.features));
    };
  }
  for_each_batch(
      [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        if (plan_.layers.is_static()) fill_static(batch);
        use(first, batch, hidden, Matrix(features_.data(), batch.tokens(), plan_.features));
      },
      options);
}

/// vectors_ [count, width] of the encoded texts.
void EmbedWorker::compute_vectors(size_t count) {
  const size_t width = plan_.pooler      ? plan_.features
                       : plan_.attentive ? plan_.attentive->hops() * plan_.features
                                         : plan_.poolings.size() * plan_.features;
  const Matrix pooled = pooled_.matrix(count, width);  // [texts, W]
  if (text_ != nullptr) {
    pool_static(pooled);
  } else {
    pool_windows(pooled);
  }
  vectors_ = finish(dense_.apply(pooled, dense_first_, dense_second_, workspace_.linear));
}

/// Of a window with so many tokens; never 0, so that a text without tokens has a weight.
size_t EmbedWorker::pooled_tokens(size_t tokens) const {
  return plan_.no_special ? std::max<size_t>(tokens - tokenizer_.frame().added(), 1) : tokens;
}

/// The windows of a long text are averaged by their tokens.
void EmbedWorker::pool_windows(Matrix pooled) {
  std::fill_n(pooled.data, pooled.rows * pooled.cols, 0.0f);
  std::vector<size_t> tokens_of(pooled.rows, 0);
  for (size_t i = 0; i < owners_.size(); ++i)
    tokens_of[owners_[i]] += pooled_tokens(encodings()[i].size());

  std::vector<float> one(pooled.cols);
  for_each_features([&](size_t first, const PackedBatch& batch, Matrix hidden, ConstMatrix states) {
    Matrix whole;  // vectors of all sequences at once
    if (plan_.pooler) whole = model_->pooled_output(batch, hidden, workspace_);
    if (plan_.attentive) {
      whole = workspace_.pooled.matrix(batch.sequences(), pooled.cols);
      (*plan_.attentive)(batch, hidden, whole, plan_.prompt_is_pooled ? 0 : prompt_tokens_,
                         workspace_.linear);
    }
    for (size_t s = 0; s < batch.sequences(); ++s) {
      if (whole.data != nullptr) {
        std::copy_n(whole.row(s), pooled.cols, one.data());
      } else {
        plan_.pool_sequence(states.slice(batch.begin(s), batch.length(s)), prompt_tokens_,
                            tokenizer_.frame(), one);
      }
      // A text in one window has weight 1 and keeps its bits.
      const size_t owner = owners_[first + s];
      const float weight =
          static_cast<float>(pooled_tokens(batch.length(s))) / static_cast<float>(tokens_of[owner]);
      float* out = pooled.row(owner);
      for (size_t i = 0; i < pooled.cols; ++i) out[i] += weight * one[i];
    }
  });
}

/// Static vectors need no layers, and no batches.
void EmbedWorker::pool_static(Matrix pooled) {
  for (size_t i = 0; i < owners_.size(); ++i) {
    text_->vectors.mean(encodings()[i].input_ids, text_->left_out,
                        {pooled.row(owners_[i]), pooled.cols}, row_);
  }
}

void EmbedWorker::write_numbers(const Record& record, std::span<const float> vector,
                                Rows& rows) const {
  if (plan_.format == VectorFormat::tsv) {
    for (const float value : vector) rows.field(value);
  } else {
    try {
      append_vector(plan_.format, vector, plan_.scale, rows.raw());
    } catch (const Error& error) {
      record.fail(error.kind(), error.what());
    }
  }
}

void EmbedWorker::note_vector(const Record& record, std::span<const float> vector) {
  if (std::any_of(vector.begin(), vector.end(), [](float v) { return !std::isfinite(v); })) {
    note_non_finite(record);
  }
}

void EmbedWorker::write_similarity(const Record& record, double similarity, Rows& rows) const {
  if (options_.json) {
    begin_json(rows, record, true).number("cosine", similarity);
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.number(similarity);
  end_row(rows, record);
}

void EmbedWorker::write_vector(const Record& record, std::span<const float> vector, Rows& rows) {
  note_vector(record, vector);
  if (plan_.format != VectorFormat::tsv) {
    write_numbers(record, vector, rows);
  } else if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number);
    write_cut(json, record);
    json.exact("vector", vector);
    end_json(rows);
  } else {
    begin_row(rows, record);
    write_numbers(record, vector, rows);
    end_row(rows, record);
  }
}

/// One row per token, or one per word.
void EmbedWorker::compute_tokens(std::span<const Record> records, Rows& rows) {
  const Record* last = nullptr;
  tokens_of_.end = 0;
  word_.id = word_.first = -1;  // an error may have left a word
  word_.next = 0;
  word_.pieces.clear();
  for_each_features([&](size_t first, const PackedBatch& batch, Matrix, Matrix states) {
    if (!plan_.words) {
      states = finish(dense_.apply(states, dense_first_, dense_second_, workspace_.linear));
    }
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const Record& record = records[owners_[first + s]];
      const Encoding& encoding = encodings()[first + s];
      const Matrix tokens = states.slice(batch.begin(s), batch.length(s));
      if (!plan_.words) {
        if (first + s == tokens_of_.end) begin_tokens(first + s);
        write_tokens(record, first + s, tokens, rows);
        continue;
      }
      if (last != nullptr && last != &record) end_words(*last, rows);
      last = &record;
      add_pieces(record, encoding, tokens, rows);
    }
  });
  if (last != nullptr) end_words(*last, rows);
}

/// The windows of the record whose first encoding this is.
void EmbedWorker::begin_tokens(size_t sequence) {
  tokens_of_.begin = tokens_of_.end = sequence;
  tokens_of_.windows.clear();
  tokens_of_.prompt = 0;
  for (size_t& end = tokens_of_.end; end < owners_.size(); ++end) {
    if (owners_[end] != owners_[sequence]) break;
    const Encoding& encoding = encodings()[end];
    const Encoding::Range text = encoding.range(0);
    tokens_of_.windows.push_back({encoding.before, text.size()});
    for (size_t t = text.begin; t < text.end; ++t) {
      if (encoding.offsets[t].end > plan_.prompt.size()) break;
      tokens_of_.prompt = encoding.before + t - text.begin + 1;
    }
  }
}

/// A token of several windows in the one where it has the most context. Those of the prompt have
/// no row, and do not count.
void EmbedWorker::write_tokens(const Record& record, size_t sequence, ConstMatrix tokens,
                               Rows& rows) {
  const Encoding& encoding = encodings()[sequence];
  const size_t window = sequence - tokens_of_.begin, front = tokenizer_.frame().before.size();
  for (size_t t = 0; t < tokens.rows; ++t) {
    if (is_left_out(encoding.input_ids[t])) continue;
    const size_t index = encoding.index(t);
    if (encoding.is_added(t)) {  // once: [CLS] of the first window, [SEP] of the last
      if (t < front ? window > 0 : sequence + 1 < tokens_of_.end) continue;
    } else if (index < front + tokens_of_.prompt ||
               !owns_token(tokens_of_.windows, window, index - front)) {
      continue;
    }
    write_token(record, t < front ? index : index - tokens_of_.prompt,
                tokenizer_.token(encoding.input_ids[t]), {tokens.row(t), tokens.cols}, rows);
  }
}

/// The pieces of a window that no window before had: a word is the mean of its pieces, each from
/// the first window that holds it.
void EmbedWorker::add_pieces(const Record& record, const Encoding& encoding, ConstMatrix tokens,
                             Rows& rows) {
  for (size_t t = 0; t < tokens.rows; ++t) {
    const int32_t word = encoding.word_ids[t];
    const Offset bytes = encoding.offsets[t];
    const bool seen = encoding.index(t) < word_.next;
    if (word < 0 || seen || is_left_out(encoding.input_ids[t])) continue;
    word_.next = encoding.index(t) + 1;
    if (word != word_.id) {
      write_word(record, rows);
      word_.id = word;
      word_.bytes = bytes;
    }
    word_.bytes.end = bytes.end;
    word_.pieces.insert(word_.pieces.end(), tokens.row(t), tokens.row(t) + tokens.cols);
  }
}

void EmbedWorker::end_words(const Record& record, Rows& rows) {
  write_word(record, rows);
  word_.id = word_.first = -1;
  word_.next = 0;
}

/// The word whose pieces are all there, if there is one.
void EmbedWorker::write_word(const Record& record, Rows& rows) {
  const size_t width = plan_.features;
  // Offsets are those of the prompt and the text; words of the prompt have no row.
  const size_t prompt = plan_.prompt.size();
  if (!word_.pieces.empty() && word_.bytes.end > prompt) {
    word_.mean.resize(width);
    pool(Pooling::mean, {word_.pieces.data(), word_.pieces.size() / width, width}, word_.mean);
    const Matrix vector = finish({word_.mean.data(), 1, width});
    const size_t from = std::max<size_t>(word_.bytes.begin, prompt) - prompt;
    const size_t end = word_.bytes.end - prompt;
    const size_t begin =
        without_blank(record.text, {static_cast<uint32_t>(from), static_cast<uint32_t>(end)}).begin;
    // The prompt's last word may be the text's first too, so only the rows tell which is word 0.
    if (word_.first < 0) word_.first = prompt > 0 ? word_.id : 0;
    write_token(record, static_cast<size_t>(word_.id - word_.first),
                record.text.substr(begin, end - begin), {vector.data, vector.cols}, rows);
  }
  word_.pieces.clear();
}

void EmbedWorker::write_token(const Record& record, size_t index, std::string_view token,
                              std::span<const float> vector, Rows& rows) {
  note_vector(record, vector);
  if (plan_.format != VectorFormat::tsv) {
    write_numbers(record, vector, rows);
    return;
  }
  if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number).count("index", index);
    json.text("token", token).exact("vector", vector);
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.field(index).field(token);
  write_numbers(record, vector, rows);
  end_row(rows, record);
}

}  // namespace bert
