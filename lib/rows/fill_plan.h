#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/export.h"
#include "predict/joint_fill.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// Words that speak for a label (Schick and Schuetze 2021).
struct Verbalizer {
  std::string label;
  std::vector<std::string> words;
};

/// Where the truth about the masks of a record stands: in its first extra field.
enum class FillTruth {
  none,
  text,    ///< a word for the one mask, or as many pieces as there are masks
  labels,  ///< items "index:token" as mlm-mask --labels writes them
};

/// The score of a word of several pieces, each of which has a mask: ln P of the pieces ...
enum class TargetScore {
  joint,  ///< one after the other, each with those before it in place
  sum,    ///< all masked at once, added up
  mean,   ///< all masked at once, their mean
};

struct MlmFillOptions {
  size_t top_k = 0;     ///< 0: the filled text; else that many rows per mask
  bool tokens = false;  ///< records are tokens, in and out
  bool joint = false;   ///< the masks of a record are filled together
  size_t beam = 5;
  FillOrder order = FillOrder::confidence;
  size_t max_pieces = 1;             ///< pieces of which a gap may consist
  std::vector<std::string> targets;  ///< the only candidates
  bool targets_field = false;        ///< an extra field has the record's own candidates
  TargetScore target_score = TargetScore::joint;
  double temperature = 1;  ///< divides the logits
  FillTruth truth = FillTruth::none;
  std::string prompt;       ///< a text in which "{}" stands for the record's
  std::string calibration;  ///< a prompt without content: probabilities become ratios to its own
  std::vector<Verbalizer> verbalizers;
};

/// The options, checked, and the targets as pieces; made once and shared by the workers.
struct BERT_API FillPlan {
  struct Target {
    std::string text;
    std::vector<int32_t> pieces;        ///< where no blank stands before it
    std::vector<int32_t> behind_blank;  ///< and where one does
  };
  MlmFillOptions options;
  std::vector<Target> targets;
  std::vector<std::vector<size_t>> label_targets;  ///< [verbalizers]: indices into targets

  /// Throws Error(usage) for options that exclude each other or a target without a piece.
  static FillPlan make(const MlmFillOptions& options, const Tokenizer& tokenizer,
                       size_t max_length);
  /// A word as a candidate. Throws Error(data) for one that has no pieces, or too many.
  static Target target_of(const std::string& text, const Tokenizer& tokenizer, size_t max_length);
  bool scores_targets() const { return !targets.empty() || options.targets_field; }
  /// Names of the columns of its rows, but for the record's number.
  std::vector<std::string> columns() const;
  /// Labels in a row of verbalizers.
  size_t labels_shown() const {
    return std::min(std::max<size_t>(1, options.top_k), options.verbalizers.size());
  }
};

}  // namespace bert
