#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/random.h"
#include "predict/joint_fill.h"
#include "rows/mlm_fill.h"
#include "rows/mlm_mask.h"
#include "rows/mlm_score.h"
#include "tokenizer/masking.h"

using namespace bert;

namespace {

const std::string kTiny = std::string(BERT_TESTS_DIR) + "/golden/tiny-bert";

struct Lab {
  Tokenizer tokenizer = Tokenizer::open(kTiny);
  Model model = Model::open(kTiny);
  MaskedLM head = MaskedLM::open(model);
  Workspace workspace;
  Tokenizer::Scratch scratch;

  int32_t id(std::string_view token) const { return tokenizer.token_to_id(token).value(); }

  std::vector<int32_t> ids(std::initializer_list<const char*> tokens) const {
    std::vector<int32_t> out{tokenizer.cls_id()};
    for (const char* token : tokens) out.push_back(id(token));
    out.push_back(tokenizer.sep_id());
    return out;
  }

  /// ln P over the vocabulary at `position`, from the whole model, naively.
  std::vector<double> logprobs(const std::vector<int32_t>& ids, size_t position) {
    PackedBatch batch;
    batch.append(ids, std::vector<int32_t>(ids.size(), 0));
    const Matrix hidden = model.forward(batch, workspace);
    const Matrix logits = head.logits(hidden, {&position, 1}, workspace);
    double sum = 0;
    for (size_t i = 0; i < logits.cols; ++i) sum += std::exp(double{logits.row(0)[i]});
    std::vector<double> out(logits.cols);
    for (size_t i = 0; i < logits.cols; ++i) out[i] = logits.row(0)[i] - std::log(sum);
    return out;
  }

  TaskOptions options() const {
    TaskOptions options;
    options.encode.max_length = 64;
    return options;
  }
};

Lab& lab() {
  static Lab shared;
  return shared;
}

Record record_of(const std::string& text, uint64_t number = 1) {
  static const std::string file = "test";
  Record record;
  record.line = text;
  record.text = text;
  record.number = record.number_in_file = number;
  record.file = &file;
  return record;
}

double pll_of(const std::string& text, PllMetric metric) {
  MlmScoreOptions score;
  score.metric = metric;
  ScoreSummary summary;
  TaskOptions options = lab().options();
  MlmScoreWorker worker(lab().tokenizer, lab().model, lab().head, score, summary, options);
  Rows rows;
  const Record record = record_of(text);
  worker.run({&record, 1}, rows);
  return std::stod(rows.bytes());
}

}  // namespace

TEST_CASE("Philox 4x32-10 gives the authors' known answers") {
  using Words = std::array<uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("masking rates hold within 3 sigma over a million tokens") {
  for (const bool whole_word : {false, true}) {
    MaskingOptions options;
    options.whole_word = whole_word;
    const Masking masking(lab().tokenizer, options);
    Encoding encoding;
    FramedText framed(lab().tokenizer.frame(), encoding);
    for (int i = 0; i < 100; ++i) framed.push(lab().id("cat"), {}, i);
    framed.finish();
    std::vector<MaskedToken> chosen;
    double counts[3] = {0, 0, 0};
    size_t out_of_place = 0, same = 0;
    const double tokens = 1e6;
    for (uint64_t record = 0; record < 10000; ++record) {
      masking.choose(encoding, record, chosen);
      for (const MaskedToken& token : chosen) {
        ++counts[static_cast<int>(token.kind)];
        out_of_place += token.position == 0 || token.position > 100;
        same += token.kind == MaskKind::random && token.corrupted == token.original;
      }
    }
    CHECK(out_of_place == 0);
    const double rates[3] = {0.12, 0.015, 0.015};
    for (int kind = 0; kind < 3; ++kind) {
      const double sigma = std::sqrt(tokens * rates[kind] * (1 - rates[kind]));
      CHECK(std::abs(counts[kind] - tokens * rates[kind]) < 3 * sigma);
    }
    CHECK(same > 0);    // drawn from the whole vocabulary, the token itself included
    CHECK(same < 400);  // one of 137
  }
}

TEST_CASE("draws do not depend on order, on rates of others, or on what was drawn before") {
  const Masking masking(lab().tokenizer, {});
  Encoding encoding;
  lab().tokenizer.encode("the cat sat on the mat and the dogs ran playing to the city",
                         lab().options().encode, encoding, lab().scratch);
  std::vector<MaskedToken> first, again;
  std::set<std::vector<size_t>> patterns;
  for (uint64_t record : {7u, 1u, 3u, 7u}) {
    masking.choose(encoding, record, again);
    if (first.empty()) first = again;
    std::vector<size_t> pattern;
    for (const MaskedToken& token : again) pattern.push_back(token.position);
    patterns.insert(pattern);
  }
  REQUIRE(first.size() == again.size());
  for (size_t i = 0; i < first.size(); ++i) CHECK(first[i].corrupted == again[i].corrupted);
  CHECK(patterns.size() == 3);
}

TEST_CASE("whole-word masking never splits a word") {
  MaskingOptions options;
  options.whole_word = true;
  options.mlm_probability = 0.5;
  const Masking masking(lab().tokenizer, options);
  Encoding encoding;
  lab().tokenizer.encode("playings dogs walked qxz", lab().options().encode, encoding,
                         lab().scratch);
  std::vector<MaskedToken> chosen;
  for (uint64_t record = 0; record < 200; ++record) {
    masking.choose(encoding, record, chosen);
    for (const MaskedToken& token : chosen) {
      for (size_t i = 0; i < encoding.size(); ++i) {
        if (encoding.word_ids[i] != encoding.word_ids[token.position]) continue;
        const auto other = std::find_if(chosen.begin(), chosen.end(),
                                        [i](const MaskedToken& t) { return t.position == i; });
        REQUIRE(other != chosen.end());
        CHECK(other->kind == token.kind);
      }
    }
  }
}

TEST_CASE("masking refuses rates that are no probabilities") {
  MaskingOptions options;
  options.mlm_probability = -0.1;
  CHECK_THROWS_AS(Masking(lab().tokenizer, options), Error);
  options.mlm_probability = 0.15;
  options.mask_replace_prob = 0.8;
  options.random_replace_prob = 0.3;
  CHECK_THROWS_AS(Masking(lab().tokenizer, options), Error);
}

TEST_CASE("top_ids is a stable partial sort") {
  std::mt19937 random(1);
  std::vector<float> values(500);
  for (float& value : values) value = static_cast<float>(random() % 40);
  values[7] = std::nanf("");
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](size_t i) { return std::isnan(values[i]) ? -INFINITY : values[i]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  std::vector<ScoredId> top;
  for (const size_t k : {0u, 1u, 17u, 500u, 600u}) {
    top_ids(values, k, Fillable(values.size(), true), top);
    REQUIRE(top.size() == std::min<size_t>(k, 500));
    for (size_t i = 0; i < top.size(); ++i) CHECK(static_cast<size_t>(top[i].id) == order[i]);
  }
  top_ids(values, 3, Fillable(2, true), top);
  CHECK(top.size() == 2);
  Fillable most(values.size(), true);
  most[order[0]] = most[order[2]] = false;
  top_ids(values, 2, most, top);
  CHECK(static_cast<size_t>(top[0].id) == order[1]);
  CHECK(static_cast<size_t>(top[1].id) == order[3]);
}

TEST_CASE("entropy and rank") {
  const std::vector<float> logits{0, 0, 0, 0};
  CHECK(entropy_of(logits, std::log(4.0)) == doctest::Approx(std::log(4.0)));
  const std::vector<float> steps{1, 3, 2, 3};
  CHECK(rank_of(steps, 1, Fillable(steps.size(), true)) == 1);
  CHECK(rank_of(steps, 2, Fillable(steps.size(), true)) == 3);
  CHECK(rank_of(steps, 0, Fillable(steps.size(), true)) == 4);
}

TEST_CASE("windows cover every token, and each has a best one") {
  for (const size_t count : {0u, 1u, 5u, 6u, 7u, 23u}) {
    std::vector<TokenWindow> windows;
    cut_windows(count, 6, 2, windows);
    for (size_t t = 0; t < count; ++t) {
      const TokenWindow& w = windows[mask_window(windows, t)];
      CHECK(w.first <= t);
      CHECK(t < w.end());
      CHECK(w.count <= 6);
      // At least half of the overlap is context on either side, but at the ends of the text.
      if (w.first > 0) CHECK(t - w.first >= 1);
      if (w.end() < count) CHECK(w.end() - t >= 2);
    }
    CHECK((count == 0 ? windows.empty() : windows.back().end() == count));
  }
}

TEST_CASE("sums are the same in every order") {
  std::mt19937 random(2);
  std::vector<double> values(1000);
  for (double& value : values) value = static_cast<double>(random()) / 1e7 - 200;
  OrderFreeSum forward, backward;
  double plain = 0;
  for (const double value : values) forward.add(value), plain += value;
  for (size_t i = values.size(); i-- > 0;) backward.add(values[i]);
  CHECK(forward.value() == backward.value());
  CHECK(forward.value() == doctest::Approx(plain));
}

TEST_CASE("pieces join the text as people write it") {
  const auto appended = [](std::string text, std::string_view piece, PieceJoin join,
                           size_t least = 0) {
    append_piece(text, piece, join, least);
    return text;
  };
  CHECK(appended("play ", "ing", PieceJoin::glued) == "playing");
  CHECK(appended("play", "ing", PieceJoin::glued) == "playing");
  CHECK(appended("play  ", "ing", PieceJoin::glued, 5) == "play ing");
  CHECK(appended("  ", "ing", PieceJoin::glued) == "  ing");
  CHECK(appended("new", "york", PieceJoin::beside) == "new york");
  CHECK(appended("new", "york", PieceJoin::as_is) == "newyork");
  CHECK(appended("new", ",", PieceJoin::beside) == "new,");
  CHECK(appended("北", "京", PieceJoin::beside) == "北京");
  CHECK(appended("", "york", PieceJoin::beside) == "york");
  CHECK(appended("caf\xc3\xa9", "\xc3\xa9t\xc3\xa9", PieceJoin::beside) ==
        "caf\xc3\xa9 \xc3\xa9t\xc3\xa9");
  CHECK(appended("new", ",", PieceJoin::spaced) == "new ,");
  CHECK(appended("new ", "york", PieceJoin::spaced) == "new york");
  CHECK(appended("", "york", PieceJoin::spaced) == "york");
}

TEST_CASE("pieces that are bytes become text of one row") {
  std::string text = "a\nb";
  mend_pieces(text, 2);
  CHECK(text == "a\nb");
  text += "\n\xF0\x9F\x98\x80\xE2\x82\t";
  mend_pieces(text, 3);
  CHECK(text == "a\nb \xF0\x9F\x98\x80\xEF\xBF\xBD ");
}

TEST_CASE("forward_rows is forward, bit for bit") {
  PackedBatch batch;
  std::mt19937 random(3);
  for (const size_t length : {1u, 17u, 5u, 40u}) {
    std::vector<int32_t> ids(length);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % lab().tokenizer.vocab_size());
    batch.append(ids, std::vector<int32_t>(length, 0));
  }
  for (const char* name : {"tiny-bert", "layers-0", "odd"}) {
    const Model model = Model::open(std::string(BERT_TESTS_DIR) + "/golden/" + name);
    const auto vocab = static_cast<int32_t>(model.config().vocab_size);
    for (int32_t& id : batch.input_ids) id %= vocab;
    Workspace workspace, other;
    const std::vector<size_t> rows{0, 3, 4, 17, 22, 30, 62};
    const Matrix all = model.forward(batch, workspace);
    const Matrix some = model.forward_rows(batch, rows, other);
    REQUIRE(some.rows == rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(std::equal(some.row(i), some.row(i) + some.cols, all.row(rows[i])));
    }
  }
}

TEST_CASE("pseudo-log-likelihood by its definitions") {
  const std::string text = "the playing dogs sat";
  const auto ids = lab().ids({"the", "play", "##ing", "dog", "##s", "sat"});
  const size_t word_end[] = {0, 2, 4, 4, 6, 6, 7};    // of the word of token i
  const size_t word_begin[] = {0, 1, 2, 2, 4, 4, 6};  // 1-based, [CLS] is 0
  double original = 0, l2r = 0, whole = 0;
  for (size_t i = 1; i <= 6; ++i) {
    const auto score = [&](size_t begin, size_t end) {
      auto masked = ids;
      for (size_t t = begin; t < end; ++t) masked[t] = lab().tokenizer.mask_id();
      return lab().logprobs(masked, i)[static_cast<size_t>(ids[i])];
    };
    original += score(i, i + 1);
    l2r += score(i, std::max(i + 1, word_end[i]));
    whole += score(word_begin[i], std::max(i + 1, word_end[i]));
  }
  CHECK(pll_of(text, PllMetric::original) == doctest::Approx(original).epsilon(1e-6));
  CHECK(pll_of(text, PllMetric::word_l2r) == doctest::Approx(l2r).epsilon(1e-6));
  CHECK(pll_of(text, PllMetric::whole_word) == doctest::Approx(whole).epsilon(1e-6));
  CHECK(original != doctest::Approx(l2r));
  CHECK(l2r != doctest::Approx(whole));
}

TEST_CASE("joint filling finds the best pair when the beam holds the vocabulary") {
  auto ids = lab().ids({"the", "[MASK]", "[MASK]", "sat"});
  MaskQueries queries(lab().model, lab().head, 2048);
  const size_t vocab = lab().tokenizer.vocab_size();
  const auto found =
      fill_jointly(queries, {{ids, {2, 3}}}, vocab, FillOrder::left, Fillable(vocab, true));
  double best = -INFINITY;
  const auto first = lab().logprobs(ids, 2);
  std::vector<int32_t> pieces;
  for (size_t a = 0; a < vocab; ++a) {
    ids[2] = static_cast<int32_t>(a);
    const auto second = lab().logprobs(ids, 3);
    const auto b =
        static_cast<size_t>(std::max_element(second.begin(), second.end()) - second.begin());
    if (first[a] + second[b] > best) {
      best = first[a] + second[b];
      pieces = {static_cast<int32_t>(a), static_cast<int32_t>(b)};
    }
  }
  REQUIRE(found[0].size() == vocab);
  CHECK(found[0][0].pieces == pieces);
  CHECK(found[0][0].logprob == doctest::Approx(best).epsilon(1e-6));
}

TEST_CASE("options that exclude each other are refused") {
  MlmFillOptions fill;
  fill.joint = true;
  fill.targets = {"cat"};
  CHECK_THROWS_AS(FillPlan::make(fill, lab().tokenizer, 64), Error);
  fill = {};
  fill.targets = {""};
  CHECK_THROWS_AS(FillPlan::make(fill, lab().tokenizer, 64), Error);
  fill = {};
  fill.prompt = "no place for the record";
  CHECK_THROWS_AS(FillPlan::make(fill, lab().tokenizer, 64), Error);
  MlmMaskOptions mask;
  mask.choice = MaskChoice::match;
  mask.pattern = "(";
  const Masking masking(lab().tokenizer, {});
  CHECK_THROWS_AS(MlmMaskWorker(lab().tokenizer, masking, mask, lab().options()), Error);
}
