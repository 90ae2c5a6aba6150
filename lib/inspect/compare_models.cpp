#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/team.h"
#include "heads/classification.h"
#include "heads/masked_lm.h"
#include "heads/pooling.h"
#include "heads/question_answering.h"
#include "heads/token_classification.h"
#include "inspect/quantize.h"
#include "io/record_reader.h"
#include "tasks/answers.h"
#include "tokenizer/tokenizer.h"

namespace bert {
namespace {

constexpr size_t kBatchTokens = 512;

size_t largest(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

/// What a head answers to a line, as numbers that are compared as a whole.
using Reply = std::vector<float>;

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options)
      : options_(options),
        tokenizer_(Tokenizer::open(options.original)),
        config_(options.original.config()),
        team_(options.threads) {
    workspace_.linear.team = &team_;
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
        tokenizer_.encode(line, encode, lines_.emplace_back(), scratch);
        const size_t tab = line.find('\t');
        if (tab == line.npos || tab == 0 || line.size() == tab + 1) continue;
        const std::string_view context = contexts_.emplace_back(line.substr(tab + 1));
        tokenizer_.encode_pair(line.substr(0, tab), context, encode, questions_.emplace_back(),
                               scratch);
      }
    }
    if (lines_.empty())
      throw Error::of_field("files", "found no lines to compare on", Error::Kind::data);
  }

  Model open(bool original, const HeadChoice& head) const {
    if (original) return Model::open(options_.original, Precision::f32, head);
    // A head that was taken out stands without a name.
    return Model::open(options_.other, {}, options_.head.empty() ? head : HeadChoice{});
  }

  /// Calls use(line, hidden states of it [n, H]).
  void for_each_line(const Model& model, std::span<const Encoding> lines,
                     const std::function<void(size_t, ConstMatrix)>& use) {
    PackedBatch batch;
    for (size_t first = 0, last = 0; first < lines.size(); first = last) {
      batch.clear();
      do {
        batch.append(lines[last].input_ids, lines[last].token_type_ids);
        ++last;
      } while (last < lines.size() && batch.tokens() + lines[last].size() <= kBatchTokens);
      const Matrix hidden = model.forward(batch, workspace_);
      for (size_t i = first; i < last; ++i) {
        use(i, hidden.slice(batch.begin(i - first), batch.length(i - first)));
      }
    }
  }

  /// The sentence vectors [lines, H].
  std::vector<std::vector<float>> vectors(const Model& model) {
    std::vector<std::vector<float>> all(lines_.size(),
                                        std::vector<float>(model.config().hidden_size));
    for_each_line(model, lines_,
                  [&](size_t i, ConstMatrix tokens) { pool(Pooling::mean, tokens, all[i]); });
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
    std::vector<Encoding> masked;
    for (const Encoding& line : lines_) {
      if (line.range(0).size() == 0) continue;
      masked.push_back(line);
      masked.back().input_ids[line.size() / 2] = tokenizer_.mask_id();
    }
    const MaskedLM head = MaskedLM::open(model);
    std::vector<Reply> all(masked.size());
    for_each_line(model, masked, [&](size_t i, ConstMatrix tokens) {
      const size_t at[] = {masked[i].size() / 2};
      const Matrix logits = head.logits(tokens, at, workspace_);
      all[i] = {static_cast<float>(largest({logits.row(0), logits.cols}))};
    });
    return all;
  }

  /// The best label, or all that hold, of each line. Values have no equals: none.
  std::vector<Reply> labels(const Model& model) {
    const Classifier head = Classifier::open(model);
    if (head.regression()) return {};
    std::vector<Reply> all(lines_.size());
    for_each_line(model, lines_, [&](size_t i, ConstMatrix tokens) {
      PackedBatch alone;
      alone.append(lines_[i].input_ids, lines_[i].token_type_ids);
      const Matrix logits = head.logits(alone, tokens, workspace_);
      const std::span<const float> row(logits.row(0), logits.cols);
      if (head.normalization() == Normalization::softmax) {
        all[i] = {static_cast<float>(largest(row))};
      } else {
        for (const float x : row) all[i].push_back(x > 0);
      }
    });
    return all;
  }

  /// Where the best answer begins and ends.
  std::vector<Reply> spans(const Model& model) {
    const QuestionAnswering head = QuestionAnswering::open(model);
    AnswerFinder finder(1, kMaxAnswerLength);
    std::vector<Reply> all(questions_.size());
    for_each_line(model, questions_, [&](size_t i, ConstMatrix tokens) {
      const Matrix logits = head.logits(tokens, workspace_);
      std::vector<float> starts, ends;
      for (size_t t = 0; t < logits.rows; ++t) {
        starts.push_back(logits.row(t)[0]);
        ends.push_back(logits.row(t)[1]);
      }
      const std::span window(&questions_[i], 1);
      for (const Answer& a : finder.find(window, 1, starts, ends, contexts_[i]).best) {
        all[i] = {static_cast<float>(a.begin), static_cast<float>(a.end)};
      }
    });
    return all;
  }

  /// The best label of every token.
  std::vector<Reply> token_labels(const Model& model) {
    const TokenClassifier head = TokenClassifier::open(model);
    std::vector<Reply> all(lines_.size());
    TokenScorer scorer(head);
    PackedBatch batch;
    for (size_t i = 0; i < lines_.size(); ++i) {
      batch.clear();
      batch.append(lines_[i].input_ids, lines_[i].token_type_ids);
      const Matrix hidden = model.forward(batch, workspace_, scorer.options());
      const Matrix logits = scorer.logits(batch, hidden, workspace_);
      for (size_t t = 0; t < logits.rows; ++t) {
        all[i].push_back(static_cast<float>(largest({logits.row(t), logits.cols})));
      }
    }
    return all;
  }

  const CompareOptions& options_;
  Tokenizer tokenizer_;
  Config config_;
  Team team_;
  Workspace workspace_;
  std::vector<Encoding> lines_, questions_;
  std::vector<std::string> contexts_;  ///< of the questions
  std::vector<Agreement> results_;
};

}  // namespace

std::vector<Agreement> compare_models(const CompareOptions& options) {
  return Comparison(options).run();
}

}  // namespace bert
