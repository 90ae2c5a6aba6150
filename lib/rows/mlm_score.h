#pragma once

#include <string>
#include <vector>

#include "rows/mlm_worker.h"
#include "rows/score_summary.h"

namespace bert {

/// Which tokens are hidden while a token is scored.
enum class PllMetric {
  original,    ///< that token (Salazar et al. 2020)
  word_l2r,    ///< and the later tokens of its word (Kauf and Ivanova 2023)
  whole_word,  ///< all tokens of its word
};

/// per_word: the tokenizer's words; words: those between blanks; regions: spans of an extra field.
enum class ScoreOutput { total, per_token, per_word, words, regions, pair };

/// What a score is divided by.
enum class ScoreUnit { none, tokens, words };

struct MlmScoreOptions {
  PllMetric metric = PllMetric::original;
  ScoreOutput output = ScoreOutput::total;
  ScoreUnit normalize = ScoreUnit::none;
  double nats = 1;       ///< in the unit of the scores: ln of the base of their logarithm
  bool tokens = false;   ///< records are tokens
  bool context = false;  ///< an extra field stands before the text and is not scored
  bool group = false;    ///< an extra field (after the context) names the record's group
  bool against = false;  ///< an extra field, the last, has the choice of another model for a pair
  bool summary_only = false;  ///< no rows, only the summary

  size_t group_field() const { return context ? 1 : 0; }
  size_t last_field() const { return group_field() + (group ? 1 : 0); }
  /// Names of the columns of its rows, or of the summary's table.
  BERT_API std::vector<std::string> columns() const;
};

/// Scores texts with a masked language model: the pseudo-log-likelihood, the sum over the tokens of
/// ln P(token | the text with the token hidden). [CLS], [SEP] and [PAD] are never scored, nor are
/// masks that stand in the text.
class BERT_API MlmScoreWorker : public MlmWorker {
 public:
  /// `summary` is this worker's alone.
  MlmScoreWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                 const MlmScoreOptions& score, ScoreSummary& summary, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { queries_.use_team(team); }

 private:
  /// A text and where its scores are.
  struct Item {
    std::string joined;     ///< holds context and text
    std::string_view text;  ///< what was tokenized
    size_t text_begin = 0;  ///< bytes of context before the text
    TokenizedText tokens;
    size_t first_score = 0;
    size_t scores = 0;
    std::vector<Offset> parts;  ///< words between blanks, or regions: bytes of `text`
  };
  struct TokenScore {
    size_t token = 0;  ///< in the text
    int32_t id = 0;
    double logprob = 0;
  };
  struct Result {
    double pll = 0;  ///< normalized
    double sum = 0;
    size_t tokens = 0;
  };

  void prepare(const Record& record, std::string_view text, Item& item);
  void find_words(Item& item);
  void find_regions(const Record& record, Item& item);
  bool is_special(int32_t id) const;
  bool is_scored(const Item& item, size_t token) const;
  void list_tokens(Item& item);
  void ask(const Item& item);
  static bool is_context(const Item& item, size_t token);
  static size_t context_tokens(const Item& item);
  Result result_of(const Item& item) const;
  uint64_t unknown_in(const Item& item) const;
  size_t words_in(const Item& item) const;

  void write_text(const Record& record, const Item& item, Rows& rows);
  void write_pair(const Record& record, const Item& first, const Item& second, Rows& rows);
  void write_tokens(const Record& record, const Item& item, Rows& rows) const;
  template <typename Use>
  void for_each_word(const Item& item, Use use) const;
  void write_words(const Record& record, const Item& item, Rows& rows) const;
  double part_score(const Item& item, size_t part) const;
  template <typename Use>
  void for_each_part(const Item& item, Use use) const;
  void add_scores(const Item& item, Rows& rows) const;
  void count_other(const Record& record, bool right, ScoreSummary::Part& part) const;
  void check_other(const Record& record) const;
  ScoreSummary::Part& group_of(const Record& record);
  std::span<const TokenScore> scores_of(const Item& item) const {
    return {scores_.data() + item.first_score, item.scores};
  }

  const MlmScoreOptions score_;
  ScoreSummary& summary_;
  MaskQueries queries_;
  std::vector<Item> items_;
  std::vector<TokenScore> scores_;
  std::vector<int32_t> ids_;
  std::vector<WantedRow> wanted_;
};

}  // namespace bert
