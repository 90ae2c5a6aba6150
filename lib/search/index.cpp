#include "search/index.h"

#include <fmt/format.h>
#include <sys/stat.h>
// hnswlib's prefetches read behind a list, and are of no use where rows stay in their file.
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <type_traits>

#include "base/error.h"
#include "base/hash.h"
#include "base/team.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "ops/kernels.h"

namespace bert {
namespace {

using Graph = hnswlib::HierarchicalNSW<float>;
using Id = hnswlib::tableint;

// hnswlib's own names for them are M, ef_construction and ef.
constexpr size_t kLinks = 16, kBuildWidth = 200, kSearchWidth = 200;
constexpr uint64_t kQuery = uint64_t{1} << 63;  ///< marks a query's address among row numbers

/// The begin of the file. The elements of the lowest level follow, then their links in higher
/// levels, then 1 / |x| of each row, then the level of each element, one byte.
struct Header {
  char magic[8] = {'B', 'E', 'R', 'T', 'H', 'N', 'S', 'W'};
  uint64_t version = 1;
  uint64_t vectors = 0, time = 0;  ///< xxh64 of their file; when it was changed, nanoseconds
  uint64_t model = 0;
  uint64_t rows = 0, width = 0;
  uint64_t element_bytes = 0, link_bytes = 0;  ///< of an element; of its links in a higher level
  uint64_t entry = 0, top_level = 0;
  uint64_t body = 0;  ///< xxh64 of what follows
};
static_assert(std::is_trivially_copyable_v<Header>);

/// What hnswlib compares: it holds row numbers, and the rows stay in their file.
struct RowSpace : hnswlib::SpaceInterface<float> {
  Buffer converted;                ///< the rows, if the file holds no floats
  ConstMatrix rows;                ///< [N, D]
  const float* inverse = nullptr;  ///< [N] 1 / length, or 0

  /// `known`: the rows were checked when the index was built.
  RowSpace(const VectorFile& vectors, bool known) {
    const float* floats = known ? vectors.floats() : nullptr;
    rows = floats ? ConstMatrix(floats, vectors.rows(), vectors.width())
                  : vectors.read(0, vectors.rows(), converted);
  }

  size_t get_data_size() override { return sizeof(uint64_t); }
  void* get_dist_func_param() override { return this; }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }

  /// 1 - cosine; a query has length 1.
  static float distance(const void* a, const void* b, const void* space) {
    const auto& self = *static_cast<const RowSpace*>(space);
    float scale = 1;
    const float* x = self.at(a, scale);
    const float* y = self.at(b, scale);
    return 1 - scale * dot(x, y, self.rows.cols);
  }
  const float* at(const void* where, float& scale) const {
    uint64_t number = 0;
    std::memcpy(&number, where, sizeof number);
    if (number & kQuery) return reinterpret_cast<const float*>(number & ~kQuery);
    scale *= inverse[number];
    return rows.row(number);
  }
};

uint64_t hash_of(const VectorFile& vectors) {
  const auto bytes = vectors.bytes();
  return xxh64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
uint64_t time_of(const VectorFile& vectors) {
  struct stat status {};
  if (::stat(vectors.path().c_str(), &status) != 0) return 0;
  return static_cast<uint64_t>(status.st_mtim.tv_sec) * 1000000000u +
         static_cast<uint64_t>(status.st_mtim.tv_nsec);
}

std::vector<float> inverse_lengths(ConstMatrix rows) {
  std::vector<float> inverse(rows.rows);
  for (size_t i = 0; i < rows.rows; ++i) {
    const float squares = dot(rows.row(i), rows.row(i), rows.cols);
    inverse[i] = squares > 0 ? 1 / std::sqrt(squares) : 0;
  }
  return inverse;
}

void add_rows(Graph& graph, size_t rows, int threads) {
  const auto add = [&](uint64_t row) { graph.addPoint(&row, row); };
  add(0);
  Team team(std::max(1, threads));
  std::atomic<size_t> next{1};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(team.size()));
  team.run([&](int part, int) {
    try {
      for (size_t row; (row = next.fetch_add(1)) < rows;) add(row);
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// What follows the header.
std::string body_of(const Graph& graph, std::span<const float> inverse) {
  std::string body(graph.data_level0_memory_,
                   graph.cur_element_count * graph.size_data_per_element_);
  for (size_t i = 0; i < graph.cur_element_count; ++i) {
    const auto levels = static_cast<size_t>(graph.element_levels_[i]);
    if (levels > 0) body.append(graph.linkLists_[i], levels * graph.size_links_per_element_);
  }
  body.append(reinterpret_cast<const char*>(inverse.data()), inverse.size_bytes());
  for (size_t i = 0; i < graph.cur_element_count; ++i) {
    body += static_cast<char>(graph.element_levels_[i]);
  }
  return body;
}

}  // namespace

struct VectorIndex::State {
  State(const std::string& path, const VectorFile& file)
      : mapped(MappedFile::open(path)), vectors(file), space(file, true), graph(&space, 1, kLinks) {
    std::free(graph.data_level0_memory_);
    std::free(graph.linkLists_);
    forget();
  }
  ~State() { forget(); }
  /// The graph frees what it thinks it owns.
  void forget() {
    graph.data_level0_memory_ = nullptr;
    graph.linkLists_ = nullptr;
    graph.cur_element_count = 0;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Error::Kind::data, mapped.path(), what);
  }
  Header read_header(uint64_t model) const;
  void take(const Header& header);
  void check_links(const Header& header) const;

  MappedFile mapped;
  const VectorFile& vectors;
  RowSpace space;
  Graph graph;
  std::vector<char*> links;  ///< [N] in the mapped file
  std::vector<float> inverse;
};

Header VectorIndex::State::read_header(uint64_t model) const {
  Header header, wanted;
  if (mapped.size() < sizeof header) refuse("is no index of nearest, or is cut");
  std::memcpy(&header, mapped.bytes().data(), sizeof header);
  if (std::memcmp(header.magic, wanted.magic, sizeof header.magic) != 0 ||
      header.version != wanted.version) {
    refuse("is no index of nearest, or one of another version");
  }
  const bool sizes = header.rows == vectors.rows() && header.width == vectors.width();
  if (!sizes || (header.time != time_of(vectors) && header.vectors != hash_of(vectors))) {
    refuse(fmt::format("is the index of other vectors than those of {}: build it again",
                       vectors.path()));
  }
  if (header.model != 0 && model != 0 && header.model != model) {
    refuse("was built with another model: build it again");
  }
  if (header.body != xxh64(mapped.text().substr(sizeof header)))
    refuse("is damaged: build it again");
  return header;
}

/// Points the graph to the mapped file.
void VectorIndex::State::take(const Header& header) {
  const size_t rows = header.rows, level0_bytes = rows * header.element_bytes;
  if (header.element_bytes != graph.size_data_per_element_ ||
      header.link_bytes != graph.size_links_per_element_ || header.entry >= rows ||
      sizeof header + level0_bytes + rows * (sizeof(float) + 1) > mapped.size()) {
    refuse("is no index of this version");
  }
  char* const level0 = const_cast<char*>(mapped.text().data()) + sizeof header;  // only read
  const char* const levels = mapped.text().data() + mapped.size() - rows;
  const char* const lengths = levels - rows * sizeof(float);
  graph.element_levels_.assign(levels, levels + rows);
  uint64_t upper = level0_bytes;
  for (size_t i = 0; i < rows; ++i) {
    links.push_back(level0 + upper);
    if (levels[i] < 0) refuse("is damaged: build it again");
    upper += static_cast<uint64_t>(levels[i]) * header.link_bytes;
  }
  if (level0 + upper != lengths) refuse("is damaged: build it again");
  inverse.resize(rows);
  std::memcpy(inverse.data(), lengths, rows * sizeof(float));
  space.inverse = inverse.data();
  graph.data_level0_memory_ = level0;
  graph.linkLists_ = links.data();
  graph.cur_element_count = graph.max_elements_ = rows;
  graph.enterpoint_node_ = static_cast<Id>(header.entry);
  graph.maxlevel_ = static_cast<int>(header.top_level);
  delete graph.visited_list_pool_;
  graph.visited_list_pool_ = new hnswlib::VisitedListPool(1, static_cast<int>(rows));
  graph.setEf(kSearchWidth);
  check_links(header);
}

/// No link leads out of the file, whoever wrote it.
void VectorIndex::State::check_links(const Header& header) const {
  const auto level_of = [&](size_t i) { return static_cast<uint64_t>(graph.element_levels_[i]); };
  if (level_of(header.entry) < header.top_level) refuse("is damaged: build it again");
  for (size_t i = 0; i < header.rows; ++i) {
    uint64_t row = 0;
    std::memcpy(&row, graph.getDataByInternalId(static_cast<Id>(i)), sizeof row);
    bool good = row < header.rows && graph.getExternalLabel(static_cast<Id>(i)) == row;
    for (size_t level = 0; good && level <= level_of(i); ++level) {
      const Id* list = graph.get_linklist_at_level(static_cast<Id>(i), static_cast<int>(level));
      Id count = 0, link = 0;
      std::memcpy(&count, list, sizeof count);
      good = count <= (level == 0 ? graph.maxM0_ : graph.maxM_);
      for (size_t n = 0; good && n < count; ++n) {
        std::memcpy(&link, list + 1 + n, sizeof link);
        good = link < header.rows && level_of(link) >= level;
      }
    }
    if (!good) refuse("is damaged: build it again");
  }
}

VectorIndex::VectorIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;
VectorIndex::~VectorIndex() = default;

void VectorIndex::build(const std::string& path, const VectorFile& vectors, uint64_t model,
                        int threads) {
  if (vectors.rows() == 0)
    throw Error(Error::Kind::data, vectors.path(), "has no vectors to index");
  OutputFile out(path);  // before the work
  const uint64_t time = time_of(vectors);
  RowSpace space(vectors, false);
  const std::vector<float> inverse = inverse_lengths(space.rows);
  space.inverse = inverse.data();
  Graph graph(&space, vectors.rows(), kLinks, kBuildWidth);
  add_rows(graph, vectors.rows(), threads);
  const std::string body = body_of(graph, inverse);
  Header header;
  header.vectors = hash_of(vectors);
  header.time = time;
  header.model = model;
  header.rows = vectors.rows();
  header.width = vectors.width();
  header.element_bytes = graph.size_data_per_element_;
  header.link_bytes = graph.size_links_per_element_;
  header.entry = graph.enterpoint_node_;
  header.top_level = static_cast<uint64_t>(graph.maxlevel_);
  header.body = xxh64(body);
  out.write(std::string_view(reinterpret_cast<const char*>(&header), sizeof header));
  out.write(body);
  out.commit();
}

VectorIndex VectorIndex::open(const std::string& path, const VectorFile& vectors, uint64_t model) {
  auto state = std::make_unique<State>(path, vectors);
  state->take(state->read_header(model));
  return VectorIndex(std::move(state));
}

std::vector<Neighbour> VectorIndex::nearest(std::span<const float> query, size_t k) const {
  const RowSpace& space = state_->space;
  std::vector<float> unit(query.begin(), query.end());
  const float squares = dot(unit.data(), unit.data(), unit.size());
  for (float& x : unit) x = squares > 0 ? x / std::sqrt(squares) : 0;
  const uint64_t address = reinterpret_cast<uint64_t>(unit.data()) | kQuery;
  auto found = state_->graph.searchKnn(&address, std::max(k, kSearchWidth));
  std::vector<Neighbour> nearest;
  for (; !found.empty(); found.pop()) {
    const uint64_t row = found.top().second;
    const double score = similarity(Similarity::cosine, query, {space.rows.row(row), query.size()});
    if (std::isfinite(score)) nearest.push_back({row, score});
  }
  std::sort(nearest.begin(), nearest.end(), better);
  if (nearest.size() > k) nearest.resize(k);
  return nearest;
}

}  // namespace bert
