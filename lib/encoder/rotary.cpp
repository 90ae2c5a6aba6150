#include "encoder/rotary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/team.h"

namespace bert {
namespace {

/// Pairs (x[i * step], y[i * step]) of one head [D] of one token, with its cosines and sines. With
/// x and y exchanged it turns the other way.
void turn(const float* turns, size_t half, size_t step, float* x, float* y) {
  const float* sines = turns + half;
  for (size_t i = 0; i < half; ++i) {
    const float a = x[i * step], b = y[i * step];
    x[i * step] = a * turns[i] - b * sines[i];
    y[i * step] = b * turns[i] + a * sines[i];
  }
}

/// Cosine and sine of pair `i` at a place. RoFormer's are made of doubles.
std::pair<float, float> turn_at(const Rotary& rotary, float frequency, size_t i, size_t head_size,
                                size_t place) {
  if (!rotary.neighbours) {
    const float angle = static_cast<float>(place) * frequency;
    return {std::cos(angle), std::sin(angle)};
  }
  if (rotary.stored) {
    const float* sines = rotary.stored->values.data() + place * head_size;
    return {sines[head_size / 2 + i], sines[i]};
  }
  const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_size);
  const double angle = static_cast<double>(place) / std::pow(rotary.theta, exponent);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace

std::vector<float> rotary_frequencies(const Rotary& rotary, size_t head_size) {
  if (rotary.stored && !rotary.neighbours) return rotary.stored->values;
  std::vector<float> frequencies(head_size / 2);
  const double base = rotary.theta * rotary.ntk;
  const auto width = static_cast<float>(head_size);
  const auto shrink = static_cast<float>(std::pow(rotary.ntk, 2.0 / static_cast<double>(width)));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / width;
    frequencies[i] = 1.0f / static_cast<float>(std::pow(base, static_cast<double>(exponent)));
    frequencies[i] /= shrink;
    frequencies[i] /= static_cast<float>(rotary.linear);
  }
  return frequencies;
}

ConstMatrix RotaryTables::of(const Rotary& rotary, size_t head_size, size_t places) {
  auto found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) {
    return t.rotary == rotary && t.head_size == head_size;
  });
  if (found == tables_.end()) {
    tables_.push_back({rotary, head_size, {}});
    found = tables_.end() - 1;
  }
  std::vector<float>& turns = found->turns;
  const size_t known = turns.size() / head_size, half = head_size / 2;
  if (known < places) {
    const std::vector<float> frequencies = rotary_frequencies(rotary, head_size);
    turns.resize(places * head_size);
    for (size_t place = known; place < places; ++place) {
      for (size_t i = 0; i < half; ++i) {
        const auto [cosine, sine] = turn_at(rotary, frequencies[i], i, head_size, place);
        turns[place * head_size + i] = cosine;
        turns[place * head_size + half + i] = sine;
      }
    }
  }
  return {turns.data(), places, head_size};
}

void rotate(const Rotary& rotary, HeadColumns heads, const PackedBatch& batch, Matrix qkv,
            RotaryTables& tables, Team* team, bool back) {
  const size_t head_size = heads.size, half = head_size / 2;
  const auto last = std::max_element(batch.position_ids.begin(), batch.position_ids.end());
  const ConstMatrix turns = tables.of(rotary, head_size, static_cast<size_t>(*last) + 1);
  const auto run = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const float* own = turns.row(static_cast<size_t>(batch.position_ids[t]));
      for (size_t head = 0; head < heads.count; ++head) {
        float* x = qkv.row(t) + head * head_size;
        float* y = rotary.neighbours ? x + 1 : x + half;
        if (back) std::swap(x, y);
        turn(own, half, rotary.neighbours ? 2 : 1, x, y);
      }
    }
  };
  if (!team) return run(0, qkv.rows);
  team->run([&](int part, int parts) {
    const auto p = static_cast<size_t>(part), n = static_cast<size_t>(parts);
    run(qkv.rows * p / n, qkv.rows * (p + 1) / n);
  });
}

}  // namespace bert
