#include "trainers/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"
#include "trainers/example_fields.h"
#include "trainers/example_records.h"

namespace bert {
namespace {

std::vector<std::string> sorted(const std::set<std::string>& labels) {
  std::vector<std::string> all(labels.begin(), labels.end());
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    const auto x = number_of(a), y = number_of(b);
    return x && y ? *x < *y : x.has_value() && !y;
  });
  return all;
}

void set_label(const Record& record, LabelKind kind, bool header, const LabelIndex& index,
               size_t labels, Example& example) {
  if (kind == LabelKind::none) return;
  const std::string_view text = record.extra[0];
  if (kind == LabelKind::number) {
    const auto value = number_of(text);
    if (!value || !std::isfinite(static_cast<float>(*value))) {
      record.fail(Error::Kind::data, fmt::format("has the value '{}', wants a number{}",
                                                 printable(text), header_hint(record, header)));
    }
    example.values = {static_cast<float>(*value)};
  } else if (kind == LabelKind::several) {
    example.values.assign(labels, 0.f);
    for (const std::string_view label : split(text, ',', EmptyParts::skip)) {
      example.values[static_cast<size_t>(index.find(label, record, header_hint(record, header)))] =
          1.f;
    }
  } else {
    if (text.empty()) record.fail(Error::Kind::data, "has no label");
    example.label = index.find(text, record, header_hint(record, header));
  }
}

}  // namespace

uint64_t ExampleSet::hash() const {
  uint64_t hash = examples.size();
  const auto add = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    hash = mix(hash, xxh64({bytes, values.size() * sizeof values[0]}));
  };
  for (const Example& e : examples) {
    add(e.input_ids), add(e.token_type_ids), add(e.values), add(e.token_labels);
    add(std::array<int64_t, 4>{e.label, e.start, e.end, static_cast<int64_t>(e.origin)});
  }
  for (const std::vector<int32_t>& labels : sentences) add(labels);  // also of words without tokens
  for (const Question& question : questions) {
    add(question.context);
    for (const std::string& answer : question.answers) add(answer);
    hash = mix(hash, question.answers.size());
  }
  return hash;
}

void ExampleSet::fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const {
  batch.clear();
  for (const uint32_t index : order) {
    const Example& e = examples[index];
    batch.batch.append(e.input_ids, e.token_type_ids);
    batch.token_labels.insert(batch.token_labels.end(), e.token_labels.begin(),
                              e.token_labels.end());
    batch.values.insert(batch.values.end(), e.values.begin(), e.values.end());
    if (e.values.empty()) batch.sequence_labels.push_back(e.label);
    batch.starts.push_back(e.start);
    batch.ends.push_back(e.end);
  }
}

size_t for_each_text_record(const ExampleOptions& options,
                            const std::function<void(const Record&)>& use) {
  ExampleFields fields(options);
  return for_each_record(options, nullptr, &fields, true, use);
}

std::vector<std::string> labels_of(const ExampleOptions& options, KeptRecords* kept) {
  if (kept) keep_records(options, *kept);
  std::set<std::string> labels;
  ExampleFields fields(options);
  for_each_record(options, kept, &fields, true, [&](const Record& record) {
    if (options.kind == LabelKind::several) {
      for (const std::string_view label : split(record.extra[0], ',', EmptyParts::skip)) {
        add_label(record, label, labels);
      }
    } else {
      if (record.extra[0].empty()) record.fail(Error::Kind::data, "has no label");
      add_label(record, record.extra[0], labels);
    }
  });
  return sorted(labels);
}

ExampleSet read_texts(const ExampleOptions& options, const Tokenizer& tokenizer,
                      std::span<const std::string> labels, KeptRecords* kept) {
  ExampleSet set;
  ExampleFields fields(options);
  const LabelIndex index(labels);
  Tokenizer::Scratch scratch;
  Encoding encoding;
  const bool labelled = options.kind != LabelKind::none;
  set.blank = for_each_record(options, kept, &fields, labelled, [&](const Record& record) {
    Example example;
    set_label(record, options.kind, options.header || options.json_lines, index, labels.size(),
              example);
    encoding.clear();
    if (options.texts == 2) {
      tokenizer.encode_pair(record.text, record.text_pair, options.encode, encoding, scratch);
    } else {
      tokenizer.encode(record.text, options.encode, encoding, scratch);
    }
    example.cut = encoding.dropped > 0;
    example.empty = std::count(encoding.sequence_ids.begin(), encoding.sequence_ids.end(),
                               kSpecialToken) == static_cast<ptrdiff_t>(encoding.size());
    set.cut += example.cut;
    set.empty += example.empty;
    set.counts.add(encoding, tokenizer.unk_id());
    set.counts.end_text();
    example.input_ids = encoding.input_ids;
    example.token_type_ids = encoding.token_type_ids;
    example.origin = set.origins++;
    set.examples.push_back(std::move(example));
  });
  if (kept) kept->chunks.clear();
  finish(set, options);
  return set;
}

}  // namespace bert
