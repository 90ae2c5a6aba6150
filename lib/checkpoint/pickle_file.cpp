#include "checkpoint/pickle_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <unordered_set>

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

void require_zip(std::span<const std::byte> file, const std::string& path) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<size_t>(file.size(), 512));
  if (start.starts_with("PK\x03\x04")) return;
  const std::string_view kind = file_kind(start);
  if (kind == "a pickle" || kind == "a tar archive") {
    refuse(path,
           "this is a PyTorch file of before 1.6, not a zip archive; convert it with PyTorch: "
           "torch.save(torch.load(FILE, weights_only=True), FILE)");
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

/// Turns pickled descriptions into views of the archive's bytes.
class PickledStorages {
 public:
  PickledStorages(const ZipArchive& archive, const std::string& root, const std::string& path)
      : archive_(archive), root_(root), path_(path) {}

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
    const std::string name = root_ + "data/" + tensor.storage;
    const ZipArchive::Entry* entry = archive_.find(name);
    if (entry == nullptr) {
      refuse(path_, tensor.name,
             fmt::format("no storage {} in this file", printable(tensor.storage)));
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.storage_elements, element, &bytes) ||
        bytes != entry->data.size()) {
      refuse(path_, tensor.name,
             fmt::format("its storage should have {} elements of {} bytes, but has {} bytes",
                         tensor.storage_elements, element, entry->data.size()));
    }
    if (checked_.insert(name).second) archive_.check(name);
    return entry->data;
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

  const ZipArchive& archive_;
  const std::string& root_;
  const std::string& path_;
  std::unordered_set<std::string> checked_;
};

}  // namespace

std::vector<TensorView> read_pickle_file(std::span<const std::byte> file, const std::string& path,
                                         std::list<std::vector<std::byte>>& copies) {
  require_zip(file, path);
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
  PickledStorages storages(archive, root, path);
  std::vector<TensorView> views;
  for (const PickledTensor& tensor : read_state_dict(pickle.data, path + ": data.pkl")) {
    views.push_back(storages.view(tensor, copies));
  }
  return views;
}

}  // namespace bert
