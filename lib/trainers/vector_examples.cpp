#include "trainers/vector_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"
#include "io/matrix_file.h"
#include "trainers/example_records.h"
#include "trainers/held_out.h"

namespace bert {
namespace {

uint64_t hash_of(const std::vector<int32_t>& ids) {
  return xxh64({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]});
}

/// The columns of a record's texts and of its number.
struct Places {
  std::vector<size_t> texts;  // from 0
  size_t label = 0;
  bool all = false;  // every field of a record is a text
};

/// How many texts a record has; 0: any number from 2.
size_t texts_of(nn::VectorLoss loss) {
  switch (loss) {
    case nn::VectorLoss::ranking:
      return 0;
    case nn::VectorLoss::triplet:
      return 3;
    case nn::VectorLoss::teacher:
      return 1;
    default:
      return 2;
  }
}

bool is_graded(nn::VectorLoss loss) {
  return loss == nn::VectorLoss::cosent || loss == nn::VectorLoss::cosine;
}

/// The column of a field: its number, or its name in the header. Throws Error that names `option`.
size_t place_of(const std::string& field, const char* option,
                std::span<const std::string_view> names) {
  const auto number = to_number<size_t>(field);
  if (number && *number > 0) return *number - 1;
  const auto found = std::find(names.begin(), names.end(), field);
  if (!number && found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error::of_field(
      option, fmt::format("found '{}', wants the number of a field{}", printable(field),
                          names.empty() ? ", or its name with `header`" : " or a column's name"));
}

class Reader {
 public:
  Reader(const VectorExampleOptions& options, const Tokenizer& tokenizer, size_t columns)
      : options_(options), tokenizer_(tokenizer) {
    set_.columns = columns;
    if (!options.from.header) choose({});
    for (const std::string& prompt : options.prompts) {
      Encoding tokens;
      tokenizer.encode(prompt, options.from.encode, tokens, scratch_);
      const bool left_out = !prompt.empty() && !options.prompt_is_pooled;
      firsts_.push_back(
          left_out ? static_cast<int32_t>(tokens.size() - tokenizer.frame().after.size()) : 0);
    }
  }

  VectorExamples read() {
    for_each_record(options_.from, nullptr, nullptr, true, [&](const Record& record) {
      const std::vector<std::string_view> fields = split(record.body(), '\t');
      if (options_.from.header && record.number_in_file == 1) return choose(fields);
      add(record, fields);
    });
    if (set_.texts.empty()) {
      const auto& files = options_.from.files;
      throw Error(Error::Kind::data, files.empty() ? "-" : files.front(),
                  "has no examples to learn from");
    }
    return std::move(set_);
  }

 private:
  /// Settles the columns; `names` of the header, or none.
  void choose(std::span<const std::string_view> names) {
    places_ = {};
    const std::vector<std::string>& fields = options_.from.fields;
    for (const std::string& field : fields)
      places_.texts.push_back(place_of(field, "fields", names));
    const size_t wanted = texts_of(options_.loss);
    const bool few = wanted > 0 ? fields.size() != wanted : fields.size() < 2;
    if (!fields.empty() && few) {
      throw Error::of_field("fields",
                            fmt::format("found {}, wants {} texts for this `loss`", fields.size(),
                                        wanted > 0 ? std::to_string(wanted) : "2 or more"));
    }
    if (fields.empty()) {
      places_.texts.resize(wanted);
      std::iota(places_.texts.begin(), places_.texts.end(), size_t{0});
      places_.all = wanted == 0;
    }
    if (!is_graded(options_.loss)) return;
    const std::string& label = options_.from.label_field;
    const size_t behind = *std::max_element(places_.texts.begin(), places_.texts.end()) + 1;
    places_.label = label.empty() ? behind : place_of(label, "label_field", names);
  }

  void add(const Record& record, std::span<const std::string_view> fields) {
    if (places_.all) {
      places_.texts.resize(fields.size());
      std::iota(places_.texts.begin(), places_.texts.end(), size_t{0});
    }
    if (set_.columns == 0) set_.columns = places_.texts.size();
    if (places_.all && (fields.size() != set_.columns || fields.size() < 2)) {
      record.fail(Error::Kind::data,
                  fields.size() < 2 ? "has 1 field, wants a text and one that belongs to it"
                                    : fmt::format("has {} fields, wants {} as the first record",
                                                  fields.size(), set_.columns));
    }
    for (size_t c = 0; c < places_.texts.size(); ++c) {
      add_text(record.field(places_.texts[c]), std::min(c, options_.prompts.size() - 1));
    }
    if (!is_graded(options_.loss)) return;
    const std::string_view text = record.field(places_.label);
    const auto value = number_of(text);
    if (!value) {
      record.fail(Error::Kind::data,
                  fmt::format("has the value '{}', wants a number{}", printable(text),
                              header_hint(record, options_.from.header)));
    }
    set_.target_width = 1;
    set_.targets.push_back(static_cast<float>(*value));
  }

  void add_text(std::string_view text, size_t prompt) {
    encoding_.clear();
    tokenizer_.encode(options_.prompts[prompt] + std::string(text), options_.from.encode, encoding_,
                      scratch_);
    set_.cut += encoding_.dropped > 0;
    set_.empty += text.empty();
    set_.counts.add(encoding_, tokenizer_.unk_id());
    set_.counts.end_text();
    set_.texts.push_back({encoding_.input_ids, encoding_.token_type_ids, firsts_[prompt]});
  }

  const VectorExampleOptions& options_;
  const Tokenizer& tokenizer_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
  Places places_;
  std::vector<int32_t> firsts_;  // of each prompt
  VectorExamples set_;
};

}  // namespace

uint64_t VectorExamples::hash() const {
  uint64_t hash = mix(texts.size(), columns);
  for (const Text& text : texts) hash = mix(mix(hash, hash_of(text.input_ids)), text.first);
  const auto* bytes = reinterpret_cast<const char*>(targets.data());
  return mix(hash, xxh64({bytes, targets.size() * sizeof(float)}));
}

void VectorExamples::fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const {
  batch.clear();
  bool any = false;
  for (const uint32_t record : order) {
    for (size_t c = 0; c < columns; ++c) {
      const Text& text = texts[record * columns + c];
      batch.batch.append(text.input_ids, text.token_type_ids);
      batch.starts.push_back(text.first);
      any |= text.first > 0;
    }
    const auto first = targets.begin() + static_cast<std::ptrdiff_t>(record * target_width);
    batch.values.insert(batch.values.end(), first,
                        first + static_cast<std::ptrdiff_t>(target_width));
  }
  if (!any) batch.starts.clear();
}

VectorExamples read_vector_examples(const VectorExampleOptions& options, const Tokenizer& tokenizer,
                                    size_t columns) {
  return Reader(options, tokenizer, columns).read();
}

void read_teacher(const std::string& path, size_t width, VectorExamples& examples) {
  const MatrixFile file = MatrixFile::open_vectors(path);
  if (file.rows() != examples.records() || file.cols() != width) {
    throw Error(Error::Kind::data, path,
                fmt::format("has {} vectors of {} numbers, wants {} of {}", file.rows(),
                            file.cols(), examples.records(), width));
  }
  Buffer scratch;
  examples.target_width = width;
  for (size_t row = 0; row < file.rows(); ++row) {
    const ConstMatrix one = file.read(row, 1, scratch);
    examples.targets.insert(examples.targets.end(), one.data, one.data + width);
  }
}

VectorExamples hold_out(VectorExamples& train, double share, uint64_t seed) {
  std::vector<uint64_t> keys;
  for (size_t r = 0; r < train.records(); ++r) {
    keys.push_back(hash_of(train.texts[r * train.columns].input_ids));
  }
  const std::vector<bool> out = held_out(keys, std::vector<int32_t>(keys.size(), 0), share, seed);
  VectorExamples parts[2];
  for (VectorExamples& part : parts) {
    part.columns = train.columns;
    part.target_width = train.target_width;
  }
  for (size_t r = 0; r < out.size(); ++r) {
    VectorExamples& part = parts[out[r]];
    for (size_t c = 0; c < train.columns; ++c) {
      part.texts.push_back(std::move(train.texts[r * train.columns + c]));
    }
    for (size_t i = 0; i < train.target_width; ++i) {
      part.targets.push_back(train.targets[r * train.target_width + i]);
    }
  }
  if (parts[0].texts.empty() || parts[1].texts.empty()) {
    throw Error::of_field("dev", fmt::format("found {:.6g}%, of {} records: nothing is held out",
                                             100 * share, out.size()));
  }
  parts[0].cut = train.cut, parts[0].empty = train.empty, parts[0].counts = train.counts;
  train = std::move(parts[0]);
  return std::move(parts[1]);
}

}  // namespace bert
