#include "trainers/translation_pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "trainers/text_examples.h"

namespace bert {

std::vector<TextPair> read_pairs(const PairFiles& from) {
  ExampleOptions options;
  options.files = from.files;
  options.texts = 2;
  options.fields = from.fields;
  static_cast<RecordForm&>(options) = from;
  options.kind = LabelKind::none;
  options.wanted = from.wanted;
  std::vector<TextPair> pairs;
  for_each_text_record(options, [&](const Record& record) {
    if (record.text.empty()) record.fail(Error::Kind::data, "has an empty source");
    if (record.text_pair.empty()) record.fail(Error::Kind::data, "has an empty target");
    const auto file = std::find(from.files.begin(), from.files.end(), *record.file);
    pairs.push_back({std::string(record.text), std::string(record.text_pair),
                     static_cast<size_t>(file - from.files.begin()), record.number_in_file});
  });
  if (pairs.empty()) {
    throw Error(Error::Kind::data, from.files.front(), "has no pairs to learn from");
  }
  return pairs;
}

std::vector<std::pair<std::string, std::string>> learn_units(std::span<const TextPair> pairs,
                                                             const TrainPiecesOptions& options,
                                                             size_t max_tokens) {
  PieceTrainer source(options), target(options);
  for (const TextPair& pair : pairs) {
    source.add(pair.source);
    target.add(pair.target);
  }
  TranslationFilesOptions files;
  files.model_max_length = max_tokens;
  return translation_files(source.train(), target.train(), files);
}

uint64_t PairSet::hash() const {
  uint64_t hash = size();
  for (const auto* side : {&sources, &targets}) {
    for (const std::vector<int32_t>& ids : *side) {
      const auto* bytes = reinterpret_cast<const char*>(ids.data());
      hash = mix(hash, xxh64({bytes, ids.size() * sizeof ids[0]}));
    }
  }
  return hash;
}

void PairSet::fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const {
  batch.clear();
  std::vector<int32_t> types;
  const auto append = [&](const std::vector<int32_t>& ids, PackedBatch& to) {
    types.resize(std::max(types.size(), ids.size()), 0);
    to.append(ids, std::span(types).subspan(0, ids.size()));
  };
  for (const uint32_t index : order) {
    append(sources[index], batch.batch);
    append(targets[index], batch.target);
  }
}

PairSet encode_pairs(std::span<const TextPair> pairs, const PairFiles& from,
                     const TranslationTokenizers& tokenizers, size_t max_tokens) {
  PairSet set;
  Tokenizer::Scratch source_scratch, target_scratch;
  Encoding encoding;
  for (const TextPair& pair : pairs) {
    const auto encode = [&](const Tokenizer& tokenizer, const std::string& text,
                            Tokenizer::Scratch& scratch, const char* side) {
      tokenizer.encode(text, {}, encoding, scratch);
      set.counts.add(encoding, tokenizer.unk_id());
      set.counts.end_text();
      if (encoding.input_ids.size() <= max_tokens) return encoding.input_ids;
      throw Error(Error::Kind::data,
                  fmt::format("{}: record {}", from.files[pair.file], pair.record),
                  fmt::format("has a {} of {} tokens, wants at most {}", side,
                              encoding.input_ids.size(), max_tokens));
    };
    set.sources.push_back(encode(tokenizers.source, pair.source, source_scratch, "source"));
    set.targets.push_back(encode(tokenizers.target, pair.target, target_scratch, "target"));
  }
  return set;
}

}  // namespace bert
