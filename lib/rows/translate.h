#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/translation_languages.h"
#include "rows/task_worker.h"
#include "seq2seq/decoder.h"
#include "seq2seq/search.h"
#include "tokenizer/translation_tokenizers.h"

namespace bert {

struct TranslateOptions {
  /// What is written of each record: its target; the best targets with their log-probabilities;
  /// what target tokens looked at; how they did so, step by step.
  enum class Show { text, best, align, trace };
  Show show = Show::text;
  size_t top_k = 1;     ///< targets of a record
  bool forced = false;  ///< the target is given: extra[0]
  bool cache = true;    ///< SearchOptions::cache
  /// Names of languages as the tokenizer has them; "": as the files say. `languages_field`: the
  /// last extra field of a record says its own (TranslationLanguages::read).
  std::string source_language, target_language;
  bool languages_field = false;
  // What prevails over the model's generation_config.json. Without `beam`, the beams are top_k if
  // that is more than the model's.
  std::optional<size_t> beam, max_new_tokens;
  std::optional<double> length_penalty;
  std::vector<size_t> layers, heads;  ///< from 1; of align and trace

  bool looks() const { return show == Show::align || show == Show::trace; }
  /// The columns of the rows.
  BERT_API std::vector<std::string> columns() const;
  /// How the model is asked. Throws Error(usage) if there are fewer beams than top_k.
  GenerationConfig generation(const Seq2Seq& model) const;
};

/// Translates each record: reads its text, and writes the target that the model finds (Vaswani et
/// al. 2017; Sutskever et al. 2014), token by token until the end token comes. The record's
/// log-probability is that of all tokens of the target, with the end token. A record without a text
/// has no target, unless one is given: models write some sentence for it.
class BERT_API TranslateWorker : public TaskWorker {
 public:
  /// Borrows the tokenizers and the model. Throws Error(usage) for windows, and for align and trace
  /// of a model that looks at nothing.
  TranslateWorker(const TranslationTokenizers& tokenizers, const Seq2Seq& model,
                  const TranslateOptions& translate, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override;

 private:
  /// A target of a text.
  struct Found {
    size_t record = 0, rank = 0;  ///< record: in texts_
    std::vector<int32_t> ids;
    bool finite = true;
  };
  /// Encodes the records that have a text; texts_ are these.
  void encode_texts(std::span<const Record> records);
  LanguagePair languages_of(const Record& record) const;
  TextReader& reader_of(int32_t source);
  const Tokenizer& target_tokenizer(int32_t target);
  void search_languages();
  void search(std::span<const Record> records);
  void read_targets(std::span<const Record> records);
  /// Log-probabilities of all targets, and what their tokens looked at.
  void force(const AttentionTrace* trace);
  /// The targets [first, last) of found_, which are the record's.
  void write_targets(const Record& record, size_t first, size_t last, Rows& rows);
  void write_json(const Record& record, size_t first, size_t last, Rows& rows);
  void write_view(const Record& record, const Found& found, const AttentionView& view, Rows& rows);
  void write_align(const Record& record, const Found& found, const AttentionView& view,
                   Rows& rows) const;
  void write_trace(const Record& record, const Found& found, const AttentionView& view,
                   Rows& rows) const;
  std::string text(const Found& found) const;
  bool needs_probabilities() const;

  const TranslationTokenizers& tokenizers_;
  const Seq2Seq& seq2seq_;
  const TranslateOptions translate_;
  const GenerationConfig generation_;
  const TranslationLanguages languages_;
  /// Those of each language, made at its first text.
  struct Source {
    Tokenizer tokenizer;
    TextReader reader;
    Source(Tokenizer own, const ReadOptions& options)
        : tokenizer(std::move(own)), reader(tokenizer, options) {}
  };
  std::map<int32_t, std::unique_ptr<Source>> sources_of_;
  std::map<int32_t, Tokenizer> targets_of_;
  std::map<int32_t, std::unique_ptr<Search>> searches_;
  Team* team_ = nullptr;
  std::vector<Found> found_;  ///< record by record, best first
  std::vector<std::vector<Target>> targets_;
  std::vector<double> log_probabilities_;  ///< log-probabilities of found_, if needed
  std::vector<Record> texts_;              ///< the records of the chunk that have a text
  std::vector<LanguagePair> pairs_;        ///< their languages
  PackedBatch sources_;                    ///< sources of texts_
};

}  // namespace bert
