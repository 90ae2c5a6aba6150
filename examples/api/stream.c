/* How like a sentence each line is, on all CPUs, in the order of the lines: stream MODEL SENTENCE
 * <lines */
#include <bert/bert.h>
#include <stdio.h>

/* Runs on several threads at once, each with a batch of its own. */
static int work(void* user, bert_batch* batch, const bert_text* lines, size_t count,
                bert_rows* rows) {
  const bert_matrix* sentence = user; /* [1, W] */
  bert_matrix v;                      /* [count, W] */
  char score[32];
  size_t i;
  int status = BERT_OK;
  for (i = 0; i < count && status == BERT_OK; ++i)
    status = bert_batch_add(batch, lines[i].data, lines[i].size, NULL, 0);
  if (status == BERT_OK) status = bert_sentence_vectors(batch, &v);
  for (i = 0; i < count && status == BERT_OK; ++i) {
    snprintf(score, sizeof score, "%.6g\t",
             bert_cosine(sentence->data, v.data + i * v.cols, v.cols));
    status = bert_rows_append(rows, score, BERT_NUL);
    if (status == BERT_OK) status = bert_rows_append(rows, lines[i].data, lines[i].size);
    if (status == BERT_OK) status = bert_rows_append(rows, "\n", 1);
  }
  return status;
}

int main(int argc, char** argv) {
  bert_stream_options options = {.size = sizeof options, .work = work};
  bert_model* model = NULL;
  bert_batch* batch = NULL;
  bert_matrix sentence;
  int status;
  if (argc != 3) {
    fprintf(stderr, "usage: stream MODEL SENTENCE <lines\n");
    return BERT_USAGE;
  }
  options.user = &sentence;
  if ((status = bert_model_open(argv[1], NULL, &model)) != BERT_OK ||
      (status = bert_batch_open(model, NULL, &batch)) != BERT_OK ||
      (status = bert_batch_add(batch, argv[2], BERT_NUL, NULL, 0)) != BERT_OK ||
      (status = bert_sentence_vectors(batch, &sentence)) != BERT_OK ||
      (status = bert_stream(model, &options, NULL)) != BERT_OK)
    fprintf(stderr, "stream: %s\n", bert_last_error());
  bert_batch_close(batch);
  bert_model_close(model);
  return status;
}
