/* How alike two sentences are: vector MODEL SENTENCE SENTENCE */
#include <bert/bert.h>
#include <stdio.h>

int main(int argc, char** argv) {
  bert_model* model = NULL;
  bert_batch* batch = NULL;
  bert_matrix v; /* [2, W] */
  int status;
  if (argc != 4) {
    fprintf(stderr, "usage: vector MODEL SENTENCE SENTENCE\n");
    return BERT_USAGE;
  }
  if ((status = bert_model_open(argv[1], NULL, &model)) == BERT_OK &&
      (status = bert_batch_open(model, NULL, &batch)) == BERT_OK &&
      (status = bert_batch_add(batch, argv[2], BERT_NUL, NULL, 0)) == BERT_OK &&
      (status = bert_batch_add(batch, argv[3], BERT_NUL, NULL, 0)) == BERT_OK &&
      (status = bert_sentence_vectors(batch, &v)) == BERT_OK)
    printf("%.6g\n", bert_cosine(v.data, v.data + v.cols, v.cols));
  else
    fprintf(stderr, "vector: %s\n", bert_last_error());
  bert_batch_close(batch);
  bert_model_close(model);
  return status;
}
