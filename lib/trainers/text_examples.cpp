#include "trainers/text_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/parse.h"
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
    set_label(record, options.kind, options.has_names(), index, labels.size(), example);
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
    if (options.keep_texts) {
      set.texts.emplace_back(record.text);
      if (options.texts == 2) set.texts.back() += "\t" + std::string(record.text_pair);
    }
    set.examples.push_back(std::move(example));
  });
  if (kept) kept->chunks.clear();
  finish(set, options);
  return set;
}

}  // namespace bert
