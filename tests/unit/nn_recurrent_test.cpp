#include <doctest/doctest.h>

#include <list>

#include "base/error.h"
#include "base/random.h"
#include "capture.h"
#include "io/json.h"
#include "io/safetensors_writer.h"
#include "model/recurrent_config.h"
#include "nn/recurrent.h"
#include "ops/linear.h"
#include "seq2seq/decoder.h"
#include "temporary.h"
#include "training/recurrent_network.h"
#include "training_fixture.h"

namespace bert::training {
namespace {

using test::Data;
using test::error;
using test::Fixture;

struct Case {
  const char* name;
  nn::RecurrentShape shape;
};

const Case kCases[] = {
    {"rnn", {Cell::rnn, 5, 7}},
    {"rnn_relu", {Cell::rnn_relu, 5, 7}},
    {"gru", {Cell::gru, 5, 7}},
    {"lstm", {Cell::lstm, 5, 7}},
    {"rnn2", {Cell::rnn, 5, 7, 2, true}},
    {"gru2", {Cell::gru, 5, 7, 2, true}},
    {"lstm2", {Cell::lstm, 5, 7, 2, true}},
};

/// The parameters of a case under torch's names, or room for their gradients.
struct Parameters {
  std::map<std::string, Data> data;
  std::vector<nn::CellWeights> cells;

  Parameters(const Fixture& f, const Case& c, bool gradients) {
    for (size_t i = 0; i < c.shape.cells(); ++i) {
      const std::string end = "l" + std::to_string(i / c.shape.directions()) +
                              (i % c.shape.directions() == 1 ? "_reverse" : "");
      const auto add = [&](const std::string& name) {
        Data values(f, std::string(c.name) + "." + name + end);
        if (gradients) std::fill(values.values.begin(), values.values.end(), 0.f);
        return data.emplace(name + end, std::move(values)).first->second.matrix();
      };
      nn::CellWeights w;
      w.input.weight = add("weight_ih_");
      w.input.bias = add("bias_ih_").data;
      w.hidden.weight = add("weight_hh_");
      w.hidden.bias = add("bias_hh_").data;
      cells.push_back(w);
    }
  }
  std::vector<nn::CellProducts> products() const {
    std::vector<nn::CellProducts> all;
    for (const nn::CellWeights& w : cells) all.push_back(nn::CellProducts::of(w));
    return all;
  }
};

/// States [cells, S, H] as torch has them.
struct States {
  std::vector<float> hidden, memory;
  std::vector<nn::RecurrentState> cells;
  States(std::vector<float> h, std::vector<float> c, const nn::RecurrentShape& shape,
         size_t sequences)
      : hidden(std::move(h)), memory(std::move(c)) {
    const size_t size = sequences * shape.hidden_size;
    const auto part = [&](std::vector<float>& v, size_t i) {
      return v.empty() ? Matrix() : Matrix(v.data() + i * size, sequences, shape.hidden_size);
    };
    for (size_t i = 0; i < shape.cells(); ++i) cells.push_back({part(hidden, i), part(memory, i)});
  }
  static States of(const Fixture& f, const Case& c, const std::string& prefix,
                   const std::string& end) {
    const bool has_memory = c.shape.cell == Cell::lstm;
    const auto read = [&](const char* name) {
      return f.floats(std::string(c.name) + "." + prefix + name + end);
    };
    return {read("h"), has_memory ? read("c") : std::vector<float>(), c.shape, 4};
  }
};

Linear linear_of(const nn::LinearWeights& w) {
  const WeightRef ref{reinterpret_cast<const std::byte*>(w.weight.data), DType::f32, w.weight.rows,
                      w.weight.cols};
  return {ref, {w.bias, w.bias + w.weight.rows}};
}

}  // namespace

TEST_CASE("recurrent cells: forward and backward through time equal torch.nn.RNN, GRU and LSTM") {
  const Fixture f("recurrent");
  const std::vector<size_t> cu = f.sizes("cu_seq_lens");
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const std::string name = c.name + std::string(".");
    const Parameters weights(f, c, false), gradient(f, c, true);
    Data x(f, name + "x"), dy(f, name + "dy"), y(dy.rows, dy.cols), dx(x.rows, x.cols);
    const States first = States::of(f, c, "", ""), expected = States::of(f, c, "", "_last"),
                 d_last = States::of(f, c, "d", "_last"), d_expected = States::of(f, c, "d", "");
    States found(std::vector<float>(expected.hidden.size()),
                 std::vector<float>(expected.memory.size()), c.shape, 4);
    States d_found(std::vector<float>(expected.hidden.size()),
                   std::vector<float>(expected.memory.size()), c.shape, 4);
    nn::RecurrentStack stack(c.shape);
    stack.forward(weights.products(), cu, x.matrix(), first.cells, y.matrix(), found.cells);
    CHECK(error(y.values, f.floats(name + "y")) < 1e-6);
    CHECK(error(found.hidden, expected.hidden) < 1e-6);
    CHECK(error(found.memory, expected.memory) < 1e-6);
    stack.backward(weights.cells, dy.matrix(), d_last.cells, gradient.cells, dx.matrix(),
                   d_found.cells);
    CHECK(error(dx.values, f.floats(name + "dx")) < 1e-5);
    CHECK(error(d_found.hidden, d_expected.hidden) < 1e-5);
    CHECK(error(d_found.memory, d_expected.memory) < 1e-5);
    for (const auto& [parameter, data] : gradient.data) {
      CAPTURE_BINDING(parameter);
      CHECK(error(data.values, f.floats(name + "grad." + parameter)) < 1e-5);
    }
  }
}

TEST_CASE("recurrent cells: a sequence has the same bits alone and in company") {
  const Fixture f("recurrent");
  const std::vector<size_t> cu = f.sizes("cu_seq_lens");
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const Parameters weights(f, c, false);
    LinearScratch scratch;
    std::list<nn::CellLinears> linears;
    std::vector<nn::CellProducts> products;
    for (const nn::CellWeights& w : weights.cells) {
      linears.push_back({linear_of(w.input), linear_of(w.hidden)});
      products.push_back(linears.back().products(scratch));
    }
    Data x(f, std::string(c.name) + ".x"), y(x.rows, c.shape.output_size());
    nn::RecurrentStack stack(c.shape);
    stack.forward(products, cu, x.matrix(), {}, y.matrix(), {});
    for (size_t s = 0; s + 1 < cu.size(); ++s) {
      const size_t alone[] = {0, cu[s + 1] - cu[s]};
      Data own(alone[1], y.cols);
      stack.forward(products, alone, x.matrix().slice(cu[s], alone[1]), {}, own.matrix(), {});
      const auto begin = y.values.begin() + static_cast<ptrdiff_t>(cu[s] * y.cols);
      CHECK(std::equal(own.values.begin(), own.values.end(), begin));
    }
  }
}

TEST_CASE("recurrent cells: an empty sequence keeps its first state") {
  const Fixture f("recurrent");
  const Parameters weights(f, kCases[3], false);
  Data x(f, "lstm.x"), y(4, 7), h(f, "lstm.h"), c(f, "lstm.c"), last_h(3, 7), last_c(3, 7);
  const Matrix first_h(h.values.data(), 3, 7), first_c(c.values.data(), 3, 7);
  const size_t cu[] = {0, 0, 4, 4};
  nn::RecurrentWalk walk;
  walk.forward(Cell::lstm, weights.products()[0], cu, false, x.matrix().slice(0, 4),
               {first_h, first_c}, y.matrix(), {last_h.matrix(), last_c.matrix()});
  for (const size_t s : {0, 2}) {
    CHECK(std::equal(first_h.row(s), first_h.row(s) + 7, last_h.matrix().row(s)));
    CHECK(std::equal(first_c.row(s), first_c.row(s) + 7, last_c.matrix().row(s)));
  }
  CHECK(std::equal(y.matrix().row(3), y.matrix().row(3) + 7, last_h.matrix().row(1)));
}

TEST_CASE("lstm: forget gate 1 and input gate 0 keep the memory for 1,000 steps") {
  constexpr size_t kSteps = 1000, kWidth = 7, kInputs = 3;
  Data x(kSteps, kInputs), y(kSteps, kWidth), w(4 * kWidth, kInputs), u(4 * kWidth, kWidth);
  Data b(1, 4 * kWidth), zero(1, 4 * kWidth), h(1, kWidth), c(1, kWidth), last(2, kWidth);
  uint64_t key = 0;
  const auto draw = [&key](Data& data) {
    for (float& v : data.values) v = static_cast<float>(mix(7, key++) % 2001) / 1000.f - 1.f;
  };
  for (Data* data : {&x, &w, &u, &c, &h}) draw(*data);
  for (size_t i = 0; i < kWidth; ++i) {
    b.values[i] = -200;          // input gate 0
    b.values[kWidth + i] = 200;  // forget gate 1
  }
  const nn::CellWeights weights{{w.matrix(), b.values.data()}, {u.matrix(), zero.values.data()}};
  const size_t cu[] = {0, kSteps};
  nn::RecurrentWalk walk;
  walk.forward(Cell::lstm, nn::CellProducts::of(weights), cu, false, x.matrix(),
               {h.matrix(), c.matrix()}, y.matrix(),
               {last.matrix().slice(0, 1), last.matrix().slice(1, 1)});
  CHECK(std::equal(c.values.begin(), c.values.end(), last.matrix().row(1)));
}

TEST_CASE("rnn: the hidden state after three steps of a hand-worked example") {
  // One unit, W_ih = 1, W_hh = 2, biases 0.5 and 0: h = tanh(x + 0.5 + 2 h).
  float one = 1, two = 2, half = 0.5f, zero = 0;
  const nn::CellWeights weights{{{&one, 1, 1}, &half}, {{&two, 1, 1}, &zero}};
  float x[] = {0, -1, 0.25f}, y[3];
  const size_t cu[] = {0, 3};
  nn::RecurrentWalk walk;
  walk.forward(Cell::rnn, nn::CellProducts::of(weights), cu, false, {x, 3, 1}, {}, {y, 3, 1}, {});
  CHECK(y[0] == doctest::Approx(0.46211716).epsilon(1e-6));  // tanh(0.5)
  CHECK(y[1] == doctest::Approx(0.40049161).epsilon(1e-6));  // tanh(-0.5 + 2 0.46211716)
  CHECK(y[2] == doctest::Approx(0.91394757).epsilon(1e-6));  // tanh(0.75 + 2 0.40049161)
}

namespace {

PackedBatch batch_of(const std::vector<std::vector<int32_t>>& sequences) {
  PackedBatch batch;
  for (const auto& ids : sequences) batch.append(ids, std::vector<int32_t>(ids.size()));
  return batch;
}

TrainingBatch pairs() {
  TrainingBatch batch;
  batch.batch = batch_of({{3, 4, 5}, {6}, {7, 8, 9, 10, 2}, {2, 3}});
  batch.target = batch_of({{5, 4, 1}, {6, 3, 2, 10, 1}, {1}, {3, 2, 8, 1}});
  return batch;
}

RecurrentConfig pair_config(Cell cell, RecurrentAttention attention, size_t embedding,
                            size_t hidden, size_t layers, bool bidirectional) {
  RecurrentConfig c;
  c.cell = cell;
  c.attention = attention;
  c.vocab_size = 11;
  c.embedding_size = embedding;
  c.hidden_size = hidden;
  c.num_layers = layers;
  c.bidirectional = bidirectional;
  c.attention_size = attention == RecurrentAttention::additive ? 5 : 0;
  return c;
}

const std::pair<const char*, RecurrentConfig> kPairs[] = {
    {"gru-dot", pair_config(Cell::gru, RecurrentAttention::dot, 4, 6, 2, true)},
    {"lstm-additive", pair_config(Cell::lstm, RecurrentAttention::additive, 4, 6, 2, true)},
    {"rnn-none", pair_config(Cell::rnn, RecurrentAttention::none, 4, 5, 1, false)},
    {"lstm-dot", pair_config(Cell::lstm, RecurrentAttention::dot, 3, 5, 1, false)},
    {"gru-additive", pair_config(Cell::gru, RecurrentAttention::additive, 3, 6, 1, true)},
};

}  // namespace

TEST_CASE("a pair of recurrent nets: loss and gradients equal autograd's") {
  const Fixture f("recurrent");
  for (const auto& [name, config] : kPairs) {
    CAPTURE_BINDING(name);
    const std::string prefix = name + std::string(".");
    const RecurrentNetwork network(config);
    const Layout layout = network.layout();
    std::vector<float> values(layout.floats()), gradient(layout.floats());
    for (const Parameter& p : layout.parameters()) {
      const std::vector<float> from = f.floats(prefix + p.name);
      REQUIRE(from.size() == p.size);
      std::copy(from.begin(), from.end(), values.begin() + static_cast<ptrdiff_t>(p.offset));
    }
    const TrainingBatch batch = pairs();
    network.check(batch);
    Pass pass;
    pass.scale.token = static_cast<float>(1 / network.count(batch).tokens);
    const auto lane = network.lane(layout, values.data(), gradient.data());
    const Tally tally = lane->learn(batch, pass);
    CHECK(tally.loss() == doctest::Approx(f.floats(prefix + "loss")[0]).epsilon(1e-6));
    for (const Parameter& p : layout.parameters()) {
      CAPTURE(p.name);
      const auto begin = gradient.begin() + static_cast<ptrdiff_t>(p.offset);
      CHECK(error({begin, begin + static_cast<ptrdiff_t>(p.size)},
                  f.floats(prefix + "grad." + p.name)) < 1e-5);
    }
  }
}

TEST_CASE("a pair of recurrent nets: dropout and sampling do not depend on the cut into passes") {
  const RecurrentNetwork network(kPairs[0].second, {0.3, 0, 0.5});
  const Layout layout = network.layout();
  std::vector<float> values(layout.floats());
  draw_parameters(layout, 1, 0.5f, values.data());
  const TrainingBatch batch = pairs();
  Pass pass;
  pass.key = 5;
  pass.scale.token = 1;
  std::vector<float> whole(layout.floats()), cut(layout.floats());
  network.lane(layout, values.data(), whole.data())->learn(batch, pass);
  TrainingBatch part;
  const auto lane = network.lane(layout, values.data(), cut.data());
  for (size_t s = 0; s < batch.sequences(); ++s) {
    slice(batch, s, s + 1, part);
    pass.sequence_0 = s;
    pass.token_0 = batch.batch.begin(s);
    pass.target_0 = batch.target.begin(s);
    lane->learn(part, pass);
  }
  CHECK(error(cut, whole) < 1e-5);
}

TEST_CASE("a pair of recurrent nets refuses ids outside the vocabulary and empty sequences") {
  const RecurrentNetwork network(kPairs[0].second);
  TrainingBatch batch = pairs();
  batch.target.input_ids[2] = 11;
  CHECK_THROWS_WITH_AS(network.check(batch), doctest::Contains("token id 11 of a target"), Error);
  batch = pairs();
  batch.batch.append({}, {});
  CHECK_THROWS_WITH_AS(network.check(batch), doctest::Contains("found 5 sources and 4 targets"),
                       Error);
  batch.target.append({}, {});
  CHECK_THROWS_WITH_AS(network.check(batch), doctest::Contains("a source has 0 tokens"), Error);
}

TEST_CASE("config.json of a pair of recurrent nets is read as it is written") {
  for (const auto& [name, config] : kPairs) {
    const JsonDocument document = JsonDocument::parse(config.text(), "config.json");
    REQUIRE(RecurrentConfig::is(document.root()));
    const RecurrentConfig read = RecurrentConfig::read(document.root(), "config.json");
    CHECK(read.text() == config.text());
  }
  std::string odd = kPairs[0].second.text();
  odd.replace(odd.find("\"hidden_size\": 6"), 16, "\"hidden_size\": 7");
  const JsonDocument document = JsonDocument::parse(odd, "config.json");
  CHECK_THROWS_WITH_AS(RecurrentConfig::read(document.root(), "config.json"),
                       doctest::Contains("an even number"), Error);
}

namespace {

/// A pair of the fixture as a model directory.
class PairDirectory {
 public:
  PairDirectory(const Fixture& f, const char* name, const RecurrentConfig& config) {
    directory_.add("config.json", config.text());
    std::list<std::vector<float>> values;
    std::vector<SafetensorsTensor> tensors;
    for (const TensorSpec& spec : recurrent_tensors(config)) {
      const auto& v = values.emplace_back(f.floats(std::string(name) + "." + spec.name));
      tensors.push_back({spec.name, "F32", spec.shape, std::as_bytes(std::span(v))});
    }
    OutputFile file(directory_ / "model.safetensors");
    write_safetensors(file, tensors);
    file.finish();
    file.commit();
  }
  const std::string& path() const { return directory_.path(); }

 private:
  test::TemporaryDirectory directory_;
};

/// What the decoder reads: the start token, then the target without its last token.
PackedBatch inputs_of(const PackedBatch& targets, int32_t start) {
  PackedBatch batch;
  for (size_t s = 0; s < targets.sequences(); ++s) {
    std::vector<int32_t> ids{start};
    const auto begin = targets.input_ids.begin() + static_cast<ptrdiff_t>(targets.begin(s));
    ids.insert(ids.end(), begin, begin + static_cast<ptrdiff_t>(targets.length(s)) - 1);
    batch.append(ids, std::vector<int32_t>(ids.size()));
  }
  return batch;
}

}  // namespace

TEST_CASE("a pair of recurrent nets computes what torch computes; a row's bits are its own") {
  const Fixture f("recurrent");
  for (const auto& [name, config] : kPairs) {
    CAPTURE_BINDING(name);
    const PairDirectory directory(f, name, config);
    const auto model = Seq2Seq::open(directory.path());
    const TrainingBatch batch = pairs();
    const PackedBatch targets = inputs_of(batch.target, config.decoder_start_token_id);
    const size_t h = config.hidden_size;
    Data hidden(targets.tokens(), h), logits(targets.tokens(), config.vocab_size);
    std::vector<float> weights(targets.tokens() * 5);
    AttentionTrace trace;
    trace.wants = [](size_t, size_t) { return true; };
    trace.show = [&](const AttentionView& view) {
      for (size_t i = 0; i < view.weights.rows; ++i) {
        const size_t token = targets.begin(view.sequence) + i;
        std::copy_n(view.weights.row(i), view.weights.cols, weights.data() + token * 5);
      }
    };
    model->teach(batch.batch, targets, hidden.matrix(), nullptr, &trace);
    LinearScratch scratch;
    model->output().logits(hidden.matrix(), logits.matrix(), scratch);
    const std::string prefix = name + std::string(".");
    CHECK(error(logits.values, f.floats(prefix + "logits")) < 1e-6);
    const bool attends = config.attention != RecurrentAttention::none;
    CHECK(model->attention_layers() == (attends ? 1 : 0));
    if (attends) CHECK(error(weights, f.floats(prefix + "weights")) < 1e-6);

    // Step by step: each pair beside other hypotheses of all sources, which come and go.
    for (size_t s = 0; s < targets.sequences(); ++s) {
      const auto live = model->start();
      live->add(batch.batch);
      Data row(live->rows() + 1, h);
      std::vector<size_t> chosen{s, 0, s, 1, 2};
      live->select(chosen);
      for (size_t i = 0; i < targets.length(s); ++i) {
        const size_t token = targets.begin(s) + i;
        const int32_t id = targets.input_ids[token];
        const std::vector<int32_t> ids{id, 3, id, 5, 4};
        live->step(std::span(ids).first(live->rows()), row.matrix().slice(0, live->rows()));
        CHECK(std::equal(row.matrix().row(2), row.matrix().row(2) + h, hidden.matrix().row(token)));
        if (i == 1) live->select(std::vector<size_t>{3, 4, 0});
      }
    }
  }
}

TEST_CASE("a pair of recurrent nets refuses what does not fit, by name") {
  const Fixture f("recurrent");
  const auto& [name, config] = kPairs[0];
  const PairDirectory directory(f, name, config);
  const auto model = Seq2Seq::open(directory.path());
  const auto live = model->start();
  CHECK_THROWS_WITH_AS(live->add(batch_of({{3, 11}})),
                       doctest::Contains("token id 11 is outside the encoder's vocabulary of 11"),
                       Error);
  live->add(batch_of({{3}}));
  Data hidden(1, config.hidden_size);
  CHECK_THROWS_WITH_AS(live->step(std::vector<int32_t>{-1}, hidden.matrix()),
                       doctest::Contains("token id -1"), Error);
  RecurrentConfig wider = config;
  wider.embedding_size += 1;
  write_whole_file(directory.path() + "/config.json", wider.text());
  CHECK_THROWS_WITH_AS(
      Seq2Seq::open(directory.path()),
      doctest::Contains("encoder.embedding.weight is [11, 4], wants floats of [11, 5]"), Error);
}

}  // namespace bert::training
