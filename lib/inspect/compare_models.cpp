#include "inspect/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/team.h"
#include "inspect/compare_translations.h"
#include "io/record_reader.h"
#include "predict/answers.h"
#include "predict/labels.h"
#include "predict/masks.h"
#include "predict/token_labels.h"
#include "predict/vectors.h"
#include "seq2seq/reading_decoder.h"
#include "tokenizer/tokenizer.h"

namespace bert {
namespace {

size_t largest(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

const HeadChoice kNoName;

/// What a head answers to a line, as numbers that are compared as a whole.
using Reply = std::vector<float>;

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options)
      : options_(options),
        tokenizer_(Tokenizer::open(options.original)),
        config_(options.original.config()),
        team_(options.threads) {
    batcher_.use_team(&team_);
    read_lines();
  }

  std::vector<Agreement> run() {
    compare_vectors();
    if (!options_.head.empty()) {
      compare_named(*config_.find_head(options_.head));
      return results_;
    }
    for (const HeadKind kind :
         {HeadKind::masked_lm, HeadKind::classify, HeadKind::spans, HeadKind::tokens}) {
      const Checkpoint checkpoint = Checkpoint::open(options_.original);
      if (has_plain_head(checkpoint.config, checkpoint.weights, kind)) compare_head("", kind);
    }
    for (const NamedHead& head : config_.heads) compare_named(head);
    return results_;
  }

 private:
  void read_lines() {
    EncodeOptions encode;
    encode.max_length =
        std::min(config_.max_tokens(), tokenizer_.model_max_length().value_or(SIZE_MAX));
    RecordReader reader(options_.files, '\n');
    Tokenizer::Scratch scratch;
    for (Chunk chunk; reader.next(chunk, 1024, 1 << 20, [] { return Busy::none; });) {
      for (const std::string_view line : chunk.lines) {
        if (line.empty()) continue;
        tokenizer_.encode(line, encode, lines_.add(lines_.size()), scratch);
        const size_t tab = line.find('\t');
        if (tab == line.npos || tab == 0 || line.size() == tab + 1) continue;
        const std::string_view context = contexts_.emplace_back(line.substr(tab + 1));
        tokenizer_.encode_pair(line.substr(0, tab), context, encode,
                               questions_.windows.add(questions_.steps.size()), scratch);
        questions_.steps.push_back(1);
        questions_.contexts.push_back(context);
      }
    }
    if (lines_.size() == 0)
      throw Error::of_field("files", "found no lines to compare on", Error::Kind::data);
  }

  Model open(bool original, const HeadChoice& head) const {
    const ModelDirectory& directory = original ? options_.original : options_.other;
    const std::optional<Precision> dtype = original ? std::optional(Precision::f32) : std::nullopt;
    // A head that was taken out stands without a name.
    const HeadChoice& own = original || options_.head.empty() ? head : kNoName;
    Model model = Model::open(directory, dtype, own);
    if (config_.text_input == TextInput::last_end)
      model.read_with(open_reading_decoder(directory, dtype));
    return model;
  }

  /// The mean of the hidden states of each line [lines, H].
  std::vector<std::vector<float>> vectors(const Model& model) {
    const VectorPredictor predictor(tokenizer_, model, VectorPlan::make(model, {}, "mean", ""));
    VectorScratch scratch(predictor, {}, batcher_);
    const Matrix found = predictor.predict(lines_, lines_.size(), scratch);
    std::vector<std::vector<float>> all;
    for (size_t i = 0; i < found.rows; ++i)
      all.emplace_back(found.row(i), found.row(i) + found.cols);
    return all;
  }

  void compare_vectors() {
    const HeadChoice head{options_.head, {}};
    const auto a = vectors(open(true, head)), b = vectors(open(false, head));
    double sum = 0, least = 1;
    for (size_t i = 0; i < a.size(); ++i) {
      const double c = cosine(a[i], b[i]);
      sum += c;
      least = std::min(least, c);
    }
    results_.push_back({"cosine_mean", sum / static_cast<double>(a.size()), a.size()});
    results_.push_back({"cosine_min", least, a.size()});
  }

  /// `answers` is asked for both models; the share of equal ones.
  void add(const std::string& what, const HeadChoice& head,
           const std::function<std::vector<Reply>(const Model&)>& answers) {
    const std::vector<Reply> a = answers(open(true, head)), b = answers(open(false, head));
    if (a.empty()) return;
    size_t same = 0;
    for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
    results_.push_back({what, static_cast<double>(same) / static_cast<double>(a.size()), a.size()});
  }

  void compare_named(const NamedHead& head) {
    if (const HeadSpec* spec = head_of_task(head.task)) compare_head(head.name, spec->kind);
  }

  void compare_head(const std::string& name, HeadKind kind) {
    const std::string_view tools = head_spec(kind).tools;
    const std::string what =
        fmt::format("{}{}{}", tools.substr(0, tools.find(',')), name.empty() ? "" : " ", name);
    const HeadChoice head{name, name.empty() ? std::nullopt : std::optional(kind)};
    if (kind == HeadKind::classify) {
      add(what, head, [&](const Model& model) { return labels(model); });
    } else if (kind == HeadKind::spans) {
      add(what, head, [&](const Model& model) { return spans(model); });
    } else if (kind == HeadKind::tokens) {
      add(what, head, [&](const Model& model) { return token_labels(model); });
    } else if (kind == HeadKind::masked_lm) {
      add(what, head, [&](const Model& model) { return fills(model); });
    }
  }

  /// The best word for the token in the middle of each line, which is masked.
  std::vector<Reply> fills(const Model& model) {
    if (tokenizer_.mask_id() < 0) return {};
    const MaskedLM head = MaskedLM::open(model);
    std::vector<Reply> all;
    MaskQueries queries(model, head, kBatchTokens);
    queries.use_team(&team_);
    queries.start([&](size_t, std::span<const float> logits) {
      all.push_back({static_cast<float>(largest(logits))});
    });
    for (const Encoding& line : lines_.encodings()) {
      if (line.range(0).size() == 0) continue;
      std::vector<int32_t> ids = line.input_ids;
      const WantedRow middle{ids.size() / 2, 0};
      ids[middle.position] = tokenizer_.mask_id();
      queries.ask(ids, {&middle, 1});
    }
    queries.finish();
    return all;
  }

  /// The best label, or all that hold, of each line. Values have no equals: none.
  std::vector<Reply> labels(const Model& model) {
    const LabelPredictor predictor(model, true);
    if (predictor.head().regression()) return {};
    LabelScores scores;
    predictor.predict(lines_, lines_.size(), batcher_, scores);
    std::vector<Reply> all(lines_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (predictor.head().normalization() == Normalization::softmax) {
        all[i] = {static_cast<float>(largest(scores[i]))};
      } else {
        for (const float x : scores[i]) all[i].push_back(x > 0);
      }
    }
    return all;
  }

  /// Where the best answer begins and ends.
  std::vector<Reply> spans(const Model& model) {
    const AnswerPredictor predictor(tokenizer_, model);
    AnswerFinder finder(1, task_spec(TaskKind::question_answering).max_answer_length);
    std::vector<Reply> all(questions_.windows.size());
    predictor.predict(questions_, finder, batcher_, [&](size_t i, const Answers& answers) {
      for (const Answer& a : answers.best) {
        all[i] = {static_cast<float>(a.begin), static_cast<float>(a.end)};
      }
    });
    return all;
  }

  /// The best label of every token.
  std::vector<Reply> token_labels(const Model& model) {
    const TokenLabelPredictor predictor(tokenizer_, model);
    TokenScorer scorer(predictor.head());
    std::vector<Reply> all(lines_.size());
    predictor.for_each_batch(
        lines_.encodings(), scorer, batcher_,
        [&](size_t first, const PackedBatch& batch, Matrix logits) {
          for (size_t t = 0, s = 0; t < logits.rows; ++t) {
            while (t >= batch.begin(s) + batch.length(s)) ++s;
            all[first + s].push_back(static_cast<float>(largest({logits.row(t), logits.cols})));
          }
        });
    return all;
  }

  const CompareOptions& options_;
  Tokenizer tokenizer_;
  Config config_;
  Team team_;
  Batcher batcher_;
  Sequences lines_;
  Questions questions_;
  std::deque<std::string> contexts_;  ///< texts that the questions view
  std::vector<Agreement> results_;
};

}  // namespace

std::vector<Agreement> compare_models(const CompareOptions& options) {
  if (options.original.translates()) return compare_translations(options);
  return Comparison(options).run();
}

}  // namespace bert
