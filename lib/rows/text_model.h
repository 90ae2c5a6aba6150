#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "predict/embedder.h"
#include "rows/task_options.h"
#include "rows/text_vectors.h"
#include "search/vector_search.h"

namespace bert {

/// The model of a tool that compares vectors of texts: those that `embed` writes.
class BERT_API TextModel {
 public:
  /// What a text is for; a model may have a prompt for it.
  enum class Role { any, query, document };

  explicit TextModel(const TaskRequest& request)
      : TextModel(request, SentenceModules::open(request.directory)) {}

  size_t width() const { return plan_.width(); }  ///< D
  /// A hash of the files that decide its vectors.
  uint64_t hash() const;
  const TaskOptions& task() const { return task_; }
  /// How the model's files say that vectors are compared. Throws Error(unsupported) for a way that
  /// a search does not know.
  Similarity similarity() const;
  /// Hands the vectors of a stream's records to `sink`. `prompt`: instead of the model's own for
  /// this role, which sentence-transformers' encode_query and encode_document take, too.
  std::unique_ptr<Worker> worker(Role role, const std::optional<std::string>& prompt,
                                 VectorSink sink);

 private:
  TextModel(const TaskRequest& request, SentenceModules modules);
  const SentenceModules& modules() const { return embedder_.modules(); }
  std::string own_prompt(Role role) const;

  OpenedModel model_;
  Embedder embedder_;
  const VectorPlan plan_;
  const TaskOptions task_;
};

}  // namespace bert
