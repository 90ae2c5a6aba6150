/* Attention over matrices of one's own: three queries, two keys, two heads; the last query sees the
 * first key alone. */
#include <bert/bert.h>
#include <math.h>
#include <stdio.h>

int main(void) {
  const float q[3 * 4] = {1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1}; /* [3, 4] */
  const float k[2 * 4] = {1, 0, 0, 1, 0, 2, 2, 0};             /* [2, 4] */
  const float v[2 * 2] = {1, 2, 3, 4};                         /* [2, 2] */
  const float mask[3 * 2] = {0, 0, 0, 0, 0, -INFINITY};        /* [3, 2] */
  const bert_matrix queries = {q, 3, 4}, keys = {k, 2, 4}, values = {v, 2, 2};
  bert_attention_options options = {.size = sizeof options, .heads = 2, .mask = mask};
  float out[3 * 2], weights[2 * 3 * 2]; /* [3, 2] and [heads, 3, 2] */
  int i, status;
  status = bert_attention(queries, keys, values, &options, out, weights);
  if (status != BERT_OK) {
    fprintf(stderr, "attention: %s\n", bert_last_error());
    return status;
  }
  for (i = 0; i < 3; ++i)
    printf("%.6g %.6g\t%.6g %.6g\n", weights[2 * i], weights[2 * i + 1], out[2 * i],
           out[2 * i + 1]);
  return 0;
}
