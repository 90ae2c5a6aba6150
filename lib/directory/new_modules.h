#pragma once

#include <string>

#include "base/export.h"
#include "directory/model_files.h"
#include "directory/module_layer.h"

namespace bert {

/// The files of a new model of late interaction, as PyLate writes them: one Dense over each token.
struct BERT_API NewLateFiles {
  /// Tokens that many vocabularies have and no text uses.
  static constexpr const char* kMarkers[] = {"[unused0]", "[unused1]"};
  size_t query_length = 0, document_length = 0;  ///< tokens
  bool fills_up = true;                          ///< queries are filled up with the mask token ...
  bool attends = false;                          ///< ... to which other tokens attend
  bool has_markers = false;                      ///< queries and documents begin with kMarkers

  NamedFiles make(const std::string& folder, const ModuleLayer& dense) const;
};

/// Adds a new Dense behind the pooling to the modules of sentence-transformers.
BERT_API void add_dense_module(const std::string& folder, const ModuleLayer& dense,
                               NamedFiles& files);

}  // namespace bert
