// Models that write tokens against transformers' in fp64, and against themselves: a target's bits
// are the same however it is computed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "base/team.h"
#include "golden.h"
#include "seq2seq/forced.h"
#include "seq2seq/recomputed.h"
#include "seq2seq/search.h"

using namespace bert;
using bert::test::Golden;
using bert::test::golden_model;

namespace {

constexpr const char* kModels[] = {"marian", "marian-own", "bert2bert", "bert2roberta",
                                   "bart",   "mbart",      "pegasus",   "m2m100",
                                   "t5",     "t5-gated",   "mt5",       "umt5"};

using Ids = std::vector<int32_t>;

std::vector<Ids> lists(const Golden& golden, const std::string& name, const std::string& ends) {
  const Ids ids = golden.ints(name), cuts = golden.ints(ends);
  std::vector<Ids> all;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    all.emplace_back(ids.begin() + cuts[i], ids.begin() + cuts[i + 1]);
  }
  return all;
}

PackedBatch batch_of(std::span<const Ids> sequences) {
  PackedBatch batch;
  for (const Ids& ids : sequences) batch.append(ids, Ids(ids.size(), 0));
  return batch;
}

struct Fixture {
  explicit Fixture(const std::string& name, std::optional<Precision> precision = {})
      : golden(name),
        model(Seq2Seq::open(golden_model(name), precision)),
        sources(lists(golden, "input_ids", "cu_seq_lens")),
        targets(lists(golden, "target_ids", "cu_target_lens")) {}

  size_t width() const { return model->output().width(); }
  /// What the decoder's rows are with all targets taught together.
  std::vector<float> taught(Team* team = nullptr, const AttentionTrace* trace = nullptr) const {
    const PackedBatch inputs = batch_of(targets);
    std::vector<float> rows(inputs.tokens() * width());
    model->teach(batch_of(sources), inputs, Matrix(rows.data(), inputs.tokens(), width()), team,
                 trace);
    return rows;
  }

  Golden golden;
  std::unique_ptr<Seq2Seq> model;
  std::vector<Ids> sources, targets;
};

/// The same rows, step by step: all targets live together, and leave when they end.
std::vector<float> stepped(const Fixture& fixture, Decoding& decoding) {
  const auto& targets = fixture.targets;
  const size_t width = fixture.width();
  std::vector<size_t> begins{0}, live;
  for (const Ids& target : targets) begins.push_back(begins.back() + target.size());
  std::vector<float> rows(begins.back() * width);
  decoding.add(batch_of(fixture.sources));
  for (size_t s = 0; s < targets.size(); ++s) live.push_back(s);
  for (size_t t = 0; !live.empty(); ++t) {
    std::vector<size_t> kept, going;
    for (size_t i = 0; i < live.size(); ++i) {
      if (t == targets[live[i]].size()) continue;
      kept.push_back(i);
      going.push_back(live[i]);
    }
    decoding.select(kept);
    live = going;
    if (live.empty()) break;
    Ids tokens;
    for (const size_t s : live) tokens.push_back(targets[s][t]);
    std::vector<float> hidden(live.size() * width);
    decoding.step(tokens, Matrix(hidden.data(), live.size(), width));
    for (size_t i = 0; i < live.size(); ++i) {
      std::copy_n(&hidden[i * width], width, &rows[(begins[live[i]] + t) * width]);
    }
  }
  return rows;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<Ids> searched(const Fixture& fixture, size_t beams, const SearchOptions& options,
                          std::vector<float>* scores = nullptr, Team* team = nullptr) {
  GenerationConfig config = fixture.model->generation();
  config.num_beams = beams;
  config.max_length = 15;
  Search search(*fixture.model, config, options);
  search.use_team(team);
  std::vector<std::vector<Target>> found;
  search.run(batch_of(fixture.sources), found);
  std::vector<Ids> all;
  for (const auto& targets : found) {
    for (const Target& target : targets) {
      all.push_back(target.ids);
      if (scores) scores->push_back(target.score);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("Logits of forced targets are transformers' in fp64") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const Fixture fixture(name);
    const std::vector<float> rows = fixture.taught();
    const size_t count = rows.size() / fixture.width(), size = fixture.model->output().size();
    std::vector<float> logits(count * size);
    LinearScratch scratch;
    fixture.model->output().logits({rows.data(), count, fixture.width()},
                                   Matrix(logits.data(), count, size), scratch);
    const std::vector<double> wanted = fixture.golden.doubles("logits");
    REQUIRE(wanted.size() == logits.size());
    double worst = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      worst = std::max(worst, std::abs(double{logits[i]} - wanted[i]));
    }
    CHECK(worst < 5e-5);
  }
}

TEST_CASE("Cached, recomputed and taught rows have the same bits, in any batch and with a team") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const Fixture fixture(name);
    const std::vector<float> taught = fixture.taught();
    CHECK(same_bits(taught, stepped(fixture, *fixture.model->start())));
    CHECK(same_bits(taught, stepped(fixture, *recomputed_decoding(*fixture.model))));
    Team team(3);
    CHECK(same_bits(taught, fixture.taught(&team)));
    std::vector<float> alone;
    for (size_t s = 0; s < fixture.sources.size(); ++s) {
      Fixture one(name);
      one.sources = {fixture.sources[s]};
      one.targets = {fixture.targets[s]};
      const std::vector<float> rows = stepped(one, *one.model->start());
      alone.insert(alone.end(), rows.begin(), rows.end());
    }
    CHECK(same_bits(taught, alone));
  }
}

TEST_CASE("A later token of a target changes no earlier row") {
  for (const std::string name : kModels) {
    Fixture fixture(name);
    const std::vector<float> before = fixture.taught();
    for (Ids& target : fixture.targets) target.back() = target.back() == 5 ? 6 : 5;
    const std::vector<float> after = fixture.taught();
    size_t row = 0, changed = 0;
    for (const Ids& target : fixture.targets) {
      for (size_t t = 0; t < target.size(); ++t, ++row) {
        const bool same = std::memcmp(&before[row * fixture.width()], &after[row * fixture.width()],
                                      fixture.width() * sizeof(float)) == 0;
        if (t + 1 < target.size()) CHECK(same);
        changed += !same;
      }
    }
    CHECK(changed == fixture.targets.size());
  }
}

TEST_CASE("Greedy and beam search find transformers' targets") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const Fixture fixture(name);
    const auto greedy = lists(fixture.golden, "greedy", "cu_greedy");
    const auto beams = lists(fixture.golden, "beams", "cu_beams");
    const std::vector<double> wanted = fixture.golden.doubles("scores");
    SearchOptions options;
    CHECK(searched(fixture, 1, options) == greedy);
    options.best = 4;
    std::vector<float> scores;
    CHECK(searched(fixture, 4, options, &scores) == beams);
    REQUIRE(scores.size() == wanted.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      CHECK(double{scores[i]} == doctest::Approx(wanted[i]).epsilon(2e-5));
    }
    // Few places, so that sources wait; all prefixes again at each step; threads.
    options.max_rows = 5;
    CHECK(searched(fixture, 4, options) == beams);
    options.cache = false;
    CHECK(searched(fixture, 4, options) == beams);
    Team team(2);
    options.cache = true;
    CHECK(searched(fixture, 4, options, nullptr, &team) == beams);
  }
}

TEST_CASE("A decoder's attention to its source is transformers'") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const Fixture fixture(name);
    const size_t last = fixture.model->attention_layers() - 1;
    std::vector<float> weights;
    AttentionTrace trace;
    trace.wants = [&](size_t layer, size_t) { return layer == last; };
    trace.show = [&](const AttentionView& view) {
      CHECK(view.weights.rows == fixture.targets[view.sequence].size());
      CHECK(view.weights.cols == fixture.sources[view.sequence].size());
      for (size_t row = 0; row < view.weights.rows; ++row) {
        const float* values = view.weights.row(row);
        weights.insert(weights.end(), values, values + view.weights.cols);
        double sum = 0, normal = 0;
        for (size_t i = 0; i < view.weights.cols; ++i) {
          sum += double{values[i]};
          normal += std::exp(double{view.scores.row(row)[i]} - double{view.scores.row(row)[0]});
        }
        CHECK(sum == doctest::Approx(1).epsilon(1e-5));
        CHECK(double{values[0]} == doctest::Approx(1 / normal).epsilon(1e-4));
      }
    };
    fixture.taught(nullptr, &trace);
    const std::vector<double> wanted = fixture.golden.doubles("attention");
    REQUIRE(wanted.size() == weights.size());
    double worst = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      worst = std::max(worst, std::abs(double{weights[i]} - wanted[i]));
    }
    CHECK(worst < 2e-5);
  }
}

TEST_CASE("The log-probability of a target is the sum over its tokens") {
  const Fixture fixture("marian");
  const auto targets = lists(fixture.golden, "greedy", "cu_greedy");
  std::vector<double> all;
  force_targets(*fixture.model, batch_of(fixture.sources), targets, all);
  const std::vector<double> logits = fixture.golden.doubles("logits");
  const size_t size = fixture.model->output().size();
  size_t row = 0;
  for (size_t s = 0; s < targets.size(); ++s) {
    double wanted = 0;
    for (size_t t = 0; t < fixture.targets[s].size(); ++t, ++row) {
      const double* values = &logits[row * size];
      double sum = 0;
      for (size_t v = 0; v < size; ++v) sum += std::exp(values[v]);
      if (t < targets[s].size()) wanted += values[targets[s][t]] - std::log(sum);
    }
    CHECK(all[s] == doctest::Approx(wanted).epsilon(1e-5));
    std::vector<double> alone;
    force_targets(*fixture.model, batch_of({&fixture.sources[s], 1}), {&targets[s], 1}, alone);
    CHECK(alone[0] == all[s]);
  }
}

TEST_CASE("Narrow products find nearly the same rows, and rows are the same bits") {
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const Fixture exact("marian"), narrow("marian", precision);
    const std::vector<float> a = exact.taught(), b = narrow.taught();
    CHECK(same_bits(b, stepped(narrow, *narrow.model->start())));
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(double{a[i]} - double{b[i]}, 2);
      size += std::pow(double{a[i]}, 2);
    }
    CHECK(std::sqrt(difference / size) < 0.1);  // of 24 values: all in one group of int8
    CHECK(difference > 0);
  }
}

namespace {

std::vector<float> drawn(uint64_t seed, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(mix(seed, i) >> 40) * 0x1p-23f - 1;  // -1 to 1
  }
  return values;
}

}  // namespace

TEST_CASE("The best token by a screen of int8 is that of all floats, to the bit") {
  constexpr size_t kVocabulary = 3001, kWidth = 72, kRows = 40;
  std::vector<float> weights = drawn(1, kVocabulary * kWidth);
  // Tokens that are nearly alike: only floats tell which is the best.
  for (size_t i = 0; i < kWidth; ++i) {
    weights[700 * kWidth + i] = weights[2900 * kWidth + i] * (1 + 1e-7f);
    weights[701 * kWidth + i] = weights[2900 * kWidth + i];
  }
  const std::vector<float> bias = drawn(2, kVocabulary);
  std::vector<float> hidden = drawn(3, kRows * kWidth);
  std::copy_n(&weights[2900 * kWidth], kWidth, hidden.data());
  std::fill_n(&hidden[kWidth], kWidth, 0.f);
  hidden[2 * kWidth] = std::numeric_limits<float>::quiet_NaN();
  const ConstMatrix rows(hidden.data(), kRows, kWidth);
  const WeightRef weight{reinterpret_cast<const std::byte*>(weights.data()), DType::f32,
                         kVocabulary, kWidth};
  for (const bool biased : {false, true}) {
    const OutputLayer layer(weight, biased ? bias : std::vector<float>(), Precision::f32);
    std::vector<std::vector<int32_t>> banned(kRows);
    for (size_t r = 0; r < kRows; r += 3) banned[r] = {2900, 5};
    CandidateRequest one, two;
    two.count = 2;
    one.banned = two.banned = banned;
    Team team(2);
    OutputScratch scratch;
    Candidates exact;
    layer.best(rows, two, exact, scratch);
    for (int round = 0; round < 5; ++round) {  // the screen comes after some rows
      Candidates found;
      scratch.team = round % 2 ? &team : nullptr;
      layer.best(rows.slice(0, round < 4 ? kRows : 2), one, found, scratch);
      for (size_t r = 0; r < found.rows.size(); ++r) {
        CAPTURE(r);
        REQUIRE(found.rows[r].empty() == exact.rows[r].empty());
        if (found.rows[r].empty()) continue;
        CHECK(found.rows[r][0].id == exact.rows[r][0].id);
        CHECK(found.rows[r][0].logit == exact.rows[r][0].logit);
      }
    }
  }
}
