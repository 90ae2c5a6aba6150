#include "tokenizer/classes.h"

#include <algorithm>
#include <iterator>
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
constexpr Names kGpt2   {{kEndOfText, "",   "",      "",      "",       kEndOfText, kEndOfText}};
constexpr Names kMarian {{"<unk>", "</s>",  "<pad>", "[CLS]", "[MASK]", "",      "</s>"}};
constexpr Names kM2M    {{"<unk>", "</s>",  "<pad>", "",      "",       "<s>",   "</s>"}};
constexpr Names kPegasus{{"<unk>", "",      "<pad>", "",      "<mask_2>", "",    "</s>"}};
// clang-format on

constexpr FrameTemplate kFairseqFrame{"bos A eos", "bos A eos eos B eos"};
constexpr FrameTemplate kEsmFrame{"cls A eos", "cls A eos B eos"};
constexpr FrameTemplate kT5Frame{"A eos", "A eos B eos"};
constexpr FrameTemplate kMarianFrame{"A eos", "A B eos"};

// Languages, in the order of their ids.
constexpr std::string_view kMBartCodes =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN";
constexpr std::string_view kMBart50Codes =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL "
    "hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN "
    "th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";
constexpr std::string_view kM2MCodes =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu "
    "ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr "
    "ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr "
    "uk ur uz vi wo xh yi yo zh zu";
constexpr std::string_view kNllbCodes =
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi "
    "apc_Arab arb_Arab ars_Arab ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn "
    "azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn ben_Beng bho_Deva "
    "bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn "
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt "
    "ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn "
    "fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn "
    "guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn "
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn "
    "kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn "
    "kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn "
    "lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn "
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn "
    "mkd_Cyrl plt_Latn mlt_Latn mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr "
    "nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn nya_Latn oci_Latn gaz_Latn "
    "ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn "
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh "
    "slk_Latn slv_Latn smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn "
    "srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn tam_Taml tat_Cyrl "
    "tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn "
    "urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn "
    "yue_Hant zho_Hans zho_Hant zul_Latn";
constexpr std::string_view kWmt21Codes = "en ha is ja cs ru zh de";

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
    {.name = "M2M100Tokenizer",
     .source = ClassSource::named_pieces,
     .names = kM2M,
     .frame = kMarianFrame,
     .languages =
         {{.source = "en", .names = kM2MCodes, .marks = "__", .other_names = kWmt21Codes}}},
    {.name = "MBartTokenizer",
     .names = kRoberta,
     .frame = kMarianFrame,
     .sentencepiece = {{.order = Order::fairseq, .unk_id = 3, .mask_lstrip = true}},
     .languages = {{.source = "en_XX", .behind = true, .names = kMBartCodes}}},
    {.name = "MBart50Tokenizer",
     .names = kRoberta,
     .frame = kMarianFrame,
     .sentencepiece = {{.order = Order::fairseq,
                        .unk_id = 3,
                        .normalizer = Normalizer::blanks,
                        .mask_lstrip = true}},
     .languages = {{.source = "en_XX", .names = kMBart50Codes}}},
    {.name = "NllbTokenizer",
     .names = kRoberta,
     .frame = kMarianFrame,
     .languages = {{.source = "eng_Latn", .like = "aaa_Aaaa", .names = kNllbCodes}}},
    {.name = "PegasusTokenizer",
     .names = kPegasus,
     .frame = kMarianFrame,
     .sentencepiece = {{.order = Order::pegasus, .normalizer = Normalizer::blanks}}},
    {.name = "GemmaTokenizer", .names = kGemma, .rebuild = {{.rebuild = gemma_parts}}},
    {.name = "LlamaTokenizer",
     .names = kLlama,
     .rebuild = {{.unless_bytes = true, .rebuild = llama_parts}}},
    {.name = "GPT2Tokenizer",
     .names = kGpt2,
     .rebuild = {{.of_vocab_json = true, .rebuild = gpt2_parts}}},
    {.name = "Qwen2Tokenizer",
     .names = kQwen,
     .rebuild = {{.of_vocab_json = true, .rebuild = qwen2_parts}}},
    {.name = "Qwen3_5Tokenizer", .names = kQwen, .rebuild = {{.rebuild = qwen3_5_parts}}},
    {.name = "T5Tokenizer",
     .names = kT5,
     .frame = kT5Frame,
     .other_type = "MT5Tokenizer",
     .sentencepiece = {{.unk_id = 2, .sentinels = true}},
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
    if (c != '-' && c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
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
    if (plain(row.name) == name || plain(row.other_type) == name) return &row;
  }
  return nullptr;
}

bool is_written_type(std::string_view model_type) {
  const std::string name = plain_of_type(model_type);
  return std::any_of(std::begin(kWrittenTypes), std::end(kWrittenTypes),
                     [&](std::string_view t) { return plain(t) == name; });
}

std::string known_languages() {
  std::string names;
  for (const TokenizerClass& row : kClasses) {
    if (row.languages) names.append(names.empty() ? "" : " ").append(row.languages->names);
  }
  return names;
}

bool takes_prefix_space(const TokenizerClass& row) {
  return row.name == "RobertaTokenizer" || row.name == "GPT2Tokenizer";
}

const TokenizerClass& bert_class() { return *find_class("BertTokenizer"); }
const TokenizerClass& mpnet_class() { return *find_class("MPNetTokenizer"); }
const TokenizerClass& roberta_class() { return *find_class("RobertaTokenizer"); }
const TokenizerClass& marian_class() { return *find_class("MarianTokenizer"); }
const TokenizerClass& any_class() { return *find_class("PreTrainedTokenizer"); }

}  // namespace bert
