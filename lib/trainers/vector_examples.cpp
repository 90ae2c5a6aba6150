#include "trainers/vector_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/json_writer.h"
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

/// The texts of a record and its number.
struct Fields {
  std::vector<std::string_view> texts;
  std::string_view label;
};

/// Columns of a line, or of a record of CSV.
class ColumnFields {
 public:
  ColumnFields(const ExampleOptions& from, nn::VectorLoss loss) : from_(from), loss_(loss) {
    if (!from.has_header()) choose({});
  }

  /// False: it is the header.
  bool read(const Record& record, Fields& fields) {
    kept_.clear();
    const std::vector<std::string_view> all =
        from_.csv ? csv_fields(record, kept_) : split(record.body(), '\t');
    const auto field = [&](size_t place) {
      return from_.csv ? csv_field(record, all, place) : record.field(place);
    };
    if (from_.has_header() && record.number_in_file == 1) {
      choose(all);
      return false;
    }
    fields.texts.clear();
    if (places_.all) {
      fields.texts = all;
    } else {
      for (const size_t place : places_.texts) fields.texts.push_back(field(place));
    }
    if (is_graded(loss_)) fields.label = field(places_.label);
    return true;
  }

 private:
  /// Settles the columns; `names` of the header, or none.
  void choose(std::span<const std::string_view> names) {
    places_ = {};
    const std::vector<std::string>& fields = from_.fields;
    for (const std::string& field : fields)
      places_.texts.push_back(place_of(field, "fields", names));
    if (fields.empty()) {
      places_.texts.resize(texts_of(loss_));
      std::iota(places_.texts.begin(), places_.texts.end(), size_t{0});
      places_.all = texts_of(loss_) == 0;
    }
    if (!is_graded(loss_)) return;
    const std::string& label = from_.label_field;
    const size_t behind = *std::max_element(places_.texts.begin(), places_.texts.end()) + 1;
    places_.label = label.empty() ? behind : place_of(label, "label_field", names);
  }

  const ExampleOptions& from_;
  const nn::VectorLoss loss_;
  Places places_;
  std::deque<std::string> kept_;  // texts of the record with quotes inside
};

/// Members of a JSON object: those that are named, or all strings in their order, as
/// sentence-transformers takes the columns of a dataset.
class MemberFields {
 public:
  MemberFields(const ExampleOptions& from, nn::VectorLoss loss) : from_(from), loss_(loss) {}

  void read(const Record& record, Fields& fields) {
    try {
      document_.emplace(JsonDocument::parse(record.body(), ""));
    } catch (const Error&) {
      record.fail(Error::Kind::data, "is no JSON object");
    }
    const Json root = document_->root();
    fields.texts.clear();
    if (!root.is_object()) record.fail(Error::Kind::data, "is no JSON object");
    for (const std::string& key : from_.fields) fields.texts.push_back(text_at(record, root, key));
    if (from_.fields.empty()) {
      root.for_each_member([&](std::string_view key, Json value) {
        if (value.is_string() && !is_label(key)) fields.texts.push_back(value.as_string());
      });
    }
    if (is_graded(loss_)) read_label(record, root, fields);
  }

 private:
  /// The names that sentence-transformers knows for labels, or the given one.
  bool is_label(std::string_view key) const {
    if (!from_.label_field.empty()) return key == from_.label_field;
    return key == "label" || key == "labels" || key == "score" || key == "scores";
  }
  static std::string_view text_at(const Record& record, const Json& root, const std::string& key) {
    const auto value = root.find(key);
    if (value && value->is_string()) return value->as_string();
    record.fail(Error::Kind::data, fmt::format("has no text at the key '{}'", printable(key)));
  }
  void read_label(const Record& record, const Json& root, Fields& fields) {
    bool found = false;
    root.for_each_member([&](std::string_view key, Json value) {
      if (found || !is_label(key)) return;
      found = true;
      label_.clear();
      append_json(label_, value);
    });
    if (!found) {
      const std::string& name = from_.label_field;
      record.fail(Error::Kind::data, fmt::format("has no number at the key '{}'",
                                                 name.empty() ? "label" : printable(name)));
    }
    fields.label = label_;
  }

  const ExampleOptions& from_;
  const nn::VectorLoss loss_;
  std::optional<JsonDocument> document_;
  std::string label_;
};

/// Throws Error (`fields`) unless they are as many as the loss wants.
void check_fields(const ExampleOptions& from, nn::VectorLoss loss) {
  const size_t wanted = texts_of(loss), count = from.fields.size();
  if (count == 0 || (wanted > 0 ? count == wanted : count >= 2)) return;
  throw Error::of_field("fields", fmt::format("found {}, wants {} texts for this `loss`", count,
                                              wanted > 0 ? std::to_string(wanted) : "2 or more"));
}

class Reader {
 public:
  Reader(const VectorExampleOptions& options, size_t columns) : options_(options) {
    set_.columns = columns;
    for (const Side& side : options.sides) {
      Encoding tokens;
      encode(side, "", tokens);
      const bool left_out = !side.prompt.empty() && !options.prompt_is_pooled;
      firsts_.push_back(
          left_out ? static_cast<int32_t>(tokens.size() - side.tokenizer->frame().after.size())
                   : 0);
    }
  }

  VectorExamples read() {
    const ExampleOptions& from = options_.from;
    check_fields(from, options_.loss);
    std::optional<ColumnFields> columns;
    if (!from.json_lines) columns.emplace(from, options_.loss);
    MemberFields members(from, options_.loss);
    Fields fields;
    for_each_record(from, nullptr, nullptr, true, [&](const Record& record) {
      if (from.json_lines) {
        members.read(record, fields);
      } else if (!columns->read(record, fields)) {
        return;
      }
      add(record, fields);
    });
    if (set_.texts.empty()) {
      throw Error(Error::Kind::data, from.files.empty() ? "-" : from.files.front(),
                  "has no examples to learn from");
    }
    return std::move(set_);
  }

 private:
  using Side = VectorExampleOptions::Side;

  void add(const Record& record, const Fields& fields) {
    const size_t count = fields.texts.size(), wanted = texts_of(options_.loss);
    if (set_.columns == 0) set_.columns = wanted > 0 ? wanted : count;
    if (count != set_.columns || (wanted == 0 && count < 2)) {
      record.fail(Error::Kind::data,
                  wanted > 0  ? fmt::format("has {} texts, wants {}", count, wanted)
                  : count < 2 ? "has 1 field, wants a text and one that belongs to it"
                              : fmt::format("has {} fields, wants {} as the first record", count,
                                            set_.columns));
    }
    for (size_t c = 0; c < count; ++c) {
      add_text(fields.texts[c], std::min(c, options_.sides.size() - 1));
    }
    if (!is_graded(options_.loss)) return;
    const auto value = number_of(fields.label);
    if (!value) {
      record.fail(Error::Kind::data,
                  fmt::format("has the value '{}', wants a number{}", printable(fields.label),
                              header_hint(record, options_.from.has_names())));
    }
    set_.target_width = 1;
    set_.targets.push_back(static_cast<float>(*value));
  }

  void encode(const Side& side, std::string_view text, Encoding& encoding) {
    EncodeOptions options = options_.from.encode;
    options.max_length = side.max_length;
    encoding.clear();
    side.tokenizer->encode(side.prompt + std::string(text), options, encoding, scratch_);
  }

  void add_text(std::string_view text, size_t number) {
    const Side& side = options_.sides[number];
    encode(side, text, encoding_);
    set_.cut += encoding_.dropped > 0;
    set_.empty += text.empty();
    set_.counts.add(encoding_, side.tokenizer->unk_id());
    set_.counts.end_text();
    if (options_.keep_texts) set_.contents.emplace_back(text);
    size_t attended = encoding_.size();
    std::vector<uint8_t> has_part;
    if (side.late) {
      attended = side.late->expand(encoding_);
      for (size_t t = 0; t < encoding_.size(); ++t) {
        has_part.push_back(side.late->skips(encoding_.input_ids[t], t) ? 0 : 1);
      }
    }
    set_.texts.push_back({encoding_.input_ids, encoding_.token_type_ids, firsts_[number], attended,
                          std::move(has_part)});
  }

  const VectorExampleOptions& options_;
  Tokenizer::Scratch scratch_;
  Encoding encoding_;
  std::vector<int32_t> firsts_;  // of each side
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
  bool prompted = false, filled_up = false;
  for (const uint32_t record : order) {
    for (size_t c = 0; c < columns; ++c) {
      const Text& text = texts[record * columns + c];
      batch.batch.append(text.input_ids, text.token_type_ids);
      batch.batch.attended.push_back(text.attended);
      batch.starts.push_back(text.first);
      batch.token_labels.insert(batch.token_labels.end(), text.has_part.begin(),
                                text.has_part.end());
      prompted |= text.first > 0;
      filled_up |= text.attended < text.input_ids.size();
    }
    const auto first = targets.begin() + static_cast<std::ptrdiff_t>(record * target_width);
    batch.values.insert(batch.values.end(), first,
                        first + static_cast<std::ptrdiff_t>(target_width));
  }
  if (!prompted) batch.starts.clear();
  if (!filled_up) batch.batch.attended.clear();
}

VectorExamples read_vector_examples(const VectorExampleOptions& options, size_t columns) {
  return Reader(options, columns).read();
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
