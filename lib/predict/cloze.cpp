#include "predict/cloze.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/checkpoint.h"
#include "ops/kernels.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const char* field, const std::string& what) {
  throw Error::of_field(field, what);
}

/// The pieces of a text, no token being added; a mask token in it is the mask.
std::vector<int32_t> pieces_of(const std::string& text, const Tokenizer& tokenizer,
                               bool behind_blank) {
  Tokenizer::Scratch scratch;
  EncodeOptions encode;
  encode.add_special_tokens = false;
  Encoding encoding;
  if (behind_blank) {
    encode_behind_blank(tokenizer, text, encode, encoding, scratch);
  } else {
    tokenizer.encode(text, encode, encoding, scratch);
  }
  return encoding.input_ids;
}

}  // namespace

bool ClozePlan::fits(const Model& model) {
  const Config& config = model.config();
  const bool inference = has_plain_head(config, model.weights(), HeadKind::classify) &&
                         names_entailment(config.labels);
  const bool masks =
      has_plain_head(config, model.weights(), HeadKind::masked_lm) ||
      std::any_of(config.heads.begin(), config.heads.end(), [](const NamedHead& head) {
        return head.task == head_spec(HeadKind::masked_lm).task;
      });
  return masks && !inference;
}

ClozePlan ClozePlan::make(const LabelChoice& choice, const Tokenizer& tokenizer,
                          size_t max_length) {
  if (tokenizer.mask_id() < 0) refuse("candidates", "the vocabulary has no mask token");
  ClozePlan plan;
  plan.calibrate = choice.calibrate;
  const std::string mask(tokenizer.token(tokenizer.mask_id()));
  const std::string hypothesis = choice.hypothesis(mask);
  const std::vector<int32_t> all = pieces_of(hypothesis, tokenizer, true);
  if (std::count(all.begin(), all.end(), tokenizer.mask_id()) != 1) {
    refuse("hypothesis_template", "wants no mask but {}, where the label goes");
  }
  const auto hole = std::find(all.begin(), all.end(), tokenizer.mask_id());
  plan.before.assign(all.begin(), hole);
  plan.after.assign(hole + 1, all.end());
  const size_t at = hypothesis.find(mask);
  const bool behind_blank = at == 0 || hypothesis[at - 1] == ' ';
  for (const std::string& label : choice.candidates) {
    plan.labels.push_back(pieces_of(label, tokenizer, behind_blank));
    if (plan.labels.back().empty()) {
      refuse("candidates", fmt::format("'{}' has no token", printable(label)));
    }
    if (lacks_pieces(tokenizer, label, plan.labels.back())) {
      refuse("candidates",
             fmt::format("'{}' has characters that the vocabulary lacks", printable(label)));
    }
  }
  const size_t least = plan.most_tokens() + tokenizer.added_tokens_single() + 1;
  if (max_length < least) {
    refuse("max_length", fmt::format("found {}, wants at least {}: template, label, special "
                                     "tokens and one of the text",
                                     max_length, least));
  }
  return plan;
}

size_t ClozePlan::most_tokens() const {
  size_t most = 0;
  for (const std::vector<int32_t>& label : labels) most = std::max(most, label.size());
  return before.size() + most + after.size();
}

ReadOptions ClozePredictor::reading(ReadOptions options, const ClozePlan& plan) {
  options.encode.max_length -= plan.most_tokens();
  return options;
}

void ClozePredictor::predict(std::span<const Encoding> sequences, TextReader& reader,
                             LabelScores& out) {
  if (plan_.calibrate && calibration_.empty()) {
    Sequences none;
    reader.read({""}, 0, none);
    compute(none.encodings());
    calibration_ = logprobs_;
  }
  compute(sequences);
  out.labels = plan_.labels.size();
  out.values.resize(logprobs_.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    const std::span<float> row = out[i];
    for (size_t k = 0; k < out.labels; ++k) {
      const double base = calibration_.empty() ? 0 : calibration_[k];
      row[k] = static_cast<float>(logprobs_[i * out.labels + k] - base);
    }
    softmax(row);
  }
}

/// logprobs_ [texts, labels]
void ClozePredictor::compute(std::span<const Encoding> texts) {
  logprobs_.assign(texts.size() * plan_.labels.size(), 0.0);
  steps_.clear();
  queries_.start([this](size_t tag, std::span<const float> logits) { judge(steps_[tag], logits); });
  for (size_t text = 0; text < texts.size(); ++text) ask(texts[text], text);
  queries_.finish();
}

/// Labels of one piece share a sequence; each longer one has a sequence for each of its pieces.
void ClozePredictor::ask(const Encoding& framed, size_t text) {
  bool single = false;
  for (size_t label = 0; label < plan_.labels.size(); ++label) {
    single |= plan_.labels[label].size() == 1;
    if (plan_.labels[label].size() > 1) ask_label(framed, text, label);
  }
  if (!single) return;
  const WantedRow row{place_of_label(framed), steps_.size()};
  steps_.push_back({text, kSinglePieces, 0});
  queries_.ask(with_masks(framed, 1), {&row, 1});
}

void ClozePredictor::ask_label(const Encoding& framed, size_t text, size_t label) {
  const std::vector<int32_t>& pieces = plan_.labels[label];
  std::vector<int32_t> ids = with_masks(framed, pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const WantedRow row{place_of_label(framed) + i, steps_.size()};
    steps_.push_back({text, label, i});
    queries_.ask(ids, {&row, 1});
    ids[row.position] = pieces[i];
  }
}

/// Where the label begins: behind [CLS], the text and the template before it.
size_t ClozePredictor::place_of_label(const Encoding& framed) const {
  return framed.size() - tokenizer_.frame().after.size() + plan_.before.size();
}

/// [CLS] text, the template with so many masks, [SEP].
std::vector<int32_t> ClozePredictor::with_masks(const Encoding& framed, size_t masks) const {
  const std::vector<int32_t>& all = framed.input_ids;
  const auto end = all.end() - static_cast<ptrdiff_t>(tokenizer_.frame().after.size());
  std::vector<int32_t> ids(all.begin(), end);
  ids.insert(ids.end(), plan_.before.begin(), plan_.before.end());
  ids.insert(ids.end(), masks, tokenizer_.mask_id());
  ids.insert(ids.end(), plan_.after.begin(), plan_.after.end());
  ids.insert(ids.end(), end, all.end());
  return ids;
}

void ClozePredictor::judge(const Step& step, std::span<const float> logits) {
  const double normalizer = log_sum_exp(logits);
  const auto add = [&](size_t label) {
    const auto piece = static_cast<size_t>(plan_.labels[label][step.piece]);
    logprobs_[step.text * plan_.labels.size() + label] +=
        static_cast<double>(logits[piece]) - normalizer;
  };
  if (step.label != kSinglePieces) {
    add(step.label);
    return;
  }
  for (size_t label = 0; label < plan_.labels.size(); ++label) {
    if (plan_.labels[label].size() == 1) add(label);
  }
}

}  // namespace bert
