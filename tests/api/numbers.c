/* numbers MODEL TASK HEAD THREADS WHAT <lines: what the library computes of all lines, as the tool
 * for that task prints it. An empty TASK is the bare encoder, an empty HEAD the first that fits.
 *   numbers   of one batch of all lines; vectors and the labels of tokens as raw floats
 *   rows      of bert_stream
 * numbers floats <text: the floats that are written there, raw. */
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

/* The probability of each label, or the value. */
static void labels(bert_batch* batch) {
  bert_matrix p;
  size_t i, k;
  check(bert_classify(batch, &p));
  for (i = 0; i < p.rows; ++i)
    for (k = 0; k < p.cols; ++k)
      printf("%.6g%c", (double)p.data[i * p.cols + k], k + 1 < p.cols ? '\t' : '\n');
}

/* The probabilities of the texts' own tokens. */
static void token_labels(bert_batch* batch) {
  bert_matrix p;
  size_t s, t;
  check(bert_label_tokens(batch, &p));
  for (s = 0; s < bert_batch_size(batch); ++s) {
    const int8_t* texts = bert_encoding_sequence_ids(bert_batch_encoding(batch, s));
    const size_t first = bert_batch_begin(batch, s);
    for (t = first; t < bert_batch_begin(batch, s + 1); ++t)
      if (texts[t - first] >= 0) fwrite(p.data + t * p.cols, sizeof(float), p.cols, stdout);
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

static void rows(const bert_model* model, int threads) {
  bert_stream_options stream;
  memset(&stream, 0, sizeof stream);
  stream.size = sizeof stream;
  stream.threads = threads;
  check(bert_stream(model, &stream, NULL));
}

static void numbers(const bert_model* model, const char* task, int threads) {
  static char line[1 << 16];
  bert_batch_options options;
  bert_batch* batch;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.threads = threads;
  check(bert_batch_open(model, &options, &batch));
  while (fgets(line, sizeof line, stdin)) {
    char* tab = strchr(line, '\t');
    line[strcspn(line, "\n")] = 0;
    if (!strcmp(task, "question-answering"))
      answers(batch, line, tab);
    else
      check(bert_batch_add(batch, line, tab ? (size_t)(tab - line) : BERT_NUL, tab ? tab + 1 : NULL,
                           BERT_NUL));
  }
  if (!*task) vectors(batch);
  if (!strcmp(task, "fill-mask")) fill_masks(model, batch);
  if (!strcmp(task, "token-classification")) token_labels(batch);
  if (!strcmp(task, "next-sentence-prediction")) next_sentence(batch);
  if (!strcmp(task, "text-classification")) labels(batch);
  bert_batch_close(batch);
}

static int floats(void) {
  float x;
  while (scanf("%f", &x) == 1) fwrite(&x, sizeof x, 1, stdout);
  return 0;
}

int main(int argc, char** argv) {
  bert_model_options options;
  bert_model* model;
  if (argc == 2 && !strcmp(argv[1], "floats")) return floats();
  if (argc != 6) return BERT_USAGE;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.task = *argv[2] ? argv[2] : NULL;
  options.head = *argv[3] ? argv[3] : NULL;
  check(bert_model_open(argv[1], &options, &model));
  if (!strcmp(argv[5], "rows"))
    rows(model, atoi(argv[4]));
  else
    numbers(model, argv[2], atoi(argv[4]));
  bert_model_close(model);
  return 0;
}
