// Attention over matrices of one's own: three queries, two keys, two heads; the last query sees the
// first key alone.
#include <bert/attention.h>

#include <cmath>
#include <cstdio>

int main() {
  const float q[3 * 4] = {1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1};  // [3, 4]
  const float k[2 * 4] = {1, 0, 0, 1, 0, 2, 2, 0};              // [2, 4]
  const float v[2 * 2] = {1, 2, 3, 4};                          // [2, 2]
  const float mask[3 * 2] = {0, 0, 0, 0, 0, -INFINITY};         // [3, 2]
  try {
    bert::AttentionOptions options;
    options.heads = 2;
    options.mask = mask;
    const bert::Attention a = bert::attention({q, 3, 4}, {k, 2, 4}, {v, 2, 2}, options);
    for (size_t i = 0; i < 3; ++i) {
      std::printf("%.6g %.6g\t%.6g %.6g\n", a.weights[2 * i], a.weights[2 * i + 1], a.out[2 * i],
                  a.out[2 * i + 1]);
    }
  } catch (const bert::Error& error) {
    return std::fprintf(stderr, "attention: %s\n", error.what()), error.status();
  }
}
