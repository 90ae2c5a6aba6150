#include "checkpoint/pickle_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "checkpoint/pickle.h"
#include "checkpoint/tensor_files.h"
#include "checkpoint/zip.h"
#include "io/file_kind.h"
#include "io/safetensors.h"

namespace bert {
namespace {

constexpr uint64_t kMaxPickle = 16u << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(Error::Kind::data, path, what);
}
[[noreturn]] void refuse(const std::string& path, std::string_view tensor,
                         const std::string& what) {
  refuse(path, fmt::format("tensor {}: {}", printable(tensor), what));
}

enum class Form { zip, old };

/// What torch.save wrote: since 1.6 a zip archive, before that pickles and storages end to end.
Form form_of(std::span<const std::byte> file, const std::string& path) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<size_t>(file.size(), 512));
  if (start.starts_with("PK\x03\x04")) return Form::zip;
  const std::string_view kind = file_kind(start);
  if (kind == "a pickle") return Form::old;
  if (kind == "a tar archive") {
    refuse(path,
           "this is a PyTorch file of before 0.2, a tar archive; convert it with PyTorch: "
           "torch.save(torch.load(FILE, weights_only=False), FILE)");
  }
  refuse(path, fmt::format("this is {}, not weights that torch.save wrote",
                           kind.empty() ? std::string_view("no zip archive") : kind));
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The folder of the archive that data.pkl lies in, with its slash.
std::string root_of(const ZipArchive& archive, const std::string& path) {
  constexpr std::string_view kPickle = "/data.pkl";
  const std::string* found = nullptr;
  for (const auto& [name, entry] : archive.entries()) {
    if (!name.ends_with(kPickle) || name.find('/') != name.size() - kPickle.size()) continue;
    if (found != nullptr) refuse(path, "two entries data.pkl in this zip archive");
    found = &name;
  }
  if (found == nullptr)
    refuse(path, "no entry data.pkl in this zip archive; torch.save did not write it");
  return found->substr(0, found->size() - kPickle.size() + 1);
}

/// The storages of a zip archive, each an entry of its own that is held against its CRC-32.
class ZippedStorages {
 public:
  ZippedStorages(const ZipArchive& archive, const std::string& root)
      : archive_(archive), root_(root) {}

  /// nullopt if there is none of that key.
  std::optional<std::span<const std::byte>> find(const std::string& key) {
    const std::string name = root_ + "data/" + key;
    const ZipArchive::Entry* entry = archive_.find(name);
    if (entry == nullptr) return std::nullopt;
    if (checked_.insert(name).second) archive_.check(name);
    return entry->data;
  }

 private:
  const ZipArchive& archive_;
  const std::string& root_;
  std::unordered_set<std::string> checked_;
};

/// The storages of an older file, end to end, each after its number of elements. Their types, and
/// so their sizes, are those of the tensors.
class OldStorages {
 public:
  OldStorages(std::span<const std::byte> file, const OldStateDict& state, const std::string& path) {
    for (const PickledTensor& tensor : state.tensors) {
      const size_t size = dtype_size(dtype_from_name(tensor.dtype, path, tensor.name));
      const auto [known, is_new] = sizes_.try_emplace(tensor.storage, size);
      if (known->second != size) {
        refuse(path, tensor.name,
               fmt::format("its storage {} is of another type too", printable(tensor.storage)));
      }
    }
    file = file.subspan(state.storages);
    for (const std::string& key : state.keys) take(file, key, path);
    if (!file.empty()) refuse(path, fmt::format("{} bytes after the last storage", file.size()));
  }

  std::optional<std::span<const std::byte>> find(const std::string& key) const {
    const auto found = storages_.find(key);
    return found == storages_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  /// The storage at the start of `file`, which loses it.
  void take(std::span<const std::byte>& file, const std::string& key, const std::string& path) {
    const auto size = sizes_.find(key);
    if (size == sizes_.end()) {
      refuse(path, fmt::format("no tensor has the storage {}", printable(key)));
    }
    uint64_t elements = 0, bytes = 0;
    const bool whole = file.size() >= sizeof elements;
    if (whole) std::memcpy(&elements, file.data(), sizeof elements);
    if (!whole || __builtin_mul_overflow(elements, size->second, &bytes) ||
        bytes > file.size() - sizeof elements) {
      refuse(path, fmt::format("the storage {} is cut: {} elements of {} bytes, but {} bytes left",
                               printable(key), elements, size->second, file.size()));
    }
    if (!storages_.emplace(key, file.subspan(sizeof elements, bytes)).second) {
      refuse(path, fmt::format("the storage {} stands twice", printable(key)));
    }
    file = file.subspan(sizeof elements + bytes);
  }

  std::unordered_map<std::string, size_t> sizes_;  ///< bytes of an element
  std::unordered_map<std::string, std::span<const std::byte>> storages_;
};

/// Turns pickled descriptions into views of the storages' bytes.
template <typename Storages>
class PickledViews {
 public:
  PickledViews(Storages storages, const std::string& path)
      : storages_(std::move(storages)), path_(path) {}

  TensorView view(const PickledTensor& tensor, std::list<std::vector<std::byte>>& copies) {
    TensorView view;
    view.name = tensor.name;
    view.dtype = dtype_from_name(tensor.dtype, path_, tensor.name);
    view.shape = tensor.shape;
    const size_t element = dtype_size(view.dtype);
    const std::span<const std::byte> storage = storage_of(tensor, element);
    uint64_t count = 0;
    if (!checked_elements(tensor.shape, count)) {
      refuse(path_, tensor.name, fmt::format("shape {} is too large", shape_text(tensor.shape)));
    }
    check_inside(tensor, count);
    if (count == 0) return view;
    view.data = storage.data() + tensor.offset * element;
    if (!is_contiguous(tensor)) view.data = copy(view.data, tensor, count, element, copies);
    return view;
  }

 private:
  std::span<const std::byte> storage_of(const PickledTensor& tensor, size_t element) {
    const auto storage = storages_.find(tensor.storage);
    if (!storage) {
      refuse(path_, tensor.name,
             fmt::format("no storage {} in this file", printable(tensor.storage)));
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.storage_elements, element, &bytes) ||
        bytes != storage->size()) {
      refuse(path_, tensor.name,
             fmt::format("its storage should have {} elements of {} bytes, but has {} bytes",
                         tensor.storage_elements, element, storage->size()));
    }
    return *storage;
  }

  /// The farthest element must lie in the storage.
  void check_inside(const PickledTensor& tensor, uint64_t count) const {
    uint64_t last = tensor.offset;
    bool fits = true;
    for (size_t i = 0; i < tensor.shape.size() && count != 0; ++i) {
      uint64_t step = 0;
      fits &= !__builtin_mul_overflow(tensor.shape[i] - 1, tensor.stride[i], &step) &&
              !__builtin_add_overflow(last, step, &last);
    }
    if (!fits || (count != 0 && last >= tensor.storage_elements) ||
        count > tensor.storage_elements) {
      refuse(path_, tensor.name,
             fmt::format("shape {} with stride {} at {} does not fit its storage of {} elements",
                         shape_text(tensor.shape), shape_text(tensor.stride), tensor.offset,
                         tensor.storage_elements));
    }
  }

  static bool is_contiguous(const PickledTensor& tensor) {
    uint64_t expected = 1;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      if (tensor.shape[i] != 1 && tensor.stride[i] != expected) return false;
      expected *= tensor.shape[i];
    }
    return true;
  }

  /// A transposed or cut tensor in row-major order; no larger than its storage (check_inside).
  static const std::byte* copy(const std::byte* from, const PickledTensor& tensor, uint64_t count,
                               size_t element, std::list<std::vector<std::byte>>& copies) {
    std::vector<std::byte>& to = copies.emplace_back(count * element);
    std::vector<size_t> index(tensor.shape.size(), 0);
    uint64_t offset = 0;
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(to.data() + i * element, from + offset * element, element);
      for (size_t d = index.size(); d-- > 0;) {
        offset += tensor.stride[d];
        if (++index[d] < tensor.shape[d]) break;
        offset -= tensor.stride[d] * tensor.shape[d];
        index[d] = 0;
      }
    }
    return to.data();
  }

  Storages storages_;
  const std::string& path_;
};

template <typename Storages>
std::vector<TensorView> views_of(const std::vector<PickledTensor>& tensors, Storages storages,
                                 const std::string& path,
                                 std::list<std::vector<std::byte>>& copies) {
  PickledViews<Storages> pickled(std::move(storages), path);
  std::vector<TensorView> views;
  for (const PickledTensor& tensor : tensors) views.push_back(pickled.view(tensor, copies));
  return views;
}

}  // namespace

std::vector<TensorView> read_pickle_file(std::span<const std::byte> file, const std::string& path,
                                         std::list<std::vector<std::byte>>& copies) {
  if (form_of(file, path) == Form::old) {
    const OldStateDict state = read_old_state_dict(file, path);
    return views_of(state.tensors, OldStorages(file, state, path), path, copies);
  }
  const ZipArchive archive = ZipArchive::open(file, path);
  const std::string root = root_of(archive, path);
  if (const auto* order = archive.find(root + "byteorder");
      order && text(order->data) != "little") {
    refuse(path, fmt::format("byte order \"{}\", wants \"little\"", printable(text(order->data))));
  }
  const ZipArchive::Entry& pickle = *archive.find(root + "data.pkl");
  if (pickle.data.size() > kMaxPickle) {
    refuse(path,
           fmt::format("data.pkl has {} bytes, wants at most {}", pickle.data.size(), kMaxPickle));
  }
  archive.check(root + "data.pkl");
  const auto tensors = read_state_dict(pickle.data, path + ": data.pkl");
  return views_of(tensors, ZippedStorages(archive, root), path, copies);
}

}  // namespace bert
