#include "training/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "encoder/batch_check.h"
#include "ops/blas.h"
#include "ops/gradient_kernels.h"

namespace bert::training {
namespace {

constexpr size_t kChunk = size_t{1} << 16;  // floats that one task of reduce and update handles

/// The memory of one thread.
struct Lane {
  Encoder encoder;
  std::vector<std::unique_ptr<Head>> heads;
  Buffer gradient;
  std::vector<ModelWeights> gradient_views;  ///< one for each head
  TrainingBatch part;
  Buffer d_hidden;
  Tally tally;
  std::exception_ptr failure;

  Lane(const std::vector<HeadPlan>& plans, const std::vector<ModelWeights>& weights, bool bf16)
      : encoder(plans[0].config, weights[0], bf16) {
    for (size_t i = 0; i < plans.size(); ++i) {
      heads.push_back(std::make_unique<Head>(plans[i], weights[i], bf16));
    }
  }
};

/// A part of one parameter.
struct Piece {
  const Parameter* parameter;
  size_t begin, size;  // begin: offset in all floats
};

/// The work for a sequence of n tokens: products grow with n, attention with n^2.
double cost(size_t n, const Config& config) {
  const auto length = static_cast<double>(n);
  return length *
         (static_cast<double>(4 * config.hidden_size + 2 * config.intermediate_size) + 2 * length);
}

/// Cuts a batch into at most `parts` parts of similar work. Part i has sequences [bounds[i],
/// bounds[i + 1]), at least one.
std::vector<size_t> share(const PackedBatch& batch, const Config& config, size_t parts) {
  double total = 0;
  for (size_t s = 0; s < batch.sequences(); ++s) total += cost(batch.length(s), config);
  std::vector<size_t> bounds{0};
  double done = 0;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const double next = cost(batch.length(s), config);
    const double limit = total * static_cast<double>(bounds.size()) / static_cast<double>(parts);
    if (bounds.size() < parts && done + next / 2 > limit) bounds.push_back(s);
    done += next;
  }
  bounds.push_back(batch.sequences());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace

struct Learner::State {
  std::vector<HeadPlan> heads;
  const Config& config;  // of the trunk
  LearnerOptions options;
  Layout layout;
  Buffer values, first, second;
  std::vector<ModelWeights> weights;  // one for each head
  std::vector<std::unique_ptr<Lane>> lanes;
  Team team;
  uint64_t steps = 0;
  std::vector<Piece> pieces;  // all parameters but a sparse word table
  std::vector<double> piece_squares;
  bool sparse = false;             // only looked-up rows of the word table have gradients
  std::vector<int32_t> rows;       // looked up in this step, sorted
  std::vector<uint8_t> row_moves;  // rows whose moments are not zero

  State(std::vector<HeadPlan> h, const LearnerOptions& opt)
      : heads(std::move(h)),
        config(heads.at(0).config),
        options(opt),
        layout(Layout::make(config, heads)),
        values(layout.floats()),
        first(layout.floats()),
        second(layout.floats()),
        weights(views(values.data())),
        team(options.threads) {
    if (blas_state() == BlasState::missing) {
      throw Error(Error::Kind::no_input, "", "training needs OpenBLAS, which cannot be loaded");
    }
    if (options.bf16 && !Bf16Products::available()) {
      throw Error(Error::Kind::unsupported, "",
                  "this CPU has no products in bf16 that are faster than floats: train in f32");
    }
    for (Buffer* b : {&values, &first, &second}) std::fill_n(b->data(), layout.floats(), 0.f);
    sparse = std::none_of(weights.begin(), weights.end(), [](const ModelWeights& w) {
      return w.transform.weight.data && w.decoder.weight.data == w.word.data;
    });
    row_moves.assign(config.vocab_size, 0);
    grow_lanes(1);
  }

  /// Each lane has a whole gradient, so there are only as many lanes as have had sequences.
  void grow_lanes(size_t count) {
    while (lanes.size() < count) {
      lanes.push_back(std::make_unique<Lane>(heads, weights, options.bf16));
      Lane& lane = *lanes.back();
      std::fill_n(lane.gradient.reserve(layout.floats()), layout.floats(), 0.f);
      lane.gradient_views = views(lane.gradient.data());
    }
  }

  std::vector<ModelWeights> views(float* base) const {
    std::vector<ModelWeights> all;
    for (const HeadPlan& head : heads) {
      all.push_back(ModelWeights::view(layout, config, base, head.prefix()));
    }
    return all;
  }

  void cut_pieces() {
    pieces.clear();
    for (const Parameter& p : layout.parameters()) {
      if (sparse && p.offset == 0) continue;
      for (size_t i = 0; i < p.size; i += kChunk) {
        pieces.push_back({&p, p.offset + i, std::min(kChunk, p.size - i)});
      }
    }
    piece_squares.assign(pieces.size(), 0);
  }

  int32_t lowest_depth() const {
    int32_t lowest = static_cast<int32_t>(config.num_hidden_layers) + 1;
    for (const Parameter& p : layout.parameters()) {
      if (p.rate_scale > 0) lowest = std::min(lowest, p.depth);
    }
    return lowest;
  }

  /// Calls use(lane, part, dropout) for the passes of each thread.
  template <typename Use>
  void for_each_pass(const TrainingBatch& batch, Use use) {
    check_batch(batch.batch, config);
    const std::vector<size_t> bounds = share(batch.batch, config, static_cast<size_t>(team.size()));
    grow_lanes(bounds.size() - 1);
    team.run([&](int part, int) {
      const auto p = static_cast<size_t>(part);
      if (p >= lanes.size()) return;
      Lane& lane = *lanes[p];
      lane.tally = {};
      lane.failure = nullptr;
      if (p + 1 >= bounds.size()) return;
      try {
        run_passes(batch, bounds[p], bounds[p + 1], lane, use);
      } catch (...) {  // out of memory
        lane.failure = std::current_exception();
      }
    });
    for (const auto& lane : lanes) {
      if (lane->failure) std::rethrow_exception(lane->failure);
    }
  }
  template <typename Use>
  void run_passes(const TrainingBatch& batch, size_t begin, size_t end, Lane& lane, Use use) {
    for (size_t first_s = begin; first_s < end;) {
      size_t last = first_s + 1;
      const auto& cu = batch.batch.cu_seq_lens;
      while (last < end && cu[last + 1] - cu[first_s] <= options.max_pass_tokens) ++last;
      slice(batch, first_s, last, lane.part);
      const DropoutRates& rates = heads[batch.head].dropout;
      // The batches of one step have different heads, hence different masks.
      const DropoutPlan dropout{rates.hidden,     rates.attention,
                                rates.classifier, mix(options.seed, steps) + batch.head,
                                cu[first_s],      first_s};
      use(lane, dropout);
      first_s = last;
    }
  }

  Tally sum_tallies() const {
    Tally tally;
    for (const auto& lane : lanes) tally += lane->tally;
    return tally;
  }

  void zero_gradients();
  void gather_rows(std::span<const TrainingBatch> batches);
  Tally learn(const TrainingBatch& batch, int32_t lowest);
  double reduce();
  void update(double gradient_scale, double rate);
};

void Learner::State::zero_gradients() {
  team.run([&](int part, int) {
    if (static_cast<size_t>(part) >= lanes.size()) return;
    float* gradient = lanes[static_cast<size_t>(part)]->gradient.data();
    const size_t table = sparse ? layout.parameters()[0].size : 0;
    const size_t width = config.embedding_size;
    for (const int32_t row : rows) {  // the rows of the step before
      std::fill_n(gradient + static_cast<size_t>(row) * width, sparse ? width : 0, 0.f);
    }
    std::memset(gradient + table, 0, (layout.floats() - table) * sizeof(float));
  });
}

void Learner::State::gather_rows(std::span<const TrainingBatch> batches) {
  rows.clear();
  for (const TrainingBatch& b : batches) {
    rows.insert(rows.end(), b.batch.input_ids.begin(), b.batch.input_ids.end());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const int32_t row : rows) row_moves[static_cast<size_t>(row)] = 1;
}

/// Adds the gradients of one batch.
Tally Learner::State::learn(const TrainingBatch& batch, int32_t lowest) {
  const Tally all = lanes[0]->heads[batch.head]->count(batch);
  const auto mean = [weight = static_cast<double>(heads[batch.head].weight)](double count) {
    return count > 0 ? static_cast<float>(weight / count) : 0;
  };
  const LossScale scale{mean(all.tokens), mean(all.sequences)};
  for_each_pass(batch, [&](Lane& lane, const DropoutPlan& dropout) {
    const Matrix hidden = lane.encoder.forward(lane.part.batch, dropout);
    const Matrix d_hidden = lane.d_hidden.matrix(hidden.rows, hidden.cols);
    const ModelWeights& gradient = lane.gradient_views[batch.head];
    lane.tally +=
        lane.heads[batch.head]->learn(lane.part, hidden, scale, dropout, &gradient, d_hidden);
    lane.encoder.backward(d_hidden, gradient, lowest);
  });
  return sum_tallies();
}

/// Adds the gradients of all lanes to that of the first; returns the norm of the sum.
double Learner::State::reduce() {
  const auto add_lanes = [&](size_t begin, size_t size) {
    float* sum = lanes[0]->gradient.data() + begin;
    for (size_t i = 1; i < lanes.size(); ++i) {
      gradient_kernels().axpy(1.f, lanes[i]->gradient.data() + begin, size, sum);
    }
    return gradient_kernels().sum_squares(sum, size);
  };
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < pieces.size(); i += static_cast<size_t>(parts)) {
      piece_squares[i] = add_lanes(pieces[i].begin, pieces[i].size);
      if (pieces[i].parameter->rate_scale == 0) piece_squares[i] = 0;
    }
  });
  double squares = 0;
  for (const double s : piece_squares) squares += s;
  if (sparse && layout.parameters()[0].rate_scale > 0) {
    const size_t width = config.embedding_size;
    for (const int32_t row : rows) squares += add_lanes(static_cast<size_t>(row) * width, width);
  }
  return std::sqrt(squares);
}

void Learner::State::update(double gradient_scale, double rate) {
  const OptimizerOptions& o = options.optimizer;
  const auto t = static_cast<double>(steps + 1);
  const auto task = [&](const Parameter& p, size_t begin, size_t size, bool has_gradient) {
    const double own_rate = rate * static_cast<double>(p.rate_scale);
    AdamWTask a;
    a.value = values.data() + begin;
    a.gradient = has_gradient ? lanes[0]->gradient.data() + begin : nullptr;
    a.first = first.data() + begin;
    a.second = second.data() + begin;
    a.n = size;
    a.gradient_scale = static_cast<float>(gradient_scale);
    a.beta1 = static_cast<float>(o.beta1);
    a.beta2 = static_cast<float>(o.beta2);
    a.rest1 = static_cast<float>(1 - o.beta1);
    a.rest2 = static_cast<float>(1 - o.beta2);
    a.keep = p.decays ? static_cast<float>(1 - own_rate * o.weight_decay) : 1.f;
    a.step = static_cast<float>(own_rate / (1 - std::pow(o.beta1, t)));
    a.root_bias_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
    a.epsilon = static_cast<float>(o.epsilon);
    return a;
  };
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < pieces.size(); i += static_cast<size_t>(parts)) {
      const Piece& piece = pieces[i];
      if (piece.parameter->rate_scale == 0) continue;
      gradient_kernels().adamw(task(*piece.parameter, piece.begin, piece.size, true));
    }
    const Parameter& words = layout.parameters()[0];
    if (!sparse || words.rate_scale == 0) return;
    const size_t width = config.embedding_size, count = config.vocab_size;
    const auto p = static_cast<size_t>(part), n = static_cast<size_t>(parts);
    auto next = std::lower_bound(rows.begin(), rows.end(), static_cast<int32_t>(count * p / n));
    for (size_t row = count * p / n; row < count * (p + 1) / n; ++row) {
      const bool used = next != rows.end() && static_cast<size_t>(*next) == row;
      if (used) ++next;
      const AdamWTask a = task(words, row * width, width, used);
      if (row_moves[row]) {
        gradient_kernels().adamw(a);
      } else if (a.keep != 1.f) {  // zero moments: only weight decay
        for (size_t i = 0; i < width; ++i) a.value[i] *= a.keep;
      }
    }
  });
}

Learner::Learner(std::vector<HeadPlan> heads, const LearnerOptions& options)
    : state_(std::make_unique<State>(std::move(heads), options)) {
  // State holds references into itself, so it is made in place.
}
Learner::~Learner() = default;

const Config& Learner::config() const { return state_->config; }
const std::vector<HeadPlan>& Learner::heads() const { return state_->heads; }
Layout& Learner::layout() { return state_->layout; }
float* Learner::values() { return state_->values.data(); }
float* Learner::first_moments() { return state_->first.data(); }
float* Learner::second_moments() { return state_->second.data(); }
uint64_t Learner::steps() const { return state_->steps; }
size_t Learner::bytes_to_come(const StepSize& size, bool evaluates) const {
  const State& s = *state_;
  const Config& c = s.config;
  const size_t h = c.hidden_size, i = c.intermediate_size, layers = c.num_hidden_layers;
  const auto threads = static_cast<size_t>(s.team.size());
  const size_t lanes = std::min(threads, std::max<size_t>(size.sequences, 1));
  const size_t pass = std::min(std::max(s.options.max_pass_tokens, size.longest),
                               size.tokens / lanes + size.longest / 2);
  const size_t kept = layers * (8 * h + 2 * i + c.num_attention_heads);  // see LayerKept
  const size_t way_back = 9 * h + i + 3 * c.embedding_size;
  size_t lane = pass * (kept + way_back) + 2 * size.longest * size.longest;
  for (const HeadPlan& head : s.heads) {
    if (head.objective != Objective::pretrain && head.objective != Objective::masked_lm) continue;
    const size_t predicted = pass / 6;
    lane += predicted * (2 * h + 5 * c.embedding_size) +
            std::min(predicted, Head::kDecoderRows) * c.vocab_size;
  }
  size_t floats = lanes * lane + (lanes - s.lanes.size()) * s.layout.floats();
  if (evaluates) {  // matrices in kernel order, and a workspace for each thread
    floats += layers * (4 * h * h + 2 * h * i);
    floats += threads * std::max<size_t>(512, size.longest) * (8 * h + i);
  }
  return floats * sizeof(float);
}
size_t Learner::lanes() const { return state_->lanes.size(); }
Team& Learner::team() { return state_->team; }
const float* Learner::gradient() const { return state_->lanes[0]->gradient.data(); }

void Learner::set_steps(uint64_t done) {
  state_->steps = done;
  const size_t width = state_->config.embedding_size;
  for (size_t row = 0; row < state_->config.vocab_size; ++row) {
    const float* second = state_->second.data() + row * width;
    state_->row_moves[row] |= std::any_of(second, second + width, [](float v) { return v != 0; });
  }
}

StepResult Learner::step(std::span<const TrainingBatch> batches) {
  State& s = *state_;
  if (s.pieces.empty()) s.cut_pieces();
  s.zero_gradients();
  s.gather_rows(batches);
  const int32_t lowest = s.lowest_depth();
  StepResult result;
  for (const TrainingBatch& batch : batches) {
    const Tally tally = s.learn(batch, lowest);
    result.tally += tally;
    result.loss += static_cast<double>(s.heads[batch.head].weight) * tally.loss();
  }
  result.gradient_norm = s.reduce();
  result.learning_rate =
      s.options.optimizer.learning_rate * schedule_factor(s.options.optimizer, s.steps);
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
    throw Error(Error::Kind::data, "",
                fmt::format("step {}: the loss is {} and the gradient's norm {}: training has "
                            "diverged; try a lower learning rate",
                            s.steps + 1, result.loss, result.gradient_norm));
  }
  const double limit = s.options.optimizer.max_grad_norm;
  const double clip = limit > 0 ? std::min(1., limit / (result.gradient_norm + 1e-6)) : 1;
  s.update(clip, result.learning_rate);
  ++s.steps;
  return result;
}

}  // namespace bert::training
