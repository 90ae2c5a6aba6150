#include "inspect/model_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/safetensors.h"
#include "model/names.h"
#include "model/schema.h"

namespace bert {
namespace {

/// A module, or at the end of a branch a tensor.
struct Branch {
  std::string name;
  std::string shape;  // of a tensor
  uint64_t count = 0;
  std::vector<std::unique_ptr<Branch>> children;

  Branch& child(std::string_view wanted) {
    for (const auto& branch : children) {
      if (branch->name == wanted) return *branch;
    }
    children.push_back(std::make_unique<Branch>());
    children.back()->name = wanted;
    return *children.back();
  }

  /// Equal but for the name.
  bool same_as(const Branch& other) const {
    return shape == other.shape && count == other.count &&
           std::equal(
               children.begin(), children.end(), other.children.begin(), other.children.end(),
               [](const auto& a, const auto& b) { return a->name == b->name && a->same_as(*b); });
  }
};

void add(Branch& root, std::string_view name, std::span<const size_t> shape, uint64_t count) {
  constexpr size_t kMaxDepth = 16;
  Branch* branch = &root;
  branch->count += count;
  for (size_t depth = 1; !name.empty(); ++depth) {
    const size_t dot = depth < kMaxDepth ? std::min(name.find('.'), name.size()) : name.size();
    branch = &branch->child(name.substr(0, dot));
    branch->count += count;
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  branch->shape = shape_text(shape);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void write(const Branch& branch, const std::string& indent, Rows& rows) {
  for (size_t i = 0; i < branch.children.size();) {
    const Branch& child = *branch.children[i];
    size_t next = i + 1;  // layers that are the same stand in one line
    while (is_number(child.name) && next < branch.children.size() &&
           is_number(branch.children[next]->name) && child.same_as(*branch.children[next])) {
      ++next;
    }
    std::string name = printable(child.name);
    if (next - i > 1)
      name += fmt::format(" .. {} ({} times)", branch.children[next - 1]->name, next - i);
    const bool last = next == branch.children.size();
    std::string line = indent + (last ? "└── " : "├── ") + name;
    if (!child.shape.empty()) line += " " + child.shape;
    rows.field(line).field(child.count * (next - i));
    rows.end();
    write(child, indent + (last ? "    " : "│   "), rows);
    i = next;
  }
}

}  // namespace

void write_tree(const ModelFiles& model, Rows& rows) {
  Branch root;
  for (const TensorSpec& parameter : encoder_tensors(model.config)) {
    if (model.weights && model.weights->find(parameter.name) == nullptr) continue;
    add(root, parameter.name, parameter.shape, parameter.count());
  }
  if (model.weights) {
    const auto add_all = [&](const auto& is_wanted) {
      for (const TensorView* tensor : model.weights->tensors()) {
        const std::string canonical = model.weights->canonical(*tensor);
        if (!is_wanted(canonical) || model.weights->find(canonical) != tensor) continue;
        add(root, canonical, tensor->shape, tensor->elements());
      }
    };
    for (const std::string_view prefix : head_tensor_prefixes()) {
      add_all([&](const std::string& name) { return name.starts_with(prefix); });
    }
    add_all([](const std::string& name) { return !head_prefix(name).empty(); });
  }
  const std::string name = model.config.architectures.empty()
                               ? std::string(model.config.family->model_type)
                               : model.config.architectures[0];
  rows.field(printable(name)).field(root.count);
  rows.end();
  write(root, "", rows);
}

}  // namespace bert
