#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/joint_fill.h"
#include "rows/fill_plan.h"
#include "rows/fill_summary.h"
#include "rows/mlm_worker.h"

namespace bert {

/// Fills the masks of each record, or ranks candidates for them.
class BERT_API MlmFillWorker : public MlmWorker {
 public:
  /// `summary`, which may be nullptr, is this worker's alone.
  MlmFillWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                const FillPlan& plan, FillSummary* summary, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { queries_.use_team(team); }

 private:
  static constexpr size_t kNoTarget = SIZE_MAX;
  struct Candidate {
    std::vector<int32_t> pieces;
    double logprob = 0;  ///< what the probability column shows the exp of
    size_t target = kNoTarget;
  };
  /// A mask of a text, also of the part that is cut.
  struct Mask {
    Offset bytes;
    size_t before = 0;          ///< where the token before ends, or the text begins
    bool behind_blank = false;  ///< that no other token stands for
  };
  /// A mask that is filled.
  struct Gap : Mask {
    size_t item = 0;
    size_t token = 0;                   ///< index among the tokens that the model sees
    size_t index = 0;                   ///< among the masks of the text
    size_t puzzle = 0;                  ///< the window in which it is filled ...
    size_t slot = 0;                    ///< ... and which of its masks it is
    std::vector<Candidate> candidates;  ///< best first; with a truth: only that
    double entropy = 0;                 ///< with a truth: of the first piece's distribution
    size_t rank = 0;                    ///< with a truth: of its worst piece
    int32_t best = 0;                   ///< with a truth: the model's own choice
    bool unknown = false;               ///< with a truth: it has a piece that fills no mask
  };
  /// A record.
  struct Item {
    const Record* record = nullptr;
    std::string prompt;     ///< holds the text if there is a prompt
    std::string_view text;  ///< with the masks
    TokenizedText tokens;
    std::vector<Mask> masks;
    std::vector<FillPlan::Target> targets;  ///< words of its own field
    size_t first_gap = 0;
    size_t gaps = 0;
  };
  /// A window with the masks that are filled in it.
  struct Puzzle {
    std::vector<int32_t> input_ids;
    std::vector<size_t> positions;
    std::vector<size_t> gaps;
    size_t front = 0, back = 0;
  };
  struct Step {
    size_t gap;
    size_t candidate;
    size_t piece;
  };

  void prepare(const Record& record, Item& item);
  void read_targets(Item& item);
  const std::vector<FillPlan::Target>& targets_of(const Item& item) const;
  void find_masks(Item& item);
  void find_gaps(Item& item, size_t index);
  void read_truth(const Item& item);
  void add_puzzles(const Item& item);

  void fill_independently();
  void fill_together();
  void fill_with_pieces();
  void score_candidates();
  void judge(const Step& step, std::span<const float> logits);
  void ask_pieces(size_t gap, size_t candidate);
  JointProblem widened(const Puzzle& puzzle, size_t slot, size_t pieces) const;
  void calibrate();
  void rank_candidates(Gap& gap) const;

  void drop_unknown(const Item& item);
  void drop_non_finite(const Item& item);
  void count(const Item& item);
  void write_item(const Item& item, Rows& rows);
  void write_candidates(const Item& item, Rows& rows);
  void write_truth(const Item& item, Rows& rows);
  void write_labels(const Item& item, Rows& rows);
  void write_json(const Item& item, Rows& rows);
  void add_gap(const Item& item, const Gap& gap, JsonRow& json) const;
  std::string filled(const Item& item, size_t only, size_t rank) const;
  std::string token_text(const Item& item, const Candidate& candidate) const;
  void append_filling(std::string& out, const Item& item, const Candidate& candidate, bool beside,
                      size_t least) const;
  PieceJoin join_of(int32_t piece, bool beside) const;
  std::vector<std::pair<std::string_view, double>> label_scores(const Item& item) const;
  std::span<Gap> gaps_of(const Item& item) { return {gaps_.data() + item.first_gap, item.gaps}; }
  std::span<const Gap> gaps_of(const Item& item) const {
    return {gaps_.data() + item.first_gap, item.gaps};
  }

  const FillPlan& plan_;
  FillSummary* const summary_;
  MaskQueries queries_;
  Fillable fillable_;
  std::vector<Item> items_;
  TokenizedText whole_;  ///< a text that is cut, for the numbers of its masks
  std::vector<Gap> gaps_;
  std::vector<Puzzle> puzzles_;
  std::vector<Step> steps_;
  bool calibrated_ = false;
  std::vector<double> base_logprobs_;         ///< [V] of the calibration prompt
  std::vector<double> base_target_logprobs_;  ///< [targets]
  std::vector<int32_t> ids_;
  std::vector<WantedRow> wanted_;
  std::vector<ScoredId> top_;
};

}  // namespace bert
