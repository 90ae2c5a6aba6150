#include "inspect/compare_translations.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"
#include "io/record_reader.h"
#include "predict/opened_translator.h"
#include "predict/translation_languages.h"
#include "seq2seq/forced.h"
#include "seq2seq/search.h"

namespace bert {
namespace {

OpenedTranslator open(const ModelDirectory& directory, std::optional<Precision> dtype) {
  TaskRequest request;
  request.directory = directory;
  request.dtype = dtype;
  return OpenedTranslator(request);
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options)
      : options_(options),
        original_(open(options.original, Precision::f32)),
        other_(open(options.other, {})),
        languages_(original_.tokenizers(), original_.model().generation(), "", ""),
        generation_(languages_.settle(original_.model().generation(), languages_.usual().target)),
        team_(options.threads) {
    generation_.max_length =
        std::min(generation_.max_length, original_.model().max_target_tokens());
    read_lines();
  }

  std::vector<Agreement> run() {
    const auto first = targets(original_), second = targets(other_);
    size_t same = 0;
    for (size_t i = 0; i < first.size(); ++i) same += first[i] == second[i];
    const auto a = log_probabilities(original_, first), b = log_probabilities(other_, first);
    double sum = 0, most = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double off =
          std::abs(a[i] - b[i]) / static_cast<double>(std::max<size_t>(1, first[i].size()));
      sum += off;
      most = std::max(most, off);
    }
    const auto lines = static_cast<double>(first.size());
    return {{"translate", static_cast<double>(same) / lines, first.size()},
            {"logprob_mean", sum / lines, first.size()},
            {"logprob_max", most, first.size()}};
  }

 private:
  void read_lines() {
    const Tokenizer tokenizer = languages_.source_tokenizer(languages_.usual().source);
    TextReader texts(tokenizer, original_.reading());
    Sequences sequences;
    RecordReader reader(options_.files, '\n');
    for (Chunk chunk; reader.next(chunk, 1024, 1 << 20, [] { return Busy::none; });) {
      for (const std::string_view line : chunk.lines) {
        if (line.empty()) continue;
        sequences.clear();
        texts.read({line.substr(0, line.find('\t'))}, 0, sequences);
        if (sequences[0].size() == 0) continue;
        sources_.append(sequences[0].input_ids, sequences[0].token_type_ids);
      }
    }
    if (sources_.sequences() == 0)
      throw Error::of_field("files", "found no lines to compare on", Error::Kind::data);
  }

  /// The best target of each line; empty where the model computes no numbers.
  std::vector<std::vector<int32_t>> targets(const OpenedTranslator& opened) {
    Search search(opened.model(), generation_, {});
    search.use_team(&team_);
    std::vector<std::vector<Target>> found;
    search.run(sources_, found);
    std::vector<std::vector<int32_t>> ids;
    for (const std::vector<Target>& best : found)
      ids.push_back(best.empty() ? std::vector<int32_t>() : best[0].ids);
    return ids;
  }

  std::vector<double> log_probabilities(const OpenedTranslator& opened,
                                        const std::vector<std::vector<int32_t>>& of) {
    const std::vector<int32_t> starts(of.size(), generation_.start);
    std::vector<double> values;
    force_targets(opened.model(), sources_, of, values, &team_, nullptr, starts);
    return values;
  }

  const CompareOptions& options_;
  const OpenedTranslator original_, other_;
  const TranslationLanguages languages_;
  GenerationConfig generation_;
  Team team_;
  PackedBatch sources_;
};

}  // namespace

std::vector<Agreement> compare_translations(const CompareOptions& options) {
  return Comparison(options).run();
}

}  // namespace bert
