#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "heads/transform.h"

namespace bert {

/// A head over each token (Devlin et al. 2019, figure 4 d): a linear layer on its hidden state.
///
/// Thread rule: const after open(); one workspace per thread.
class BERT_API TokenClassifier {
 public:
  /// Throws Error(data) that names the missing head.
  static TokenClassifier open(const Model& model);

  const std::vector<std::string>& labels() const { return labels_; }

  /// Logits [T, labels], in the workspace until the next call.
  Matrix logits(ConstMatrix hidden, Workspace& workspace) const;

 private:
  HeadTransform transform_;
  Linear output_;  ///< [labels, H]
  std::vector<std::string> labels_;
};

}  // namespace bert
