#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "encoder/packed_batch.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"

namespace bert::test {

/// tests/golden, wherever the tests run.
inline std::filesystem::path golden_directory() {
  return std::filesystem::path(BERT_TESTS_DIR) / "golden";
}

inline std::string golden_model(const std::string& name) {
  const bool file = name.find('/') != name.npos;
  return (golden_directory() / (file ? name : name.substr(0, name.find('.')))).string();
}

/// The named head of the fixture "MODEL.HEAD".
inline std::string golden_head(const std::string& name) {
  return name.find('.') == name.npos ? "" : name.substr(name.find('.') + 1);
}

/// What the reference computed for one fixture: expected/NAME.safetensors.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : path_((golden_directory() / "expected" / (name + ".safetensors")).string()),
        file_(MappedFile::open(path_)),
        entries_(read_safetensors(file_.bytes(), path_)) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }
  std::vector<size_t> shape(const std::string& name) const { return find(name)->shape; }
  std::vector<double> doubles(const std::string& name) const { return read<double>(name); }
  std::vector<int32_t> ints(const std::string& name) const { return read<int32_t>(name); }
  /// The largest and the root mean square error of PyTorch's own fp32 run.
  std::vector<double> torch_error(const std::string& name) const {
    return doubles("torch_error." + name);
  }

  /// The sequences, in the order given by `order`.
  PackedBatch batch(std::span<const size_t> order) const {
    const std::vector<int32_t> ids = ints("input_ids"), types = ints("token_type_ids");
    const std::vector<int32_t> begin = ints("cu_seq_lens");
    PackedBatch batch;
    for (const size_t s : order) {
      const auto first = static_cast<size_t>(begin[s]),
                 count = static_cast<size_t>(begin[s + 1]) - first;
      batch.append(std::span(ids).subspan(first, count), std::span(types).subspan(first, count));
    }
    return batch;
  }
  size_t sequences() const { return shape("cu_seq_lens")[0] - 1; }

 private:
  const SafetensorsEntry* find(const std::string& name) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const SafetensorsEntry& e) { return e.name == name; });
    return found == entries_.end() ? nullptr : &*found;
  }
  template <class T>
  std::vector<T> read(const std::string& name) const {
    const SafetensorsEntry* entry = find(name);
    if (!entry) throw std::runtime_error(path_ + " has no " + name);
    std::vector<T> values(entry->bytes.size() / sizeof(T));
    std::memcpy(values.data(), entry->bytes.data(), values.size() * sizeof(T));
    return values;
  }

  std::string path_;
  MappedFile file_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace bert::test
