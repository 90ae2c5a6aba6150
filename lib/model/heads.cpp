#include "model/heads.h"

#include <algorithm>

#include "model/config.h"
#include "model/schema.h"

namespace bert {
namespace {

constexpr HeadSpec kHeads[] = {
    {HeadKind::masked_lm, "fill-mask", "ForMaskedLM", "mlm-fill, mlm-score", "masked_lm",
     "no masked-LM head (cls.predictions)"},
    {HeadKind::next_sentence, "next-sentence-prediction", "ForNextSentencePrediction", "nsp-score",
     "next_sentence", "no next-sentence head (cls.seq_relationship with its pooler)"},
    {HeadKind::classify, "text-classification", "ForSequenceClassification", "classify",
     "classifier", "no sequence classification head (classifier with its pooler)"},
    {HeadKind::tokens, "token-classification", "ForTokenClassification", "ner", "token_classifier",
     "no token classification head (classifier without a pooler)"},
    {HeadKind::spans, "question-answering", "ForQuestionAnswering", "qa", "question_answering",
     "no question answering head (qa_outputs)"},
    {HeadKind::open_entities, "zero-shot-token-classification", "",
     "ner (of names that a user gives)", "open_entities",
     "no head for entities of given names (gliner_config.json)"},
    {HeadKind::discriminator, "", "", "", "discriminator", ""},
    {HeadKind::pretrain, "fill-mask", "ForPreTraining", "", "", ""},
    {HeadKind::vectors, "fill-mask", "Model", "", "", ""}};

constexpr std::string_view kTensorPrefixes[] = {
    "cls.predictions.", "cls.seq_relationship.",      "classifier.",
    "qa_outputs.",      "discriminator_predictions.", "attentive_pooling.",
    "bilstm.",          "token_rep_layer.",           "rnn.",
    "span_rep_layer.",  "prompt_rep_layer.",          "scorer."};

}  // namespace

std::span<const HeadSpec> head_specs() { return kHeads; }
std::span<const std::string_view> head_tensor_prefixes() { return kTensorPrefixes; }

const HeadSpec& head_spec(HeadKind kind) {
  return *std::find_if(std::begin(kHeads), std::end(kHeads),
                       [&](const HeadSpec& head) { return head.kind == kind; });
}

const HeadSpec* head_of_task(std::string_view task) {
  for (const HeadSpec& head : kHeads) {
    if (!head.tools.empty() && head.task == task) return &head;
  }
  return nullptr;
}

std::string class_name(HeadKind kind, const Family& family) {
  if (kind == HeadKind::pretrain && !family.next_sentence) kind = HeadKind::masked_lm;
  const bool of_vectors = kind == HeadKind::vectors && !family.vector_class.empty();
  return std::string(family.class_prefix)
      .append(of_vectors ? family.vector_class : head_spec(kind).class_suffix);
}

bool is_known_class(std::string_view name) {
  // Of models that translate: the half that reads, alone, or both under a classifier.
  const auto is_reader = [&](const Seq2SeqFamily& row) {
    const std::string prefix(row.encoder->class_prefix);
    return name == prefix + "EncoderModel" ||
           (!row.encoder->text_inputs.empty() && name != row.encoder->refused_class &&
            name == prefix + std::string(head_spec(HeadKind::classify).class_suffix));
  };
  const auto translating = seq2seq_families();
  if (std::any_of(translating.begin(), translating.end(), is_reader)) return true;
  const Family* family = family_of_class(name);
  if (family && !family->vector_class.empty()) return true;  // DPR's encoders, which have no heads
  return family && std::any_of(std::begin(kHeads), std::end(kHeads), [&](const HeadSpec& head) {
           return !head.class_suffix.empty() &&
                  name.substr(family->class_prefix.size()) == head.class_suffix;
         });
}

bool has_head(HeadKind kind, const Config& config,
              const std::function<bool(std::string_view)>& has_tensor) {
  const auto is = [&](std::string_view ending) {
    return std::any_of(config.architectures.begin(), config.architectures.end(),
                       [&](const std::string& name) { return name.ends_with(ending); });
  };
  const auto has = [&](Role role) { return has_tensor(tensor_name(role)); };
  // One `classifier` of texts, which reads the pooler, of tokens, or of choices.
  const bool for_texts = is(head_spec(HeadKind::classify).class_suffix);
  const bool for_tokens = is(head_spec(HeadKind::tokens).class_suffix);
  const bool for_choices = is("ForMultipleChoice");
  const bool pools = has(Role::pooler) || !config.pooler_dense;
  const bool of_text = pools || has(Role::head_dense);
  switch (kind) {
    case HeadKind::masked_lm:
    case HeadKind::pretrain:
      if (config.family->mlm_transform) return has(Role::mlm_dense);
      return config.family->masked_lm &&
             (has(Role::mlm_decoder) || is(head_spec(HeadKind::masked_lm).class_suffix));
    case HeadKind::next_sentence:
      return has(Role::next_sentence) && pools;
    case HeadKind::classify:
      return has(Role::classifier_output) || has(Role::score) || has(Role::pooling_classifier) ||
             (has(Role::classifier) && of_text && !for_tokens && !for_choices);
    case HeadKind::tokens:
      return has(Role::bilstm_classifier) ||
             (has(Role::classifier) && (for_tokens || (!for_texts && !for_choices && !of_text)));
    case HeadKind::spans:
      return has(Role::qa_outputs);
    case HeadKind::open_entities:
      return static_cast<bool>(config.open_entities);
    case HeadKind::discriminator:
      return has(Role::discriminator_dense);
    case HeadKind::vectors:
      break;
  }
  return true;
}

}  // namespace bert
