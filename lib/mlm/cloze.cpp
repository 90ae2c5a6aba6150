#include "mlm/cloze.h"

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

ClozeWorker::ClozeWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                         const LabelPlan& plan, const ClozePlan& cloze,
                         const ClassifyOptions& classify, const TaskOptions& options)
    : LabelWorker(tokenizer, model, plan, classify, options),
      cloze_(cloze),
      queries_(model, head, options.max_batch_tokens) {
  refuse_windows(" with zero-shot labels");
}

void ClozeWorker::score(std::span<const Record> records) {
  EncodeOptions encode = options_.encode;
  encode.max_length -= cloze_.most_tokens();  // the text is cut, not the template
  texts_.resize(std::max<size_t>({texts_.size(), records.size(), 1}));
  if (cloze_.calibrate && calibration_.empty()) {
    texts_[0].clear();
    tokenizer_.encode("", encode, texts_[0], scratch_);
    compute(1);
    calibration_ = logprobs_;
  }
  for (size_t i = 0; i < records.size(); ++i) {
    texts_[i].clear();
    tokenizer_.encode(records[i].text, encode, texts_[i], scratch_);
    note(records[i], texts_[i]);
  }
  compute(records.size());
  const size_t labels = cloze_.labels.size();
  scores_.resize(records.size() * labels);
  for (size_t i = 0; i < records.size(); ++i) {
    const std::span<float> row(&scores_[i * labels], labels);
    for (size_t k = 0; k < labels; ++k) {
      const double base = calibration_.empty() ? 0 : calibration_[k];
      row[k] = static_cast<float>(logprobs_[i * labels + k] - base);
    }
    softmax(row);
  }
}

/// logprobs_ [count, labels] of the first texts_.
void ClozeWorker::compute(size_t count) {
  logprobs_.assign(count * cloze_.labels.size(), 0.0);
  steps_.clear();
  queries_.start([this](size_t tag, std::span<const float> logits) { judge(steps_[tag], logits); });
  for (size_t text = 0; text < count; ++text) ask(text);
  queries_.finish();
}

/// Labels of one piece share a sequence; each longer one has a sequence for each of its pieces.
void ClozeWorker::ask(size_t text) {
  bool single = false;
  for (size_t label = 0; label < cloze_.labels.size(); ++label) {
    single |= cloze_.labels[label].size() == 1;
    if (cloze_.labels[label].size() > 1) ask_label(text, label);
  }
  if (!single) return;
  const WantedRow row{place_of_label(text), steps_.size()};
  steps_.push_back({text, kSinglePieces, 0});
  queries_.ask(with_masks(text, 1), {&row, 1});
}

void ClozeWorker::ask_label(size_t text, size_t label) {
  const std::vector<int32_t>& pieces = cloze_.labels[label];
  std::vector<int32_t> ids = with_masks(text, pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const WantedRow row{place_of_label(text) + i, steps_.size()};
    steps_.push_back({text, label, i});
    queries_.ask(ids, {&row, 1});
    ids[row.position] = pieces[i];
  }
}

/// Where the label begins: behind [CLS], the text and the template before it.
size_t ClozeWorker::place_of_label(size_t text) const {
  return texts_[text].size() - tokenizer_.frame().after.size() + cloze_.before.size();
}

/// [CLS] text, the template with so many masks, [SEP].
std::vector<int32_t> ClozeWorker::with_masks(size_t text, size_t masks) const {
  const std::vector<int32_t>& framed = texts_[text].input_ids;
  const auto end = framed.end() - static_cast<ptrdiff_t>(tokenizer_.frame().after.size());
  std::vector<int32_t> ids(framed.begin(), end);
  ids.insert(ids.end(), cloze_.before.begin(), cloze_.before.end());
  ids.insert(ids.end(), masks, tokenizer_.mask_id());
  ids.insert(ids.end(), cloze_.after.begin(), cloze_.after.end());
  ids.insert(ids.end(), end, framed.end());
  return ids;
}

void ClozeWorker::judge(const Step& step, std::span<const float> logits) {
  const double normalizer = log_sum_exp(logits);
  const auto add = [&](size_t label) {
    const auto piece = static_cast<size_t>(cloze_.labels[label][step.piece]);
    logprobs_[step.text * cloze_.labels.size() + label] +=
        static_cast<double>(logits[piece]) - normalizer;
  };
  if (step.label != kSinglePieces) {
    add(step.label);
    return;
  }
  for (size_t label = 0; label < cloze_.labels.size(); ++label) {
    if (cloze_.labels[label].size() == 1) add(label);
  }
}

}  // namespace bert
