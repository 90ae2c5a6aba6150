#include "trainers/vector_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "heads/pooling.h"
#include "metrics/metrics.h"
#include "nn/maxsim_loss.h"

namespace bert {
namespace {

double cosine_of(ConstMatrix x, size_t a, size_t b) {
  return cosine({x.row(a), x.cols}, {x.row(b), x.cols});
}

/// Texts of the same tokens are one: the number of each text's first occurrence.
std::vector<size_t> distinct(const VectorExamples& examples) {
  std::map<std::vector<int32_t>, size_t> seen;
  std::vector<size_t> number(examples.texts.size());
  for (size_t i = 0; i < number.size(); ++i) {
    number[i] = seen.try_emplace(examples.texts[i].input_ids, i).first->second;
  }
  return number;
}

/// What a search of the texts that belong to each first text finds.
struct Ranks {
  size_t queries = 0;
  double recall1 = 0, recall5 = 0, recall10 = 0, mrr = 0, ndcg = 0;

  /// `relevant`: whether each text of the ranking belongs to the query, best first.
  void add(const std::vector<bool>& relevant) {
    constexpr size_t kDepth = 10;
    size_t count = 0;
    double gain = 0, best_gain = 0;
    size_t first = relevant.size();
    for (size_t i = 0; i < relevant.size(); ++i) {
      const double discount = 1 / std::log2(static_cast<double>(i) + 2);
      if (relevant[i] && i < kDepth) gain += discount;
      if (relevant[i]) first = std::min(first, i);
      count += relevant[i];
    }
    for (size_t i = 0; i < std::min(count, kDepth); ++i) {
      best_gain += 1 / std::log2(static_cast<double>(i) + 2);
    }
    ++queries;
    recall1 += first < 1, recall5 += first < 5, recall10 += first < kDepth;
    if (first < kDepth) mrr += 1 / static_cast<double>(first + 1);
    if (best_gain > 0) ndcg += gain / best_gain;
  }
};

/// `similarity`: of a first text and another.
double score_ranking(const VectorExamples& examples,
                     const std::function<double(size_t, size_t)>& similarity, std::string& report) {
  const std::vector<size_t> number = distinct(examples);
  const size_t columns = examples.columns;
  std::map<size_t, std::vector<size_t>> wanted;  // of each first text: texts that belong to it
  std::vector<size_t> corpus;
  for (size_t i = 0; i < number.size(); ++i) {
    if (i % columns == 1) wanted[number[i - 1]].push_back(number[i]);
    if (i % columns >= 1) corpus.push_back(number[i]);
  }
  std::sort(corpus.begin(), corpus.end());
  corpus.erase(std::unique(corpus.begin(), corpus.end()), corpus.end());
  Ranks ranks;
  std::vector<std::pair<double, size_t>> found;
  for (const auto& [query, own] : wanted) {
    found.clear();
    for (const size_t text : corpus) {
      if (text != query) found.emplace_back(-similarity(query, text), text);
    }
    std::sort(found.begin(), found.end());
    std::vector<bool> relevant;
    for (const auto& [score, text] : found) {
      relevant.push_back(std::find(own.begin(), own.end(), text) != own.end());
    }
    ranks.add(relevant);
  }
  const auto n = static_cast<double>(ranks.queries);
  report = fmt::format(
      "queries\t{}\nrecall@1\t{}\nrecall@5\t{}\nrecall@10\t{}\nmrr@10\t{}\nndcg@10\t{}\n",
      ranks.queries, number_text(ranks.recall1 / n), number_text(ranks.recall5 / n),
      number_text(ranks.recall10 / n), number_text(ranks.mrr / n), number_text(ranks.ndcg / n));
  return ranks.mrr / n;
}

}  // namespace

std::string vector_metric(nn::VectorLoss loss) {
  switch (loss) {
    case nn::VectorLoss::ranking:
      return "mrr@10";
    case nn::VectorLoss::triplet:
      return "accuracy";
    case nn::VectorLoss::teacher:
      return "cosine";
    default:
      return "spearman";
  }
}

double vector_score(nn::VectorLoss loss, const VectorExamples& examples, ConstMatrix vectors,
                    std::string& report) {
  if (loss == nn::VectorLoss::ranking) {
    return score_ranking(
        examples, [&](size_t query, size_t text) { return cosine_of(vectors, query, text); },
        report);
  }
  const size_t records = examples.records(), columns = examples.columns;
  ValueMetrics values;
  double sum = 0;
  for (size_t r = 0; r < records; ++r) {
    const size_t first = r * columns;
    if (loss == nn::VectorLoss::triplet) {
      sum += cosine_of(vectors, first, first + 1) > cosine_of(vectors, first, first + 2);
    } else if (loss == nn::VectorLoss::teacher) {
      const float* wanted = examples.targets.data() + r * examples.target_width;
      sum += cosine({vectors.row(first), vectors.cols}, {wanted, vectors.cols});
    } else {
      values.add(r, static_cast<double>(examples.targets[r]), cosine_of(vectors, first, first + 1));
    }
  }
  if (columns == 2) {
    report = values.report();
    return values.spearman();
  }
  const double mean = sum / static_cast<double>(records);
  report = fmt::format("records\t{}\n{}\t{}\n", records, vector_metric(loss), number_text(mean));
  return mean;
}

void TokenScore::add(ConstMatrix vectors) {
  width_ = vectors.cols;
  for (size_t t = 0; t < vectors.rows; ++t) {
    vectors_.insert(vectors_.end(), vectors.row(t), vectors.row(t) + width_);
  }
  ends_.push_back(vectors_.size() / std::max<size_t>(width_, 1));
}

double TokenScore::value(std::string& report) {
  Buffer products;
  const auto tokens = [&](size_t text) {
    return ConstMatrix(vectors_.data() + ends_[text] * width_, ends_[text + 1] - ends_[text],
                       width_);
  };
  return score_ranking(
      examples_,
      [&](size_t query, size_t text) { return nn::maxsim(tokens(query), tokens(text), products); },
      report);
}

}  // namespace bert
