#include "tokenizer/classes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizer/files/class_parts.h"

namespace bert {
namespace {

using Names = BySpecial<std::string_view>;
using Order = SentencePieceRules::Order;
using Normalizer = SentencePieceRules::Normalizer;

constexpr std::string_view kEndOfText = "<|endoftext|>";

// clang-format off
// [Special]               unk      sep      pad      cls      mask      bos      eos
constexpr Names kAlbert {{"<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]", "[CLS]", "[SEP]"}};
constexpr Names kMpnet  {{"[UNK]", "</s>",  "<pad>", "<s>",   "<mask>", "<s>",   "</s>"}};
constexpr Names kRoberta{{"<unk>", "</s>",  "<pad>", "<s>",   "<mask>", "<s>",   "</s>"}};
constexpr Names kEsm    {{"<unk>", "<eos>", "<pad>", "<cls>", "<mask>", "<cls>", "<eos>"}};
constexpr Names kGemma  {{"<unk>", "",      "<pad>", "",      "<mask>", "<bos>", "<eos>"}};
constexpr Names kLlama  {{"<unk>", "",      "",      "",      "",       "<s>",   "</s>"}};
constexpr Names kT5     {{"<unk>", "",      "<pad>", "",      "",       "",      "</s>"}};
constexpr Names kQwen   {{kEndOfText, "",   kEndOfText, "",   "",       "",      kEndOfText}};
constexpr Names kMarian {{"<unk>", "</s>",  "<pad>", "[CLS]", "[MASK]", "",      "</s>"}};
// clang-format on

constexpr FrameTemplate kFairseqFrame{"bos A eos", "bos A eos eos B eos"};
constexpr FrameTemplate kEsmFrame{"cls A eos", "cls A eos B eos"};
constexpr FrameTemplate kT5Frame{"A eos", "A eos B eos"};
constexpr FrameTemplate kMarianFrame{"A eos", "A B eos"};

constexpr TokenizerClass of_bert(std::string_view name) {
  return {.name = name, .source = ClassSource::wordpiece};
}
constexpr TokenizerClass of_roberta(std::string_view name) {
  return {.name = name,
          .source = ClassSource::byte_level,
          .names = kRoberta,
          .frame = kRobertaFrame,
          .trims_offsets = true};
}

constexpr TokenizerClass kClasses[] = {
    of_bert("BertTokenizer"),
    of_bert("DistilBertTokenizer"),
    of_bert("ElectraTokenizer"),
    of_bert("MobileBertTokenizer"),
    of_bert("ConvBertTokenizer"),
    of_bert("LayoutLMTokenizer"),
    of_bert("LxmertTokenizer"),
    of_bert("SqueezeBertTokenizer"),
    of_bert("DPRQuestionEncoderTokenizer"),
    of_bert("DPRContextEncoderTokenizer"),
    of_bert("DPRReaderTokenizer"),
    {.name = "MPNetTokenizer",
     .source = ClassSource::wordpiece,
     .names = kMpnet,
     .frame = kRobertaFrame,
     .trims_offsets = true},
    {.name = "EsmTokenizer", .source = ClassSource::listed, .names = kEsm, .frame = kEsmFrame},
    of_roberta("RobertaTokenizer"),
    of_roberta("LongformerTokenizer"),
    of_roberta("BartTokenizer"),
    of_roberta("GPT2Tokenizer"),
    {.name = "DebertaTokenizer", .source = ClassSource::byte_level, .frame = kRobertaFrame},
    {.name = "XLMRobertaTokenizer",
     .names = kRoberta,
     .frame = kFairseqFrame,
     .sentencepiece = {{.order = Order::fairseq, .unk_id = 3}}},
    {.name = "CamembertTokenizer",
     .names = kRoberta,
     .frame = kFairseqFrame,
     .sentencepiece = {{.order = Order::fairseq_unused, .mask_lstrip = true}}},
    {.name = "AlbertTokenizer",
     .names = kAlbert,
     .sentencepiece = {{.unk_id = 1, .normalizer = Normalizer::albert, .lowercase = true}}},
    {.name = "DebertaV2Tokenizer", .sentencepiece = {{.normalizer = Normalizer::deberta}}},
    {.name = "BigBirdTokenizer"},
    {.name = "RemBertTokenizer"},
    {.name = "MarianTokenizer",
     .source = ClassSource::marian,
     .names = kMarian,
     .frame = kMarianFrame},
    {.name = "GemmaTokenizer", .names = kGemma, .rebuild = {{.rebuild = gemma_parts}}},
    {.name = "LlamaTokenizer",
     .names = kLlama,
     .rebuild = {{.unless_bytes = true, .rebuild = llama_parts}}},
    {.name = "Qwen2Tokenizer", .names = kQwen, .rebuild = {{.rebuild = qwen2_parts}}},
    {.name = "Qwen3_5Tokenizer", .names = kQwen, .rebuild = {{.rebuild = qwen3_5_parts}}},
    {.name = "T5Tokenizer",
     .names = kT5,
     .frame = kT5Frame,
     .rebuild = {{.of_unigram = true, .own_frame = true, .sentinels = true, .rebuild = t5_parts}}},
    {.name = "NomicBertTokenizer", .own_tokens = false},
    {.name = "PreTrainedTokenizer", .own_tokens = false},
    {.name = "TokenizersBackend", .own_tokens = false},
    {.name = "RetriBertTokenizer", .own_tokens = false},
    {.name = "NezhaTokenizer", .own_tokens = false},
    {.name = "ErnieTokenizer", .own_tokens = false},
};

/// Types of models, each spelt as a class of its tokenizer would be; transformers has no such
/// classes.
constexpr std::string_view kWrittenTypes[] = {"ModernBertTokenizer", "UMT5Tokenizer"};

/// Types of models, spelt so too, whose class is called otherwise.
constexpr std::pair<std::string_view, std::string_view> kOtherTypes[] = {
    {"Gemma3_TextTokenizer", "GemmaTokenizer"},
    {"Qwen3Tokenizer", "Qwen2Tokenizer"},
    {"MT5Tokenizer", "T5Tokenizer"}};

std::string plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  return plain;
}

/// The plain name of the class that is named as a model type is.
std::string plain_of_type(std::string_view model_type) {
  return plain(std::string(model_type) + "tokenizer");
}

}  // namespace

std::span<const TokenizerClass> tokenizer_classes() { return kClasses; }

const TokenizerClass* find_class(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  for (const TokenizerClass& row : kClasses) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const TokenizerClass* class_of_type(std::string_view model_type) {
  const std::string name = plain_of_type(model_type);
  for (const auto& [type, class_name] : kOtherTypes) {
    if (plain(type) == name) return find_class(class_name);
  }
  for (const TokenizerClass& row : kClasses) {
    if (plain(row.name) == name) return &row;
  }
  return nullptr;
}

bool is_written_type(std::string_view model_type) {
  const std::string name = plain_of_type(model_type);
  return std::ranges::any_of(kWrittenTypes, [&](std::string_view t) { return plain(t) == name; });
}

const TokenizerClass& bert_class() { return *find_class("BertTokenizer"); }
const TokenizerClass& mpnet_class() { return *find_class("MPNetTokenizer"); }
const TokenizerClass& roberta_class() { return *find_class("RobertaTokenizer"); }
const TokenizerClass& marian_class() { return *find_class("MarianTokenizer"); }
const TokenizerClass& any_class() { return *find_class("PreTrainedTokenizer"); }

}  // namespace bert
