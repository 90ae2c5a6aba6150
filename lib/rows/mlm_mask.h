#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rows/mlm_worker.h"
#include "text/posix_regex.h"
#include "tokenizer/masking.h"

namespace bert {

/// Which tokens mlm-mask hides.
enum class MaskChoice {
  random,  ///< as in training
  each,    ///< every word in turn, one row each
  match,   ///< the tokens that a regular expression touches
  spans,   ///< tokens that the byte spans in an extra field touch: "3-8 12-15"
};

struct MlmMaskOptions {
  MaskChoice choice = MaskChoice::random;
  std::string pattern;  ///< POSIX extended
  bool tokens = false;  ///< records are tokens, in and out
  bool words = false;   ///< a word is what stands between blanks
  bool labels = false;  ///< a second column with the truth
  bool show = false;    ///< a row for each chosen token instead of the text
  bool keyed = false;   ///< the draws belong to the value of an extra field, not to the text

  /// Names of the columns of its rows.
  BERT_API std::vector<std::string> columns() const;
};

/// Hides tokens of each record. Needs no model: what it does to a record depends on the record's
/// bytes (or its key) and the seed alone.
class BERT_API MlmMaskWorker : public MlmWorker {
 public:
  /// Throws Error(usage) for a pattern that does not compile.
  MlmMaskWorker(const Tokenizer& tokenizer, const Masking& masking, const MlmMaskOptions& mask,
                const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  struct Masked {
    std::string_view text;        ///< masked
    std::vector<size_t> starts;   ///< [chosen]: where in text the token stands
    std::vector<size_t> indices;  ///< [chosen]: which token of text it is, as Encoding::index;
                                  ///< the largest number: none
  };

  void find_words(std::string_view text);
  void choose(const Record& record);
  void choose_match(const Record& record);
  void choose_spans(const Record& record);
  void hide(std::string_view text, size_t begin, size_t end, size_t& from);
  void hide_token(size_t position);
  void write_each(const Record& record, Rows& rows);
  void write_masked(const Record& record, Rows& rows);
  void write_shown(const Record& record, Rows& rows) const;
  void write_json(const Record& record, const Masked& masked, Rows& rows) const;
  Masked append_masked(const Record& record, std::string& out);
  size_t append_random(std::string& text, const MaskedToken& token, std::string_view rest) const;
  void find_indices(Masked& masked);
  void keep_one_in_each_place(std::vector<size_t>& indices) const;
  Offset place_of(std::string_view text, size_t token) const;

  const Masking& masking_;
  const MlmMaskOptions mask_;
  std::optional<Regex> regex_;
  Regex::Scratch matching_;
  /// Whether a blank before a mask is part of no token.
  bool blank_is_free_ = true;
  TokenizedText text_;
  std::vector<MaskedToken> chosen_;
};

}  // namespace bert
