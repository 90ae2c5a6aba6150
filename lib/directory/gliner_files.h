#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "io/json.h"
#include "model/open_entities.h"

namespace bert {

/// The files of a GLiNER directory. gliner_config.json has the config of the encoder in it, or the
/// encoder's directory has; that one also has the tokenizer, if none stands here.
///
/// Thread rule: all threads may use one at once.
class BERT_API GlinerFiles {
 public:
  /// Before the names of the encoder's tensors, which then have no prefix of their own.
  static constexpr std::string_view kEncoder = "token_rep_layer.bert_layer.model.";

  /// Whether a folder holds such a model.
  static bool stand_in(const std::string& folder);
  /// Throws Error as OpenEntities::read and JsonDocument::open do.
  explicit GlinerFiles(std::string folder);

  const OpenEntities& head() const { return head_; }
  Json root() const { return document_.root(); }
  /// Whether this file of a model lies in the encoder's own directory.
  bool borrows(std::string_view name) const;
  /// The encoder's directory, which model_name tells as -m would. Throws Error(no_input) that says
  /// how to get it.
  const std::string& encoder() const;
  /// The encoder's config, as its config.json would have it. Throws Error as encoder().
  JsonDocument encoder_config() const;
  /// Whether only the tensors tell how many tokens there are, since marks were added to a
  /// vocabulary of unknown size.
  bool counts_rows() const { return counts_rows_; }

 private:
  std::string folder_;
  JsonDocument document_;
  OpenEntities head_;
  bool own_tokenizer_ = false, own_config_ = false, counts_rows_ = false;
  mutable std::once_flag found_;
  mutable std::string encoder_;
};

}  // namespace bert
