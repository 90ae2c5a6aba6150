#include "tokenizer/masking.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"

namespace bert {
namespace {

/// Whether a uniform 32-bit word falls under probability `p`.
bool below(uint32_t word, double p) { return static_cast<double>(word) < p * 4294967296.0; }

void check_rate(const char* name, double value) {
  if (!(value >= 0 && value <= 1)) {
    throw Error::of_field(name, fmt::format("found {}, wants 0 to 1", value));
  }
}

bool is_unused(std::string_view token) {
  return token.starts_with("[unused") && token.ends_with("]");
}

}  // namespace

std::string_view mask_kind_name(MaskKind kind) {
  return kind == MaskKind::mask ? "mask" : kind == MaskKind::random ? "random" : "keep";
}

Masking::Masking(const Tokenizer& tokenizer, const MaskingOptions& options)
    : tokenizer_(tokenizer), options_(options) {
  check_rate("mlm_probability", options.mlm_probability);
  check_rate("mask_replace_prob", options.mask_replace_prob);
  check_rate("random_replace_prob", options.random_replace_prob);
  const double replaced = options.mask_replace_prob + options.random_replace_prob;
  if (!(replaced <= 1 + 1e-9)) {
    throw Error(Error::Kind::usage, "`mask_replace_prob` + `random_replace_prob`",
                fmt::format("found {}, wants 0 to 1", replaced));
  }
  if (tokenizer.mask_id() < 0) {
    throw Error(Error::Kind::data, "", "the model's vocabulary has no mask token");
  }
  for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string_view token = tokenizer.token(id);
    if (!token.empty() && !tokenizer.is_special(id) && !is_unused(token)) {
      replacements_.push_back(id);
    }
  }
}

bool Masking::eligible(const Encoding& encoding, size_t position) const {
  const int32_t id = encoding.input_ids[position];
  return !encoding.is_added(position) && (!tokenizer_.is_special(id) || id == tokenizer_.unk_id());
}

std::array<uint32_t, 4> Masking::draw(uint64_t record, size_t position) const {
  return philox4x32(
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
       static_cast<uint32_t>(record), static_cast<uint32_t>(record >> 32)},
      {static_cast<uint32_t>(options_.seed), static_cast<uint32_t>(options_.seed >> 32)});
}

MaskedToken Masking::draw_kind(const Encoding& encoding, size_t position, uint32_t kind_word,
                               uint64_t record) const {
  const int32_t original = encoding.input_ids[position];
  MaskedToken token{position, MaskKind::keep, original, original};
  if (below(kind_word, options_.mask_replace_prob)) {
    token.kind = MaskKind::mask;
    token.corrupted = tokenizer_.mask_id();
  } else if (below(kind_word, options_.mask_replace_prob + options_.random_replace_prob) &&
             !replacements_.empty()) {
    token.kind = MaskKind::random;
    const auto words = draw(record, position);
    const uint64_t wide = (uint64_t{words[2]} << 32) | words[3];
    // The high half of the product: uniform over the list to within 2^-40.
    const auto index =
        static_cast<size_t>((static_cast<unsigned __int128>(wide) * replacements_.size()) >> 64);
    token.corrupted = replacements_[index];
  }
  return token;
}

void Masking::choose(const Encoding& encoding, uint64_t record,
                     std::vector<MaskedToken>& out) const {
  out.clear();
  bool chosen = false;
  uint32_t kind_word = 0;
  int32_t word = -1;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (!eligible(encoding, i)) continue;
    const bool continues = options_.whole_word && word >= 0 && encoding.word_ids[i] == word;
    if (!continues) {
      const auto words = draw(record, i);
      chosen = below(words[0], options_.mlm_probability);
      kind_word = words[1];
      word = encoding.word_ids[i];
    }
    if (chosen) out.push_back(draw_kind(encoding, i, kind_word, record));
  }
}

void Masking::corrupt(std::span<const MaskedToken> chosen, std::span<int32_t> input_ids) {
  for (const MaskedToken& token : chosen) input_ids[token.position] = token.corrupted;
}

}  // namespace bert
