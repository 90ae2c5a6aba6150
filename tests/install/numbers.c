/* numbers MODEL TASK THREADS <lines: what the library computes of all lines in one batch, as the
 * tool for that task prints it. TASK vectors: the sentence vectors as raw floats; rows: what
 * bert_stream writes of the bare encoder. */
#include <bert/bert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status) {
  if (status == BERT_OK) return;
  fprintf(stderr, "numbers: %s\n", bert_last_error());
  exit(status);
}

static void vectors(bert_batch* batch) {
  bert_matrix v;
  check(bert_sentence_vectors(batch, &v));
  fwrite(v.data, sizeof(float), v.rows * v.cols, stdout);
}

static void fill_masks(const bert_model* model, bert_batch* batch) {
  const bert_filling* f;
  size_t i, count;
  check(bert_fill_masks(batch, 3, &f, &count));
  for (i = 0; i < count; ++i) {
    const bert_text token = bert_token(bert_model_tokenizer(model), f[i].id);
    printf("%zu\t%.6g\t%.*s\n", f[i].sequence + 1, f[i].probability, (int)token.size, token.data);
  }
}

/* label TAB probability of each row */
static void best_labels(const bert_model* model, bert_matrix p, const int8_t* sequence_ids) {
  size_t i, k, best;
  for (i = 0; i < p.rows; ++i) {
    const float* row = p.data + i * p.cols;
    if (sequence_ids && sequence_ids[i] < 0) continue;
    for (best = 0, k = 1; k < p.cols; ++k)
      if (row[k] > row[best]) best = k;
    printf("%s\t%.6g\n", bert_label(model, best), (double)row[best]);
  }
}

static void token_labels(const bert_model* model, bert_batch* batch) {
  bert_matrix p, some;
  size_t s;
  check(bert_label_tokens(batch, &p));
  for (s = 0; s < bert_batch_size(batch); ++s) {
    some.data = p.data + bert_batch_begin(batch, s) * p.cols;
    some.rows = bert_batch_begin(batch, s + 1) - bert_batch_begin(batch, s);
    some.cols = p.cols;
    best_labels(model, some, bert_encoding_sequence_ids(bert_batch_encoding(batch, s)));
  }
}

static void next_sentence(bert_batch* batch) {
  const double* p;
  size_t s;
  check(bert_next_sentence(batch, &p));
  for (s = 0; s < bert_batch_size(batch); ++s) printf("%.6g\n", p[s]);
}

static void answers(bert_batch* batch, const char* line, const char* tab) {
  const bert_text question = {line, (size_t)(tab - line)}, context = {tab + 1, strlen(tab + 1)};
  const bert_answer* a;
  size_t i, count;
  check(bert_find_answers(batch, question, context, 3, &a, &count, NULL));
  for (i = 0; i < count; ++i)
    printf("%.*s\t%.6g\t%zu\t%zu\n", (int)(a[i].end - a[i].begin), context.data + a[i].begin,
           a[i].score, a[i].begin, a[i].end);
}

int main(int argc, char** argv) {
  static char line[1 << 16];
  bert_model_options options;
  bert_batch_options batch_options;
  bert_model* model;
  bert_batch* batch;
  bert_matrix p;
  if (argc != 4) return BERT_USAGE;
  memset(&options, 0, sizeof options);
  memset(&batch_options, 0, sizeof batch_options);
  options.size = sizeof options;
  options.task = strcmp(argv[2], "vectors") && strcmp(argv[2], "rows") ? argv[2] : NULL;
  batch_options.size = sizeof batch_options;
  batch_options.threads = atoi(argv[3]);
  check(bert_model_open(argv[1], &options, &model));
  if (!strcmp(argv[2], "rows")) {
    bert_stream_options stream;
    memset(&stream, 0, sizeof stream);
    stream.size = sizeof stream;
    stream.threads = batch_options.threads;
    check(bert_stream(model, &stream, NULL));
    bert_model_close(model);
    return 0;
  }
  check(bert_batch_open(model, &batch_options, &batch));
  while (fgets(line, sizeof line, stdin)) {
    char* tab = strchr(line, '\t');
    line[strcspn(line, "\n")] = 0;
    if (!strcmp(argv[2], "question-answering"))
      answers(batch, line, tab);
    else
      check(bert_batch_add(batch, line, tab ? (size_t)(tab - line) : BERT_NUL, tab ? tab + 1 : NULL,
                           BERT_NUL));
  }
  if (!strcmp(argv[2], "vectors")) vectors(batch);
  if (!strcmp(argv[2], "fill-mask")) fill_masks(model, batch);
  if (!strcmp(argv[2], "token-classification")) token_labels(model, batch);
  if (!strcmp(argv[2], "next-sentence-prediction")) next_sentence(batch);
  if (!strcmp(argv[2], "text-classification")) {
    check(bert_classify(batch, &p));
    best_labels(model, p, NULL);
  }
  bert_batch_close(batch);
  bert_model_close(model);
  return 0;
}
