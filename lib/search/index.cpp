#include "search/index.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/hash.h"
#include "io/mapped_file.h"
#include "search/index_graph.h"

namespace bert {
namespace {

using Id = hnswlib::tableint;
using Header = IndexHeader;

constexpr size_t kSearchWidth = 200;  ///< hnswlib calls it ef

}  // namespace

struct VectorIndex::State {
  State(const std::string& path, const MatrixFile& file)
      : mapped(MappedFile::open(path)), vectors(file), graph(&space, 1, kLinks) {
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
  [[noreturn]] void refuse_damaged() const { refuse("is damaged: build it again"); }
  Header read_header(uint64_t model) const;
  void take(const Header& header);
  std::vector<float> take_bundles(const Header& header, const char* at);
  void check_bundles(const Header& header) const;
  void check_links(const Header& header) const;
  std::vector<Neighbour> nearest_distinct(std::span<const float> query, size_t k) const;

  MappedFile mapped;
  const MatrixFile& vectors;
  RowSpace space;
  Graph graph;
  std::vector<char*> links;  ///< [B] in the mapped file
  VectorBundles bundles;
};

Header VectorIndex::State::read_header(uint64_t model) const {
  Header header, wanted;
  const std::string_view text = mapped.text();
  if (text.size() < sizeof header) refuse("is no index of nearest, or is cut");
  std::memcpy(&header, text.data(), sizeof header);
  if (std::memcmp(header.magic, wanted.magic, sizeof header.magic) != 0) {
    refuse("is no index of nearest, or one of another version");
  }
  if (header.version != wanted.version) {
    refuse("is an index of another version of nearest: build it again");
  }
  header.of.check(mapped.path(), vectors, model);
  if (header.body != xxh64(text.substr(sizeof header))) refuse_damaged();
  return header;
}

/// Points the graph to the mapped file.
void VectorIndex::State::take(const Header& header) {
  const size_t count = header.bundles;
  if (header.element_bytes != graph.size_data_per_element_ ||
      header.link_bytes != graph.size_links_per_element_ || count == 0 || header.entry >= count ||
      count > header.distinct || header.distinct > header.of.rows) {
    refuse("is no index of this version");
  }
  const uint64_t level0_bytes = count * header.element_bytes;
  const uint64_t list_bytes =
      sizeof(uint32_t) * (count + (count + 1) + (header.distinct + 1) + header.of.rows);
  if (sizeof header + level0_bytes + list_bytes + count > mapped.size()) refuse_damaged();
  char* const level0 = const_cast<char*>(mapped.text().data()) + sizeof header;  // only read
  const char* const end_of_lists = mapped.text().data() + mapped.size() - count;
  const auto* const levels = reinterpret_cast<const signed char*>(end_of_lists);  // as on x86
  const char* const lists = end_of_lists - list_bytes;
  graph.element_levels_.assign(levels, levels + count);
  uint64_t upper = level0_bytes;
  for (size_t i = 0; i < count; ++i) {
    links.push_back(level0 + upper);
    if (levels[i] < 0) refuse_damaged();
    upper += static_cast<uint64_t>(levels[i]) * header.link_bytes;
  }
  if (level0 + upper != lists) refuse_damaged();
  space.take(vectors, bundles, take_bundles(header, lists));
  graph.data_level0_memory_ = level0;
  graph.linkLists_ = links.data();
  graph.cur_element_count = graph.max_elements_ = count;
  graph.enterpoint_node_ = static_cast<Id>(header.entry);
  graph.maxlevel_ = static_cast<int>(header.top_level);
  delete graph.visited_list_pool_;
  graph.visited_list_pool_ = new hnswlib::VisitedListPool(1, static_cast<int>(count));
  graph.setEf(kSearchWidth);
  check_links(header);
}

/// Returns 1 / |x| of each bundle's first vector.
std::vector<float> VectorIndex::State::take_bundles(const Header& header, const char* at) {
  const auto take = [&](auto& values, size_t count) {
    values.resize(count);
    std::memcpy(values.data(), at, count * sizeof values[0]);
    at += count * sizeof values[0];
  };
  std::vector<float> inverse;
  take(inverse, header.bundles);
  take(bundles.bundles, header.bundles + 1);
  take(bundles.vectors, header.distinct + 1);
  take(bundles.rows, header.of.rows);
  check_bundles(header);
  return inverse;
}

void VectorIndex::State::check_bundles(const Header& header) const {
  const auto ascends = [](const std::vector<uint32_t>& begins, uint64_t end) {
    return begins.front() == 0 && begins.back() == end &&
           std::is_sorted(begins.begin(), begins.end(), std::less_equal<>());
  };
  if (!ascends(bundles.bundles, header.distinct) || !ascends(bundles.vectors, header.of.rows) ||
      !std::all_of(bundles.rows.begin(), bundles.rows.end(),
                   [&](uint32_t row) { return row < header.of.rows; })) {
    refuse_damaged();
  }
}

/// No link leads out of the file, whoever wrote it.
void VectorIndex::State::check_links(const Header& header) const {
  const auto level_of = [&](size_t i) { return static_cast<uint64_t>(graph.element_levels_[i]); };
  if (level_of(header.entry) < header.top_level) refuse_damaged();
  for (size_t i = 0; i < header.bundles; ++i) {
    uint64_t bundle = 0;
    std::memcpy(&bundle, graph.getDataByInternalId(static_cast<Id>(i)), sizeof bundle);
    bool good = bundle < header.bundles && graph.getExternalLabel(static_cast<Id>(i)) == bundle;
    for (size_t level = 0; good && level <= level_of(i); ++level) {
      const Id* list = graph.get_linklist_at_level(static_cast<Id>(i), static_cast<int>(level));
      Id count = 0, link = 0;
      std::memcpy(&count, list, sizeof count);
      good = count <= (level == 0 ? graph.maxM0_ : graph.maxM_);
      for (size_t n = 0; good && n < count; ++n) {
        std::memcpy(&link, list + 1 + n, sizeof link);
        good = link < header.bundles && level_of(link) >= level;
      }
    }
    if (!good) refuse_damaged();
  }
}

/// The distinct vectors of the bundles that the graph leads to, best first. `index` is their place
/// in `bundles.vectors`.
std::vector<Neighbour> VectorIndex::State::nearest_distinct(std::span<const float> query,
                                                            size_t k) const {
  std::vector<float> unit(query.size());
  to_unit(query, unit.data());
  const uint64_t address = reinterpret_cast<uint64_t>(unit.data()) | kQuery;
  auto found = graph.searchKnn(&address, std::max(k, kSearchWidth));
  std::vector<Neighbour> nearest;
  Buffer scratch;
  for (; !found.empty(); found.pop()) {
    const size_t bundle = found.top().second;
    for (size_t v = bundles.bundles[bundle]; v < bundles.bundles[bundle + 1]; ++v) {
      const ConstMatrix row = vectors.read(bundles.rows_of(v)[0], 1, scratch);
      nearest.push_back({v, similarity(Similarity::cosine, query, {row.data, row.cols})});
    }
  }
  std::sort(nearest.begin(), nearest.end(), better);
  return nearest;
}

VectorIndex::VectorIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;
VectorIndex::~VectorIndex() = default;

VectorIndex VectorIndex::open(const std::string& path, const MatrixFile& vectors, uint64_t model) {
  auto state = std::make_unique<State>(path, vectors);
  state->take(state->read_header(model));
  return VectorIndex(std::move(state));
}

std::vector<Neighbour> VectorIndex::nearest(std::span<const float> query, size_t k) const {
  std::vector<Neighbour> nearest;
  if (length_of(query) == 0) {  // as near to all
    for (uint64_t row = 0; row < std::min(k, state_->bundles.rows.size()); ++row) {
      nearest.push_back({row, 0});
    }
    return nearest;
  }
  for (const Neighbour& vector : state_->nearest_distinct(query, k)) {
    const auto rows = state_->bundles.rows_of(vector.index);
    for (const uint32_t row : rows.first(std::min(k, rows.size()))) {
      nearest.push_back({row, vector.score});
    }
  }
  std::sort(nearest.begin(), nearest.end(), better);
  if (nearest.size() > k) nearest.resize(k);
  return nearest;
}

VectorIndex::Recall VectorIndex::recall(int threads) const {
  const VectorBundles& bundles = state_->bundles;
  const VectorSource source = source_of(state_->vectors);
  std::vector<uint64_t> distinct, sample;
  for (size_t v = 0; v < bundles.vector_count(); ++v) distinct.push_back(bundles.rows_of(v)[0]);
  Recall recall;
  recall.sample = std::min<size_t>(100, distinct.size());
  for (size_t i = 0; i < recall.sample; ++i) {
    sample.push_back(distinct[i * distinct.size() / recall.sample]);
  }
  Buffer scratch;
  const ConstMatrix queries = some_of(source, sample).read(0, sample.size(), scratch);
  VectorSearch exact(queries, {.threads = threads});
  exact.add(some_of(source, distinct), 0);
  for (size_t q = 0; q < sample.size(); ++q) {
    const std::vector<Neighbour> all = exact.nearest(q);
    const auto found = state_->nearest_distinct({queries.row(q), queries.cols}, all.size());
    recall.wanted += all.size();
    // By the score: of vectors that are as near, each is as good.
    for (size_t i = 0; i < std::min(all.size(), found.size()); ++i) {
      recall.found += found[i].score >= all.back().score ? 1 : 0;
    }
  }
  return recall;
}

}  // namespace bert
