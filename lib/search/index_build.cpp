#include "search/index_build.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/team.h"
#include "io/output_file.h"
#include "search/index_graph.h"

namespace bert {
namespace {

constexpr size_t kBuildWidth = 200;  ///< hnswlib calls it ef_construction

thread_local int next_level = 0;  ///< the level of the element that this thread adds

}  // namespace
}  // namespace bert

template <>
int hnswlib::HierarchicalNSW<float>::getRandomLevel(double) {
  return bert::next_level;
}

namespace bert {
namespace {

/// The level of each element, whatever thread adds it: with the distribution of hnswlib.
int level_of(uint64_t element) {
  const double random = static_cast<double>((mix(100, element) >> 11) + 1) * 0x1p-53;
  return static_cast<int>(-std::log(random) / std::log(kLinks));
}

/// The first element has the highest level. So no thread moves the entry of the graph, which the
/// others read without a lock.
void add_elements(Graph& graph, size_t count, int threads) {
  size_t entry = 0;
  for (size_t i = 1; i < count; ++i) {
    if (level_of(i) > level_of(entry)) entry = i;
  }
  const auto add = [&](uint64_t element) {
    next_level = level_of(element);
    graph.addPoint(&element, element);
  };
  add(entry);
  Team team(std::max(1, threads));
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(team.size()));
  team.run([&](int part, int) {
    try {
      for (size_t element; (element = next.fetch_add(1)) < count;) {
        if (element != entry) add(element);
      }
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What follows the header.
std::string body_of(const Graph& graph, const std::vector<float>& inverse,
                    const VectorBundles& bundles) {
  std::string body(graph.data_level0_memory_,
                   graph.cur_element_count * graph.size_data_per_element_);
  for (size_t i = 0; i < graph.cur_element_count; ++i) {
    const auto levels = static_cast<size_t>(graph.element_levels_[i]);
    if (levels > 0) body.append(graph.linkLists_[i], levels * graph.size_links_per_element_);
  }
  body += bytes_of(inverse);
  for (const auto* list : {&bundles.bundles, &bundles.vectors, &bundles.rows}) {
    body += bytes_of(*list);
  }
  for (size_t i = 0; i < graph.cur_element_count; ++i) {
    body += static_cast<char>(graph.element_levels_[i]);
  }
  return body;
}

}  // namespace

void build_index(const std::string& path, const MatrixFile& vectors, uint64_t model, int threads) {
  if (vectors.rows() > std::numeric_limits<int32_t>::max()) {
    throw Error(Error::Kind::data, vectors.path(), "has more vectors than an index can hold");
  }
  OutputFile out(path);  // before the work
  IndexHeader header;
  header.of = IndexedVectors::of(vectors, model);
  const VectorBundles bundles = bundle_copies(source_of(vectors));
  std::vector<float> inverse = inverse_lengths(source_of(vectors), bundles);
  RowSpace space;
  space.take(vectors, bundles, inverse);
  Graph graph(&space, bundles.size(), kLinks, kBuildWidth);
  add_elements(graph, bundles.size(), threads);
  const std::string body = body_of(graph, inverse, bundles);
  header.bundles = bundles.size();
  header.distinct = bundles.vector_count();
  header.element_bytes = graph.size_data_per_element_;
  header.link_bytes = graph.size_links_per_element_;
  header.entry = graph.enterpoint_node_;
  header.top_level = static_cast<uint64_t>(graph.maxlevel_);
  header.body = xxh64(body);
  out.write(std::string_view(reinterpret_cast<const char*>(&header), sizeof header));
  out.write(body);
  out.commit();
}

}  // namespace bert
