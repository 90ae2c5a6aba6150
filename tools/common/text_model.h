#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/embedder.h"
#include "common/options.h"
#include "rows/text_vectors.h"
#include "search/vector_search.h"

namespace bert::tools {

/// The model of a tool that compares vectors of texts: those that `embed` writes.
class TextModel {
 public:
  /// What a text is for; a model may have a prompt for it.
  enum class Role { any, query, document };

  explicit TextModel(const ModelOptions& models);

  size_t width() const { return plan_.width(); }  ///< D
  const TaskOptions& task() const { return task_; }
  /// How the model's files say that vectors are compared. Throws Error(unsupported) for a way that
  /// a search does not know.
  Similarity similarity() const;
  /// Hands the vectors of a stream's records to `sink`. `prompt`: instead of the model's own for
  /// this role, which sentence-transformers' encode_query and encode_document take, too.
  std::unique_ptr<Worker> worker(Role role, const std::optional<std::string>& prompt,
                                 VectorSink sink);

 private:
  const SentenceModules& modules() const { return embedder_.modules(); }
  std::string own_prompt(Role role) const;

  const ModelDirectory& directory_;
  Embedder embedder_;
  VectorPlan plan_;
  TaskOptions task_;
};

}  // namespace bert::tools
