#include "rows/fill_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "rows/fill_rows.h"
#include "rows/mlm_worker.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const char* field, const std::string& what) {
  throw Error::of_field(field, what);
}

/// A target is a field of its rows.
void check_new(const std::vector<FillPlan::Target>& targets, const std::string& text) {
  if (text.find_first_of("\t\n") != std::string::npos) {
    refuse("targets", fmt::format("found '{}', wants no tab and no line feed", printable(text)));
  }
  for (const FillPlan::Target& other : targets) {
    if (other.text == text) refuse("targets", fmt::format("found '{}' twice", printable(text)));
  }
}

void check(const MlmFillOptions& o) {
  const int ways = int{o.joint} + int{o.max_pieces > 1} + int{!o.targets.empty()} +
                   int{o.targets_field} + int{!o.verbalizers.empty()} +
                   int{o.truth != FillTruth::none};
  if (ways > 1) {
    refuse("",
           "wants only one of `joint`, `max_pieces`, `targets`, `targets_field`, `verbalizers`, "
           "`gold`, "
           "`labels`");
  }
  if (!o.calibration.empty() && (o.joint || o.max_pieces > 1 || o.truth != FillTruth::none)) {
    refuse("calibration", "works with `targets`, `verbalizers` or `top_k`");
  }
  if (!o.prompt.empty() &&
      (o.prompt.find("{}") == std::string::npos || o.prompt.find("{}") != o.prompt.rfind("{}"))) {
    refuse("prompt", "wants {} once, where the record's text belongs");
  }
  if (!o.calibration.empty() && o.targets_field) refuse("calibration", "not with `targets_field`");
  if (o.tokens && !o.calibration.empty()) refuse("calibration", "reads text, not `tokens`");
}

}  // namespace

FillPlan::Target FillPlan::target_of(const std::string& text, const Tokenizer& tokenizer,
                                     size_t max_length) {
  Tokenizer::Scratch scratch;
  EncodeOptions encode;
  encode.add_special_tokens = false;
  Encoding encoding;
  tokenizer.encode(text, encode, encoding, scratch);
  Encoding behind_blank;
  encode_behind_blank(tokenizer, text, encode, behind_blank, scratch);
  const size_t room = max_length - tokenizer.added_tokens_single();
  if (encoding.size() == 0 || std::max(encoding.size(), behind_blank.size()) > room) {
    throw Error(
        Error::Kind::usage, "target",
        fmt::format("'{}' is {} tokens, wants 1 to {}", printable(text), encoding.size(), room));
  }
  if (lacks_pieces(tokenizer, text, encoding.input_ids)) {
    throw Error(Error::Kind::usage, "target",
                fmt::format("'{}' has characters that the vocabulary lacks", printable(text)));
  }
  return {text, encoding.input_ids, behind_blank.input_ids};
}

FillPlan FillPlan::make(const MlmFillOptions& options, const Tokenizer& tokenizer,
                        size_t max_length) {
  check(options);
  const size_t room = max_length - tokenizer.added_tokens_single();
  if (options.max_pieces > 1 && options.max_pieces > room) {
    refuse("max_pieces", fmt::format("found {}, wants at most {}", options.max_pieces, room));
  }
  FillPlan plan;
  plan.options = options;
  for (const std::string& text : options.targets) {
    check_new(plan.targets, text);
    plan.targets.push_back(target_of(text, tokenizer, max_length));
  }
  for (const Verbalizer& verbalizer : options.verbalizers) {
    if (verbalizer.label.find_first_of("\t\n") != std::string::npos) {
      refuse("verbalizers", fmt::format("found the label '{}', wants no tab and no line feed",
                                        printable(verbalizer.label)));
    }
    for (const Verbalizer& other : options.verbalizers) {
      if (&other == &verbalizer) break;
      if (other.label == verbalizer.label)
        refuse("verbalizers",
               fmt::format("found the label '{}' twice", printable(verbalizer.label)));
    }
    plan.label_targets.emplace_back();
    for (const std::string& word : verbalizer.words) {
      plan.label_targets.back().push_back(plan.targets.size());
      plan.targets.push_back(target_of(word, tokenizer, max_length));
    }
  }
  return plan;
}

std::vector<std::string> FillPlan::columns() const {
  if (options.truth != FillTruth::none) return names_of<TruthRow>();
  if (!options.verbalizers.empty()) return names_of(LabelsRow{labels_shown(), options.top_k > 0});
  return options.top_k > 0 ? names_of<CandidateRow>() : names_of<FilledRow>();
}

}  // namespace bert
