#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "api/handles.h"

using namespace bert;
using namespace bert::api;

namespace {

void keep_sequence(bert_batch& batch) {
  batch.begins.push_back(batch.tokens() + batch.sequences[batch.count() - 1].size());
}

void check_strict(const bert_batch& batch, const Reading& reading) {
  if (!batch.strict) return;
  const size_t most = batch.reader.options().encode.max_length;
  if (!reading.cut && reading.replaced_bytes > 0) {
    throw Error(Error::Kind::data, "text", "is not UTF-8");
  }
  if (reading.cut || reading.dropped > 0) {
    throw Error(Error::Kind::data, "text",
                fmt::format("is too long, wants at most {} tokens", most));
  }
}

/// A text may be as long as the caller and the model say; 0: no limit.
size_t length_of(const bert_model& model, size_t given) {
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  if (model.max_length() > 0 && given > model.max_length()) {
    refuse("max_length",
           fmt::format("found {}, wants at most {}, the model's", given, model.max_length()));
  }
  const size_t length = given > 0 ? given : model.max_length();
  const size_t least = tokenizer.added_tokens_pair() + 1;
  if (!model.opened.fixed() && length < least) {
    refuse("max_length", fmt::format("found {}, wants at least {}", length, least));
  }
  return length;
}

void add_text(bert_batch& batch, const Text& text) {
  if (batch.model.opened.fixed() && text.pair) {
    refuse("pair", "the model has static vectors, wants single texts");
  }
  const size_t before = batch.count();
  try {
    check_strict(batch, batch.reader.read(text, before, batch.sequences));
  } catch (...) {
    if (batch.count() > before) batch.sequences.drop();
    throw;
  }
  keep_sequence(batch);
}

}  // namespace

int bert_batch_open(const bert_model* model, const bert_batch_options* options,
                    bert_batch** batch) {
  if (batch) *batch = nullptr;
  return guard([&] {
    const bert_model& of = need(model, "model");
    need(batch, "batch");
    const bert_batch_options given = read_options(options);
    ReadOptions reading = of.reading;
    reading.overflow = Overflow::cut;  // a sequence of the batch is one text or pair ...
    reading.encode.truncation = Truncation::longest_first;
    reading.encode.max_length = length_of(of, given.max_length);
    reading.encode.literal = given.literal != 0;
    std::unique_ptr<bert_batch> made(
        new bert_batch{of, {of.tokenizer.tokenizer, reading}, given.strict != 0});
    if (check_threads(given.threads) > 1) {
      made->team = std::make_unique<Team>(given.threads);
      made->batcher.use_team(made->team.get());
    }
    *batch = made.release();
  });
}

void bert_batch_close(bert_batch* batch) { delete batch; }

int bert_batch_add(bert_batch* batch, const char* text, size_t size, const char* pair,
                   size_t pair_size) {
  return guard([&] {
    add_text(need(batch, "batch"), {text_of(text, size, "text"), pair_of(pair, pair_size)});
  });
}

int bert_batch_add_ids(bert_batch* batch, const int32_t* ids, const int32_t* type_ids,
                       size_t count) {
  return guard([&] {
    need(batch, "batch");
    need(ids, "ids");
    const size_t limit = batch->reader.options().encode.max_length;
    const size_t most = limit > 0 ? limit : SIZE_MAX;
    if (count == 0 || count > most) {
      throw Error(Error::Kind::data, "count", fmt::format("found {}, wants 1 to {}", count, most));
    }
    const bert_model& of = batch->model;
    const size_t tokens =
        of.opened.fixed() ? of.tokenizer.tokenizer.vocab_size() : of.model().config().vocab_size;
    const size_t types = of.opened.fixed() ? 0 : of.model().config().type_vocab_size;
    for (size_t i = 0; i < count; ++i) {
      const int32_t type = type_ids ? type_ids[i] : 0;
      if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= tokens || type < 0 ||
          (types > 0 && static_cast<size_t>(type) >= types)) {
        throw Error(
            Error::Kind::data, "ids",
            fmt::format("found the id {} of type {}, which the model does not have", ids[i], type));
      }
    }
    Encoding& encoding = batch->sequences.add(batch->count());
    for (size_t i = 0; i < count; ++i) {
      const int32_t type = type_ids ? type_ids[i] : 0;
      const bool added = of.tokenizer.tokenizer.is_special(ids[i]);
      encoding.push(ids[i], type, {}, added ? kSpecialToken : int8_t{type > 0}, -1);
    }
    keep_sequence(*batch);
  });
}

void bert_batch_clear(bert_batch* batch) {
  if (!batch) return;
  batch->sequences.clear();
  batch->begins.resize(1);
}

size_t bert_batch_size(const bert_batch* batch) { return batch ? batch->count() : 0; }

const bert_encoding* bert_batch_encoding(const bert_batch* batch, size_t sequence) {
  if (!batch || sequence >= batch->count()) return nullptr;
  return reinterpret_cast<const bert_encoding*>(&batch->sequences[sequence]);
}

size_t bert_batch_begin(const bert_batch* batch, size_t sequence) {
  return batch ? batch->begins[std::min(sequence, batch->count())] : 0;
}
