#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predict/states.h"
#include "rows/task_worker.h"

namespace bert {

struct AttendOptions {
  enum class Show { weights, outputs, stats };
  std::vector<size_t> layers;  ///< 1 .. L; not empty
  std::vector<size_t> heads;   ///< 1 .. A
  std::string from;            ///< only what tokens of this text look at; empty: all
  size_t most = 0;             ///< weights of each row that are written, the largest; 0: all
  Show show = Show::weights;
  bool scores = false;  ///< beside the weights the scores that they are the softmax of
  /// Words instead of tokens: see AttendWorker; not with scores, not for stats.
  bool words = false;

  /// Names of the columns of its rows. D: numbers of an output.
  BERT_API std::vector<std::string> columns(size_t D) const;
};

/// How the attention of a head is spread: means over the tokens that attend. The shares are of all
/// their weight, so that a token without a neighbour has 0 for it.
struct AttentionStats {
  double entropy = 0;   ///< entropy of the weights, in nats: 0 to log n
  double distance = 0;  ///< tokens between the two, weighted
  double self = 0, previous = 0, next = 0;
  double cls = 0, sep = 0;  ///< tokens that stand around texts: those before, those behind

  void cells(Cells& c) const {
    c.number("entropy", entropy).number("distance", distance).number("self", self);
    c.number("previous", previous).number("next", next).number("cls", cls).number("sep", sep);
  }
};

/// What attention does with each record, in each layer and head (Vaswani et al. 2017): the weights
/// softmax(Q K^T / sqrt(D)), one row per pair of tokens, or with JSON one matrix [n, n]; or the
/// head's outputs, weights times V, one row [D] per token; or one row of statistics. All are
/// computed in float, whatever the precision of the model.
///
/// A word is its pieces together: what it looks at is the mean over its pieces, what looks at it
/// their sum, so that weights stay shares. Special tokens around the text are no words, and nothing
/// is scaled in their place: the weights of a word sum to less than 1, by what goes to them.
class BERT_API AttendWorker : public TaskWorker {
 public:
  /// Throws Error(usage) for windows, of which each would have weights of its own.
  AttendWorker(const Tokenizer& tokenizer, const Model& model, const AttendOptions& attend,
               const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  /// What a row is about: a token, or a word, which is tokens [begin, end).
  struct Unit {
    size_t index, begin, end;
    std::string_view text;
  };

  void find_units(const Record& record, const Encoding& encoding);
  bool shown(const Unit& unit) const { return attend_.from.empty() || unit.text == attend_.from; }
  /// Takes one matrix of a head, and writes what is complete with it.
  void take(const Record& record, const Encoding& encoding, const TraceView& view, Rows& rows);
  ConstMatrix merged(ConstMatrix weights);
  ConstMatrix averaged(ConstMatrix outputs);
  AttentionStats stats(const Encoding& encoding, ConstMatrix weights, size_t& count) const;

  void begin_object(const Record& record, Rows& rows) const;
  void write_json(const TraceView& view, ConstMatrix values, Rows& rows) const;
  void write_weights(const Record& record, const TraceView& view, ConstMatrix weights, Rows& rows);
  void write_outputs(const Record& record, const TraceView& view, ConstMatrix outputs,
                     Rows& rows) const;
  void write_stats(const Record& record, const Encoding& encoding, const TraceView& view,
                   Rows& rows) const;

  const Model& model_;
  const AttendOptions attend_;
  AttentionRequest request_;
  std::vector<int32_t> before_, after_;  ///< ids of the special tokens around a text
  std::vector<int32_t> words_;           ///< scratch of number_words
  std::vector<Unit> units_;              ///< tokens or words of the record
  std::vector<size_t> order_;            ///< indices of the units that are looked at
  Buffer scores_, merged_;
  ConstMatrix kept_scores_;  ///< [n, n] of the head whose weights come next
  bool sound_ = true;        ///< whether all numbers of the record are such
};

}  // namespace bert
