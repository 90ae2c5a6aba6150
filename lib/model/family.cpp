#include "model/family.h"

#include "model/entity_encoder.h"
#include "model/family/bert.h"
#include "model/family/deberta.h"
#include "model/family/gated.h"
#include "model/family/modern.h"
#include "model/family/roberta.h"
#include "model/family/seq2seq.h"

namespace bert {
namespace {

using namespace family_rows;

/// A class's name tells the first whose prefix it begins with.
constexpr Family kFamilies[] = {
    kBert,      kDistilBert, kElectra,      kMPNet,        kRobertaPreLayerNorm,
    kRoberta,   kCamembert,  kXlmRobertaXl, kXlmRoberta,   kAlbert,
    kDebertaV2, kDeberta,    kModernBert,   kNomicBert,    kGte,
    kNewGte,    kData2Vec,   kErnie,        kMegatronBert, kRemBert,
    kDpr,       kMobileBert, kRoFormer,     kEsm,          kJinaV3,
    kEuroBert,  kQwen3,      kGemma3Text,   kIBert};

}  // namespace

const Family& entity_encoder() { return kDebertaV2; }

std::span<const Seq2SeqFamily> seq2seq_families() { return kSeq2SeqFamilies; }
const Seq2SeqFamily& marian_family() { return kSeq2SeqFamilies[0]; }

const Family* decoder_family(std::string_view model_type) {
  for (const Family& family : kDecoders) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string decoder_family_list() {
  std::string list;
  for (const Family& family : kDecoders) {
    const bool last = &family == std::end(kDecoders) - 1;
    list.append(list.empty() ? "" : last ? " or " : ", ").append(family.model_type);
  }
  return list;
}

std::string_view Family::key_of(size_t Config::*field) const {
  for (const SizeKey& size : sizes) {
    if (size.field == field) return size.names[0];
  }
  return {};
}

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string family_list() {
  std::string list;
  for (const Family& family : kFamilies) {
    const bool last = &family == std::end(kFamilies) - 1;
    list.append(list.empty() ? "" : last ? " or " : ", ").append(family.model_type);
  }
  return list;
}

const Family* family_of_class(std::string_view class_name) {
  for (const Family& family : kFamilies) {
    if (class_name.starts_with(family.class_prefix)) return &family;
  }
  return nullptr;
}

}  // namespace bert
