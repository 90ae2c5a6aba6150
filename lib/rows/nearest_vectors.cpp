#include "rows/nearest_vectors.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "io/mapped_file.h"
#include "search/index_build.h"

namespace bert {
namespace {

/// As texts without a finite vector, such rows are no neighbours, no queries and in no group.
/// Returns what is told of them; empty: there are none.
std::string skip_bad_rows(MatrixFile& file, bool searched) {
  file.replace_bad_rows(searched ? std::numeric_limits<float>::quiet_NaN() : 0);
  const size_t bad = file.bad_rows().size();
  if (bad == 0) return {};
  return fmt::format(
      "{}: {} of the {} vectors have a number that is not finite, the first is row "
      "{}; they are left out",
      file.path(), bad, file.rows(), file.bad_rows().front() + 1);
}

}  // namespace

NearestVectors::NearestVectors(const NearestOptions& options, TextModel* model,
                               const std::function<void(const std::string&)>& notice)
    : options_(options), model_(model) {
  const std::optional<RawNumbers> raw =
      options.raw.width > 0 ? std::optional(options.raw) : std::nullopt;
  const auto open_file = [&](const std::string& path, std::optional<MatrixFile>& file) {
    if (path.empty()) return;
    file = MatrixFile::open_vectors(path, raw);
    if (!options.skip_bad || !options.index.empty()) return;
    const std::string skipped = skip_bad_rows(*file, options.searches());
    if (!skipped.empty()) notice(skipped);
  };
  open_file(options.vectors, file_);
  open_file(options.query_vectors, query_file_);
  if (!options.index.empty()) open_index(notice);
}

void NearestVectors::open_index(const std::function<void(const std::string&)>& notice) {
  const uint64_t model = model_ ? model_->hash() : 0;
  const std::string& path = options_.index;
  const bool missing = !file_exists(path);
  if (missing && options_.exact) RoundedVectors::build(path, *file_, model, options_.threads);
  if (missing && !options_.exact) build_index(path, *file_, model, options_.threads);
  if (RoundedVectors::begins_as_one(path)) {
    rounded_.emplace(RoundedVectors::open(path, *file_, model));
    if (missing) notice(fmt::format("{}: built; its searches are exact", path));
    return;
  }
  if (options_.exact) throw Error::of_field("exact", "wants an index that was built so");
  index_.emplace(VectorIndex::open(path, *file_, model));
  if (!missing) return;
  const VectorIndex::Recall recall = index_->recall(options_.threads);
  notice(fmt::format("{}: built; it finds {} of the {} nearest of {} vectors", path, recall.found,
                     recall.wanted, recall.sample));
}

std::vector<std::string> NearestVectors::files() const {
  std::vector<std::string> files;
  for (const std::string* file :
       {&options_.vectors, &options_.query_vectors, &options_.queries, &options_.index}) {
    if (!file->empty()) files.push_back(*file);
  }
  return files;
}

Queries NearestVectors::queries(const QueryTexts& texts, Counts& counts) const {
  return query_file_ ? vector_queries(*query_file_) : text_queries(texts, *model_, counts);
}

void NearestVectors::check(const Queries& queries) const {
  const size_t width = file_ ? file_->cols() : model_->width();
  if (queries.width == width) return;
  throw Error(Error::Kind::data, file_ ? file_->path() : query_file_->path(),
              fmt::format("found vectors of {} numbers, wants {}, as the {} have",
                          file_ ? width : queries.width, file_ ? queries.width : width,
                          file_ ? "queries" : "texts"));
}

VectorSearch::Options NearestVectors::search_options(const Queries& queries) const {
  VectorSearch::Options how;
  how.similarity = options_.similarity ? *options_.similarity
                   : model_            ? model_->similarity()
                                       : Similarity::cosine;
  if (index_ && how.similarity != Similarity::cosine) {
    throw Error::of_field("index", "is of cosines: wants `similarity` cosine");
  }
  how.k = options_.top_k;
  how.threshold = options_.threshold.value_or(how.threshold);
  // With few queries a search is much quicker than the model, whose threads then take turns.
  constexpr size_t kFew = 256;
  how.threads = file_ || queries.numbers.size() > kFew ? options_.threads : 1;
  return how;
}

SearchResult NearestVectors::search(const Queries& queries) const {
  const VectorSearch::Options how = search_options(queries);
  SearchResult result;
  if (index_) {
    for (size_t q = 0; q < queries.numbers.size(); ++q) {
      auto& found = result.nearest.emplace_back(
          index_->nearest({queries.matrix().row(q), queries.width}, how.k));
      std::erase_if(found, [&](const Neighbour& n) { return !(n.score >= how.threshold); });
    }
  } else {
    VectorSearch search(queries.matrix(), how);
    rounded_ ? search.add(*rounded_, source_of(*file_), 0) : search.add(source_of(*file_), 0);
    for (size_t q = 0; q < queries.numbers.size(); ++q) result.nearest.push_back(search.nearest(q));
  }
  result.expect_texts(file_->path());
  return result;
}

VectorGroups NearestVectors::groups() const {
  VectorGroups groups = group(source_of(*file_), *options_.threshold, options_.threads);
  for (const size_t row : file_->bad_rows()) {
    groups.score[row] = std::numeric_limits<double>::quiet_NaN();
  }
  return groups;
}

void NearestVectors::check_records(uint64_t records) const {
  if (records == file_->rows()) return;
  throw Error(Error::Kind::data, file_->path(),
              fmt::format("found {} vectors, wants {}, one for each record of the files",
                          file_->rows(), records));
}

}  // namespace bert
