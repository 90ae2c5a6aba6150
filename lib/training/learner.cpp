#include "training/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "base/random.h"
#include "nn/bf16.h"
#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "training/passes.h"

namespace bert::training {
namespace {

constexpr size_t kChunk = size_t{1}
                          << 16;  // floats that one task of gradient_norm and update handles

/// A lane and what belongs to it.
struct Slot {
  std::unique_ptr<Lane> lane;
  TrainingBatch part;
  Buffer gradient;  // of one pass, where the lane cannot add to the common one in turn
};

/// A part of one parameter.
struct Piece {
  const Parameter* parameter;
  size_t begin, size;  // begin: offset in all floats
};

}  // namespace

struct Learner::State {
  std::unique_ptr<const Network> network;
  LearnerOptions options;
  Layout layout;
  Buffer values, first, second;
  Buffer vectors, d_vectors;  // of a step, where its sequences learn from each other
  Buffer gradient;
  std::vector<std::unique_ptr<Slot>> slots;  // of each thread, or of each pass of a step
  std::vector<std::exception_ptr> failures;  // of each thread
  PassOrder order;
  Team team;
  MovingAverage average;
  uint64_t steps = 0;
  std::vector<Piece> pieces;  // all parameters but a sparse table
  std::vector<double> piece_squares;
  bool sparse;                     // only looked-up rows of the first tensor have gradients
  std::vector<int32_t> rows;       // looked up in this step, sorted
  std::vector<uint8_t> row_moves;  // rows whose moments are not zero

  State(std::unique_ptr<const Network> net, const LearnerOptions& opt)
      : network(std::move(net)),
        options(opt),
        layout(network->layout()),
        values(layout.floats()),
        first(layout.floats()),
        second(layout.floats()),
        team(options.threads),
        average(options.average, layout.floats(), team),
        sparse(network->takes_turns(layout) && network->sparse_table(layout)) {
    if (blas_state() == BlasState::missing) {
      throw Error(Error::Kind::no_input, "",
                  "training needs OpenBLAS, which cannot be loaded (package libopenblas0)");
    }
    if (options.bf16 && !nn::Bf16Products::available()) {
      throw Error(Error::Kind::unsupported, "",
                  "this CPU has no products in bf16 that are faster than floats: train in f32");
    }
    std::fill_n(gradient.reserve(layout.floats()), layout.floats(), 0.f);
    for (Buffer* b : {&values, &first, &second}) std::fill_n(b->data(), layout.floats(), 0.f);
    if (sparse) row_moves.assign(table().shape[0], 0);
    grow_slots(1);
  }

  const Parameter& table() const { return layout.parameters()[0]; }
  size_t table_width() const { return table().size / table().shape[0]; }

  void grow_slots(size_t count) {
    while (slots.size() < count) {
      slots.push_back(std::make_unique<Slot>());
      Slot& slot = *slots.back();
      float* sum = gradient.data();
      if (!network->takes_turns(layout)) {
        sum = slot.gradient.reserve(layout.floats());
        std::fill_n(sum, layout.floats(), 0.f);
      }
      slot.lane = network->lane(layout, values.data(), sum);
    }
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
    int32_t lowest = 0;
    for (const Parameter& p : layout.parameters()) lowest = std::max(lowest, p.depth);
    for (const Parameter& p : layout.parameters()) {
      if (p.rate_scale > 0) lowest = std::min(lowest, p.depth);
    }
    return lowest;
  }

  /// Calls use(i, slot) for each i < count, which are begun in their order. Then throws what one
  /// threw. A thread has a slot; with `keeps`, or for few i, each i has one of its own.
  template <typename Use>
  void in_threads(size_t count, bool keeps, Use use) {
    grow_slots(keeps ? count : std::min(count, static_cast<size_t>(team.size())));
    failures.assign(static_cast<size_t>(team.size()), nullptr);
    std::atomic<size_t> next{0};
    team.run([&](int part, int) {
      const auto thread = static_cast<size_t>(part);
      try {
        for (size_t i; (i = next++) < count;) use(i, *slots[count <= slots.size() ? i : thread]);
      } catch (const PassOrder::Failed&) {  // another thread has the reason
      } catch (...) {                       // out of memory
        failures[thread] = std::current_exception();
        order.fail();
      }
    });
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  /// Runs the passes of a step: use(slot, pass) for each, whose sequences are slot.part. Returns
  /// the sum of what these return. With `keeps`, a lane finds what it kept when the same passes ran
  /// before.
  template <typename Use>
  Tally run_passes(const TrainingBatch& batch, const Pass& pass, bool keeps, Use use) {
    const std::vector<size_t> bounds = cut_passes(batch, *network, options.max_pass_tokens);
    const size_t count = bounds.size() - 1;
    std::vector<Tally> tallies(count);
    order.begin(count);
    in_threads(count, keeps, [&](size_t i, Slot& slot) {
      Pass own = cut_pass(batch, bounds[i], bounds[i + 1], pass, slot.part);
      own.turn = {&order, i};
      tallies[i] = use(slot, own);
      order.end(i);
    });
    Tally tally;
    for (const Tally& t : tallies) tally += t;
    return tally;
  }

  /// The gradient of a pass.
  Tally learn_pass(Slot& slot, const Pass& pass) {
    if (!slot.gradient.data()) return slot.lane->learn(slot.part, pass);
    Pass alone = pass;
    alone.turn = {};
    const Tally tally = slot.lane->learn(slot.part, alone);
    pass.turn.reach(kEmbeddingStage);
    float* own = slot.gradient.data();
    gradient_kernels().axpy(1.f, own, layout.floats(), gradient.data());
    std::memset(own, 0, layout.floats() * sizeof(float));
    return tally;
  }

  void zero_gradient();
  void gather_rows(std::span<const TrainingBatch> batches);
  Tally learn(const TrainingBatch& batch, int32_t lowest);
  Tally learn_jointly(const TrainingBatch& batch, const Pass& pass);
  template <typename Use>
  void evaluate_passes(const TrainingBatch& batch, Use use);
  double gradient_norm();
  void update(double gradient_scale, double rate);
};

void Learner::State::zero_gradient() {
  const size_t begin = sparse ? table().size : 0, size = layout.floats() - begin;
  for (const int32_t row : rows) {  // the rows of the step before
    std::fill_n(gradient.data() + static_cast<size_t>(row) * table_width(), table_width(), 0.f);
  }
  team.run([&](int part, int parts) {
    const auto p = static_cast<size_t>(part), n = static_cast<size_t>(parts);
    std::fill(gradient.data() + begin + size * p / n, gradient.data() + begin + size * (p + 1) / n,
              0.f);
  });
}

void Learner::State::gather_rows(std::span<const TrainingBatch> batches) {
  if (!sparse) return;
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
  const Tally all = network->count(batch);
  const auto mean = [weight = network->weight(batch)](double count) {
    return count > 0 ? static_cast<float>(weight / count) : 0;
  };
  Pass pass;
  pass.scale = {mean(all.tokens), mean(all.sequences)};
  // The batches of one step have different heads, hence different masks.
  pass.key = mix(options.seed, steps) + batch.head;
  pass.lowest = lowest;
  if (network->vector_size() > 0) return learn_jointly(batch, pass);
  return run_passes(batch, pass, false,
                    [&](Slot& slot, const Pass& own) { return learn_pass(slot, own); });
}

/// The vectors of all sequences, their loss, and then the way back of each.
Tally Learner::State::learn_jointly(const TrainingBatch& batch, const Pass& pass) {
  const size_t count = batch.sequences(), width = network->vector_size();
  const Matrix all = vectors.matrix(count, width), d = d_vectors.zeros(count, width);
  const size_t held = options.max_pass_tokens * static_cast<size_t>(team.size());
  const bool keeps = batch.tokens() <= held;
  run_passes(batch, pass, keeps, [&](Slot& slot, const Pass& own) {
    slot.lane->vectors(slot.part, own, all.slice(own.sequence_0, slot.part.sequences()));
    return Tally();
  });
  Tally tally = network->judge(batch, all, d);
  return tally += run_passes(batch, pass, keeps, [&](Slot& slot, Pass own) {
           own.d_vectors = d.slice(own.sequence_0, slot.part.sequences());
           return learn_pass(slot, own);
         });
}

double Learner::State::gradient_norm() {
  const float* all = gradient.data();
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < pieces.size(); i += static_cast<size_t>(parts)) {
      const Piece& piece = pieces[i];
      piece_squares[i] = piece.parameter->rate_scale == 0
                             ? 0
                             : gradient_kernels().sum_squares(all + piece.begin, piece.size);
    }
  });
  double squares = 0;
  for (const double s : piece_squares) squares += s;
  if (sparse && layout.parameters()[0].rate_scale > 0) {
    const size_t width = table_width();
    for (const int32_t row : rows) {
      squares += gradient_kernels().sum_squares(all + static_cast<size_t>(row) * width, width);
    }
  }
  return std::sqrt(squares);
}

void Learner::State::update(double gradient_scale, double rate) {
  const auto task = [&](const Parameter& p, size_t begin, size_t size, bool has_gradient) {
    AdamWTask a =
        adamw_task(options.optimizer, steps, rate * static_cast<double>(p.rate_scale), p.decays);
    a.value = values.data() + begin;
    a.gradient = has_gradient ? gradient.data() + begin : nullptr;
    a.first = first.data() + begin;
    a.second = second.data() + begin;
    a.n = size;
    a.gradient_scale = static_cast<float>(gradient_scale);
    return a;
  };
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < pieces.size(); i += static_cast<size_t>(parts)) {
      const Piece& piece = pieces[i];
      if (piece.parameter->rate_scale == 0) continue;
      gradient_kernels().adamw(task(*piece.parameter, piece.begin, piece.size, true));
    }
    if (!sparse || table().rate_scale == 0) return;
    const size_t width = table_width(), count = table().shape[0];
    const auto p = static_cast<size_t>(part), n = static_cast<size_t>(parts);
    auto next = std::lower_bound(rows.begin(), rows.end(), static_cast<int32_t>(count * p / n));
    for (size_t row = count * p / n; row < count * (p + 1) / n; ++row) {
      const bool used = next != rows.end() && static_cast<size_t>(*next) == row;
      if (used) ++next;
      const AdamWTask a = task(table(), row * width, width, used);
      if (row_moves[row]) {
        gradient_kernels().adamw(a);
      } else if (a.keep != 1.f) {  // zero moments: only weight decay
        for (size_t i = 0; i < width; ++i) a.value[i] *= a.keep;
      }
    }
  });
}

Learner::Learner(std::unique_ptr<const Network> network, const LearnerOptions& options)
    : state_(std::make_unique<State>(std::move(network), options)) {
  // State holds references into itself, so it is made in place.
}
Learner::~Learner() = default;

const Network& Learner::network() const { return *state_->network; }
Layout& Learner::layout() { return state_->layout; }
float* Learner::values() { return state_->values.data(); }
float* Learner::first_moments() { return state_->first.data(); }
float* Learner::second_moments() { return state_->second.data(); }
MovingAverage& Learner::average() { return state_->average; }
uint64_t Learner::steps() const { return state_->steps; }
size_t Learner::bytes_to_come(const StepSize& size, bool evaluates) const {
  const State& s = *state_;
  const auto threads = static_cast<size_t>(s.team.size());
  const size_t passes = pass_count(size.tokens), lanes = std::min(threads, passes);
  const size_t pass = std::min(std::max(s.options.max_pass_tokens, size.longest),
                               size.tokens / passes + size.longest / 2);
  size_t floats = lanes * s.network->pass_floats(pass, size.longest);
  if (!s.network->takes_turns(s.layout) && lanes > s.slots.size()) {
    floats += (lanes - s.slots.size()) * s.layout.floats();
  }
  if (evaluates) floats += s.network->evaluation_floats(threads, size.longest);
  return floats * sizeof(float);
}
Team& Learner::team() { return state_->team; }
const float* Learner::gradient() const { return state_->gradient.data(); }

void Learner::set_steps(uint64_t done) {
  State& s = *state_;
  s.steps = done;
  const size_t width = s.sparse ? s.table_width() : 0;
  for (size_t row = 0; row < s.row_moves.size(); ++row) {
    const float* second = s.second.data() + row * width;
    s.row_moves[row] |= std::any_of(second, second + width, [](float v) { return v != 0; });
  }
}

StepResult Learner::step(std::span<const TrainingBatch> batches) {
  State& s = *state_;
  for (const TrainingBatch& batch : batches) s.network->check(batch);
  if (s.pieces.empty()) s.cut_pieces();
  s.zero_gradient();
  s.gather_rows(batches);
  const int32_t lowest = s.lowest_depth();
  StepResult result;
  for (const TrainingBatch& batch : batches) {
    const Tally tally = s.learn(batch, lowest);
    result.tally += tally;
    result.loss += s.network->weight(batch) * tally.loss();
  }
  s.network->finish_gradient(s.values.data(), s.gradient.data(), s.team);
  result.gradient_norm = s.gradient_norm();
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
  if (s.steps == 0) s.average.begin(s.values.data());
  s.update(clip, result.learning_rate);
  s.network->settle(s.values.data(), s.first.data(), s.team);
  s.average.move(s.values.data(), ++s.steps);
  return result;
}

/// Calls use(i, slot, pass) for each pass i.
template <typename Use>
void Learner::State::evaluate_passes(const TrainingBatch& batch, Use use) {
  network->check(batch);
  std::vector<size_t> bounds{0};
  cut_by_limit(batch, batch.sequences(), options.max_pass_tokens, bounds);
  Pass pass;
  pass.learns = false;
  in_threads(bounds.size() - 1, false, [&](size_t i, Slot& slot) {
    use(i, slot, cut_pass(batch, bounds[i], bounds[i + 1], pass, slot.part));
  });
}

Tally Learner::evaluate(const TrainingBatch& batch) {
  std::vector<Tally> tallies(batch.sequences());
  state_->evaluate_passes(batch, [&](size_t i, Slot& slot, const Pass& pass) {
    tallies[i] = slot.lane->learn(slot.part, pass);
  });
  Tally sum;
  for (const Tally& tally : tallies) sum += tally;
  return sum;
}

void Learner::vectors(const TrainingBatch& batch, Matrix out) {
  state_->evaluate_passes(batch, [&](size_t, Slot& slot, const Pass& pass) {
    slot.lane->vectors(slot.part, pass, out.slice(pass.sequence_0, slot.part.sequences()));
  });
}

}  // namespace bert::training
