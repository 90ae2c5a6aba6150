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
#include "training/shares.h"

namespace bert::training {
namespace {

constexpr size_t kChunk = size_t{1} << 16;  // floats that one task of reduce and update handles

/// One thread's lane and what belongs to it.
struct Thread {
  Buffer gradient;
  std::unique_ptr<Lane> lane;
  TrainingBatch part;
  Tally tally;
  std::exception_ptr failure;
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
  std::vector<std::unique_ptr<Thread>> threads;
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
        sparse(network->sparse_table(layout)) {
    if (blas_state() == BlasState::missing) {
      throw Error(Error::Kind::no_input, "",
                  "training needs OpenBLAS, which cannot be loaded (package libopenblas0)");
    }
    if (options.bf16 && !nn::Bf16Products::available()) {
      throw Error(Error::Kind::unsupported, "",
                  "this CPU has no products in bf16 that are faster than floats: train in f32");
    }
    for (Buffer* b : {&values, &first, &second}) std::fill_n(b->data(), layout.floats(), 0.f);
    if (sparse) row_moves.assign(table().shape[0], 0);
    grow_threads(1);
  }

  const Parameter& table() const { return layout.parameters()[0]; }
  size_t table_width() const { return table().size / table().shape[0]; }

  /// Each thread has a whole gradient, so there are only as many as have had sequences.
  void grow_threads(size_t count) {
    while (threads.size() < count) {
      threads.push_back(std::make_unique<Thread>());
      Thread& thread = *threads.back();
      std::fill_n(thread.gradient.reserve(layout.floats()), layout.floats(), 0.f);
      thread.lane = network->lane(layout, values.data(), thread.gradient.data());
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

  /// Calls use(number of the thread) in each thread that has memory, and then throws what one
  /// threw.
  template <typename Use>
  void in_threads(Use use) {
    team.run([&](int part, int) {
      const auto p = static_cast<size_t>(part);
      if (p >= threads.size()) return;
      threads[p]->failure = nullptr;
      try {
        use(p);
      } catch (...) {  // out of memory
        threads[p]->failure = std::current_exception();
      }
    });
    for (const auto& thread : threads) {
      if (thread->failure) std::rethrow_exception(thread->failure);
    }
  }

  /// Where the pass that begins with sequence `first_s` ends, at most at `end`.
  size_t end_of_pass(const TrainingBatch& batch, size_t first_s, size_t end) const {
    size_t last = first_s + 1;
    while (last < end && batch.tokens(first_s, last + 1) <= options.max_pass_tokens) ++last;
    return last;
  }

  /// One pass of sequences [first_s, last).
  Pass cut_pass(const TrainingBatch& batch, size_t first_s, size_t last, Pass pass,
                TrainingBatch& part) const {
    slice(batch, first_s, last, part);
    pass.sequence_0 = first_s;
    pass.token_0 = batch.batch.begin(first_s);
    pass.target_0 = batch.target.empty() ? 0 : batch.target.begin(first_s);
    return pass;
  }

  /// Runs the passes of each thread: use(thread, pass) for each, whose sequences are thread.part.
  template <typename Use>
  void run_passes(const TrainingBatch& batch, const Pass& pass, Use use) {
    const std::vector<size_t> bounds = shares(batch, *network, static_cast<size_t>(team.size()));
    grow_threads(bounds.size() - 1);
    in_threads([&](size_t p) {
      Thread& thread = *threads[p];
      thread.tally = {};
      if (p + 1 >= bounds.size()) return;
      for (size_t first_s = bounds[p], last; first_s < bounds[p + 1]; first_s = last) {
        last = end_of_pass(batch, first_s, bounds[p + 1]);
        use(thread, cut_pass(batch, first_s, last, pass, thread.part));
      }
    });
  }

  Tally sum_tallies() const {
    Tally tally;
    for (const auto& thread : threads) tally += thread->tally;
    return tally;
  }

  void zero_gradients();
  void gather_rows(std::span<const TrainingBatch> batches);
  Tally learn(const TrainingBatch& batch, int32_t lowest);
  Tally learn_jointly(const TrainingBatch& batch, const Pass& pass);
  template <typename Use>
  void evaluate_passes(const TrainingBatch& batch, Use use);
  double reduce();
  void update(double gradient_scale, double rate);
};

void Learner::State::zero_gradients() {
  team.run([&](int part, int) {
    if (static_cast<size_t>(part) >= threads.size()) return;
    float* gradient = threads[static_cast<size_t>(part)]->gradient.data();
    const size_t begin = sparse ? table().size : 0;
    for (const int32_t row : rows) {  // the rows of the step before
      std::fill_n(gradient + static_cast<size_t>(row) * table_width(), table_width(), 0.f);
    }
    std::memset(gradient + begin, 0, (layout.floats() - begin) * sizeof(float));
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
  run_passes(batch, pass, [](Thread& thread, const Pass& own) {
    thread.tally += thread.lane->learn(thread.part, own);
  });
  return sum_tallies();
}

/// The vectors of all sequences, their loss, and then the way back of each.
Tally Learner::State::learn_jointly(const TrainingBatch& batch, const Pass& pass) {
  const size_t count = batch.sequences(), width = network->vector_size();
  const Matrix all = vectors.matrix(count, width), d = d_vectors.zeros(count, width);
  run_passes(batch, pass, [&](Thread& thread, const Pass& own) {
    thread.lane->vectors(thread.part, own, all.slice(own.sequence_0, thread.part.sequences()));
  });
  Tally tally = network->judge(batch, all, d);
  run_passes(batch, pass, [&](Thread& thread, Pass own) {
    own.d_vectors = d.slice(own.sequence_0, thread.part.sequences());
    thread.tally += thread.lane->learn(thread.part, own);
  });
  return tally += sum_tallies();
}

/// Adds the gradients of all lanes to that of the first; returns the norm of the sum.
double Learner::State::reduce() {
  const auto add_lanes = [&](size_t begin, size_t size) {
    float* sum = threads[0]->gradient.data() + begin;
    for (size_t i = 1; i < threads.size(); ++i) {
      gradient_kernels().axpy(1.f, threads[i]->gradient.data() + begin, size, sum);
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
    const size_t width = table_width();
    for (const int32_t row : rows) squares += add_lanes(static_cast<size_t>(row) * width, width);
  }
  return std::sqrt(squares);
}

void Learner::State::update(double gradient_scale, double rate) {
  const auto task = [&](const Parameter& p, size_t begin, size_t size, bool has_gradient) {
    AdamWTask a =
        adamw_task(options.optimizer, steps, rate * static_cast<double>(p.rate_scale), p.decays);
    a.value = values.data() + begin;
    a.gradient = has_gradient ? threads[0]->gradient.data() + begin : nullptr;
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
  const size_t lanes = std::min(threads, std::max<size_t>(size.sequences, 1));
  const size_t pass = std::min(std::max(s.options.max_pass_tokens, size.longest),
                               size.tokens / lanes + size.longest / 2);
  size_t floats = lanes * s.network->pass_floats(pass, size.longest) +
                  (lanes - s.threads.size()) * s.layout.floats();
  if (evaluates) floats += s.network->evaluation_floats(threads, size.longest);
  return floats * sizeof(float);
}
size_t Learner::lanes() const { return state_->threads.size(); }
Team& Learner::team() { return state_->team; }
const float* Learner::gradient() const { return state_->threads[0]->gradient.data(); }

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
  s.zero_gradients();
  s.gather_rows(batches);
  const int32_t lowest = s.lowest_depth();
  StepResult result;
  for (const TrainingBatch& batch : batches) {
    const Tally tally = s.learn(batch, lowest);
    result.tally += tally;
    result.loss += s.network->weight(batch) * tally.loss();
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
  if (s.steps == 0) s.average.begin(s.values.data());
  s.update(clip, result.learning_rate);
  s.network->settle(s.values.data(), s.first.data(), s.team);
  s.average.move(s.values.data(), ++s.steps);
  return result;
}

/// Calls use(i, thread, pass) for each pass i. They are cut without regard to the threads, so that
/// each computes the same whoever runs it.
template <typename Use>
void Learner::State::evaluate_passes(const TrainingBatch& batch, Use use) {
  network->check(batch);
  std::vector<size_t> bounds{0};
  while (bounds.back() < batch.sequences()) {
    bounds.push_back(end_of_pass(batch, bounds.back(), batch.sequences()));
  }
  Pass pass;
  pass.learns = false;
  std::atomic<size_t> next{0};
  in_threads([&](size_t p) {
    Thread& thread = *threads[p];
    for (size_t i; (i = next++) + 1 < bounds.size();) {
      use(i, thread, cut_pass(batch, bounds[i], bounds[i + 1], pass, thread.part));
    }
  });
}

Tally Learner::evaluate(const TrainingBatch& batch) {
  std::vector<Tally> tallies(batch.sequences());
  state_->evaluate_passes(batch, [&](size_t i, Thread& thread, const Pass& pass) {
    tallies[i] = thread.lane->learn(thread.part, pass);
  });
  Tally sum;
  for (const Tally& tally : tallies) sum += tally;
  return sum;
}

void Learner::vectors(const TrainingBatch& batch, Matrix out) {
  state_->evaluate_passes(batch, [&](size_t, Thread& thread, const Pass& pass) {
    thread.lane->vectors(thread.part, pass, out.slice(pass.sequence_0, thread.part.sequences()));
  });
}

}  // namespace bert::training
