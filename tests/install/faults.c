/* faults MODELS: what the functions of bert.h do with wrong arguments, with texts that do not fit,
 * and in many threads. MODELS is tests/golden. */
#include <bert/bert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      printf("FAIL line %d: %s (last error: %s)\n", __LINE__, #condition, bert_last_error()); \
      ++failures;                                                                             \
    }                                                                                         \
  } while (0)
#define FAILS(status, call, text) \
  CHECK((call) == (status));      \
  CHECK(strstr(bert_last_error(), (text)) != NULL)

static const char* models;
static const char* path(const char* name) {
  static char text[4096];
  snprintf(text, sizeof text, "%s/%s", models, name);
  return text;
}

static bert_model* open_model(const char* name, const char* task) {
  bert_model_options options = {sizeof options, NULL, NULL, BERT_DTYPE_AUTO, 0};
  bert_model* model = NULL;
  options.task = task;
  if (bert_model_open(path(name), &options, &model) == BERT_OK) return model;
  printf("FAIL %s: %s\n", name, bert_last_error());
  exit(1);
}

static void test_open(void) {
  struct {
    bert_model_options known;
    size_t unknown;
  } newer = {{sizeof newer, NULL, NULL, BERT_DTYPE_AUTO, 0}, 0};
  bert_model_options options = {sizeof options, "no-task", NULL, BERT_DTYPE_AUTO, 0};
  bert_model* model = (bert_model*)&options;
  bert_tokenizer* tokenizer = (bert_tokenizer*)&options;
  bert_batch* batch = (bert_batch*)&options;
  CHECK(strcmp(bert_last_error(), "") == 0);
  FAILS(BERT_NO_INPUT, bert_model_open("/no/such/model", NULL, &model), "/no/such/model");
  CHECK(model == NULL);
  FAILS(BERT_NO_INPUT, bert_tokenizer_open("/no/such/model", &tokenizer), "/no/such/model");
  CHECK(tokenizer == NULL);
  FAILS(BERT_USAGE, bert_model_open("", NULL, &model), "model: found an empty name");
  FAILS(BERT_USAGE, bert_model_open(path("tiny-bert"), NULL, NULL), "opened: found NULL");
  FAILS(BERT_USAGE, bert_model_open(path("tiny-bert"), &options, &model), "no-task");
  options.task = "token-classification";
  FAILS(BERT_DATA, bert_model_open(path("tiny-bert"), &options, &model), "tiny-bert");
  options.task = NULL;
  options.dtype = (bert_dtype)9;
  FAILS(BERT_USAGE, bert_model_open(path("tiny-bert"), &options, &model), "dtype: found 9");
  options.dtype = BERT_DTYPE_AUTO;
  options.size = 0;
  FAILS(BERT_USAGE, bert_model_open(path("tiny-bert"), &options, &model), "'size'");
  /* Of another version: shorter, longer with zeros, longer with something set. */
  options.size = offsetof(bert_model_options, no_mmap);
  CHECK(bert_model_open(path("tiny-bert"), &options, &model) == BERT_OK);
  bert_model_close(model);
  CHECK(bert_model_open(path("tiny-bert"), &newer.known, &model) == BERT_OK);
  bert_model_close(model);
  newer.unknown = 1;
  FAILS(BERT_USAGE, bert_model_open(path("tiny-bert"), &newer.known, &model), "newer");
  FAILS(BERT_USAGE, bert_batch_open(NULL, NULL, &batch), "model: found NULL");
  CHECK(batch == NULL);
}

static void test_null(void) {
  bert_matrix m = {NULL, 1, 1};
  const float number = 1;
  const bert_matrix one = {&number, 1, 1};
  float out[1];
  const bert_filling* f;
  const bert_answer* a;
  const bert_text none = {NULL, 0};
  const double* p;
  char* text;
  size_t count;
  bert_encoding* encoding = bert_encoding_open();
  CHECK(bert_encode(NULL, "a", 1, NULL, 0, NULL, encoding) == BERT_USAGE);
  CHECK(bert_decode(NULL, NULL, 0, 0, &text) == BERT_USAGE);
  CHECK(bert_batch_add(NULL, "a", 1, NULL, 0) == BERT_USAGE);
  CHECK(bert_batch_add_ids(NULL, NULL, NULL, 1) == BERT_USAGE);
  CHECK(bert_embeddings(NULL, &m) == BERT_USAGE);
  CHECK(bert_hidden_states(NULL, 0, &m) == BERT_USAGE);
  CHECK(bert_sentence_vectors(NULL, &m) == BERT_USAGE);
  CHECK(bert_attention_weights(NULL, 0, 1, 1, &m) == BERT_USAGE);
  CHECK(bert_fill_masks(NULL, 1, &f, &count) == BERT_USAGE);
  CHECK(bert_classify(NULL, &m) == BERT_USAGE);
  CHECK(bert_label_tokens(NULL, &m) == BERT_USAGE);
  CHECK(bert_next_sentence(NULL, &p) == BERT_USAGE);
  CHECK(bert_find_answers(NULL, none, none, 1, &a, &count, NULL) == BERT_USAGE);
  CHECK(bert_attention(m, m, m, NULL, NULL, NULL) == BERT_USAGE);
  CHECK(bert_pool(m, "mean", NULL) == BERT_USAGE);
  FAILS(BERT_USAGE, bert_pool(m, "mean", out), "tokens: found NULL");
  FAILS(BERT_USAGE, bert_pool(one, NULL, out), "mode: found NULL");
  FAILS(BERT_USAGE, bert_attention(m, one, one, NULL, out, NULL), "queries: found NULL");
  FAILS(BERT_USAGE, bert_attention(one, m, one, NULL, out, NULL), "keys: found NULL");
  FAILS(BERT_USAGE, bert_attention(one, one, m, NULL, out, NULL), "values: found NULL");
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, m, one, one, NULL, NULL, NULL, NULL, out),
        "inputs: found NULL");
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, one, m, one, NULL, NULL, NULL, NULL, out),
        "weight_ih: found NULL");
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, one, one, m, NULL, NULL, NULL, NULL, out),
        "weight_hh: found NULL");
  CHECK(bert_stream(NULL, NULL, NULL) == BERT_USAGE);
  CHECK(bert_rows_append(NULL, "a", 1) == BERT_USAGE);
  CHECK(isnan(bert_cosine(NULL, NULL, 1)));
  CHECK(bert_vocab_size(NULL) == 0 && bert_token(NULL, 0).data == NULL &&
        bert_token_id(NULL, "a", 1) == -1);
  CHECK(bert_mask_token(NULL).data == NULL && bert_tokenizer_warning(NULL, 0) == NULL);
  CHECK(bert_encoding_size(NULL) == 0 && bert_encoding_ids(NULL) == NULL &&
        bert_encoding_type_ids(NULL) == NULL);
  CHECK(bert_encoding_offsets(NULL) == NULL && bert_encoding_word_ids(NULL) == NULL);
  CHECK(bert_encoding_sequence_ids(NULL) == NULL && bert_encoding_dropped(NULL) == 0 &&
        bert_encoding_replaced(NULL) == 0);
  CHECK(bert_model_tokenizer(NULL) == NULL && bert_hidden_size(NULL) == 0 &&
        bert_layer_count(NULL) == 0);
  CHECK(bert_attention_head_count(NULL) == 0 && bert_max_length(NULL) == 0 &&
        bert_label_count(NULL) == 0);
  CHECK(bert_label(NULL, 0) == NULL && bert_batch_size(NULL) == 0 &&
        bert_batch_begin(NULL, 0) == 0);
  CHECK(bert_batch_encoding(NULL, 0) == NULL);
  bert_batch_clear(NULL);
  bert_free(NULL);
  bert_encoding_close(encoding);
  bert_encoding_close(NULL);
  bert_batch_close(NULL);
  bert_model_close(NULL);
  bert_tokenizer_close(NULL);
}

static void test_tokens(void) {
  bert_tokenizer* tokenizer = NULL;
  bert_encoding* e = bert_encoding_open();
  bert_encode_options options = {sizeof options, 0, 0, 0};
  char* text = NULL;
  CHECK(bert_tokenizer_open(path("tiny-bert"), &tokenizer) == BERT_OK);
  CHECK(bert_encode(tokenizer, "the cat", BERT_NUL, "a dog ran", 5, NULL, e) == BERT_OK);
  CHECK(bert_encoding_size(e) >= 7 && bert_encoding_sequence_ids(e)[0] == -1 &&
        bert_encoding_type_ids(e)[0] == 0);
  CHECK(bert_encoding_type_ids(e)[bert_encoding_size(e) - 1] == 1 &&
        bert_encoding_word_ids(e)[0] == -1);
  CHECK(bert_encoding_offsets(e)[1].begin == 0 && bert_encoding_offsets(e)[1].end > 0);
  CHECK(bert_decode(tokenizer, bert_encoding_ids(e), bert_encoding_size(e), 1, &text) == BERT_OK);
  CHECK(strcmp(text, "the cat a dog") == 0);
  bert_free(text);
  CHECK(bert_token_id(tokenizer, "no such token", BERT_NUL) == -1);
  CHECK(bert_token(tokenizer, -1).data == NULL && bert_token(tokenizer, 1 << 30).data == NULL);
  CHECK(bert_token_id(tokenizer, bert_mask_token(tokenizer).data, bert_mask_token(tokenizer).size) >
        0);
  CHECK(bert_encode(tokenizer, "a\xff\xfe z", BERT_NUL, NULL, 0, NULL, e) == BERT_OK);
  CHECK(bert_encoding_replaced(e) == 2);
  options.max_length = 1;
  CHECK(bert_encode(tokenizer, "the cat", BERT_NUL, NULL, 0, &options, e) == BERT_USAGE);
  options.max_length = 3;
  CHECK(bert_encode(tokenizer, "the cat", BERT_NUL, NULL, 0, &options, e) == BERT_OK);
  CHECK(bert_encoding_size(e) == 3 && bert_encoding_dropped(e) > 0);
  FAILS(BERT_USAGE, bert_encode(tokenizer, NULL, 0, NULL, 0, NULL, e), "text: found NULL");
  bert_encoding_close(e);
  bert_tokenizer_close(tokenizer);
}

static void test_batch(void) {
  bert_model* model = open_model("tiny-bert", NULL);
  bert_batch_options options = {sizeof options, 0, 0, 1, 0};
  bert_batch *batch = NULL, *strict = NULL;
  bert_matrix m = {NULL, 0, 0};
  const bert_filling* f;
  size_t count;
  int32_t ids[4] = {1, 2, 3, 4}, bad_type[4] = {0, 0, 0, 9};
  char* words = malloc(40000);
  size_t i;
  for (i = 0; i < 10000; ++i) memcpy(words + 4 * i, "cat ", 4);
  CHECK(bert_batch_open(model, NULL, &batch) == BERT_OK);
  CHECK(bert_hidden_states(batch, -1, &m) == BERT_OK && m.rows == 0 &&
        m.cols == bert_hidden_size(model));
  CHECK(bert_batch_add(batch, words, 40000, NULL, 0) == BERT_OK);
  CHECK(bert_encoding_size(bert_batch_encoding(batch, 0)) == bert_max_length(model));
  CHECK(bert_encoding_dropped(bert_batch_encoding(batch, 0)) > 0 &&
        bert_batch_encoding(batch, 1) == NULL);
  CHECK(bert_batch_add_ids(batch, ids, NULL, 4) == BERT_OK);
  CHECK(bert_batch_begin(batch, 1) == bert_max_length(model) &&
        bert_batch_begin(batch, 2) == bert_batch_begin(batch, 1) + 4);
  FAILS(BERT_DATA, bert_batch_add_ids(batch, ids, NULL, 0), "count: found 0");
  FAILS(BERT_DATA, bert_batch_add_ids(batch, ids, bad_type, 4), "type 9");
  ids[2] = -1;
  FAILS(BERT_DATA, bert_batch_add_ids(batch, ids, NULL, 4), "id -1");
  ids[2] = 1 << 30;
  CHECK(bert_batch_add_ids(batch, ids, NULL, 4) == BERT_DATA && bert_batch_size(batch) == 2);
  CHECK(bert_embeddings(batch, &m) == BERT_OK && m.rows == bert_batch_begin(batch, 2));
  FAILS(BERT_USAGE, bert_hidden_states(batch, (int)bert_layer_count(model) + 1, &m),
        "layer: found");
  FAILS(BERT_USAGE, bert_hidden_states(batch, -(int)bert_layer_count(model) - 2, &m),
        "layer: found");
  FAILS(BERT_USAGE, bert_attention_weights(batch, 2, 1, 1, &m), "sequence: found 2");
  FAILS(BERT_USAGE, bert_attention_weights(batch, 1, 0, 1, &m), "layer: found 0");
  FAILS(BERT_USAGE, bert_attention_weights(batch, 1, 1, 0, &m), "head: found 0");
  FAILS(BERT_USAGE, bert_attention_weights(batch, 1, 1, 1, NULL), "weights: found NULL");
  FAILS(BERT_USAGE, bert_classify(batch, &m),
        "model: was opened for no task, wants text-classification");
  FAILS(BERT_USAGE, bert_fill_masks(batch, 1, &f, &count), "fill-mask");
  CHECK(bert_attention_weights(batch, 1, 1, -1, &m) == BERT_OK && m.rows == 4 && m.cols == 4);
  for (i = 0; i < 4; ++i)
    CHECK(fabs(m.data[4 * i] + m.data[4 * i + 1] + m.data[4 * i + 2] + m.data[4 * i + 3] - 1) <
          1e-5);
  bert_batch_clear(batch);
  CHECK(bert_batch_size(batch) == 0 && bert_batch_begin(batch, 7) == 0);

  CHECK(bert_batch_open(model, &options, &strict) == BERT_OK);
  FAILS(BERT_DATA, bert_batch_add(strict, words, 40000, NULL, 0), "too long");
  FAILS(BERT_DATA, bert_batch_add(strict, "a\xff", BERT_NUL, NULL, 0), "not UTF-8");
  CHECK(bert_batch_size(strict) == 0);
  bert_batch_close(strict);
  options.max_length = bert_max_length(model) + 1;
  FAILS(BERT_USAGE, bert_batch_open(model, &options, &strict), "max_length: found");
  options.max_length = 3;
  FAILS(BERT_USAGE, bert_batch_open(model, &options, &strict), "max_length: found 3");
  bert_batch_close(batch);
  bert_model_close(model);
  free(words);
}

static void test_attention(void) {
  const float x[4] = {1, 2, 3, 4}, mask[4] = {-INFINITY, -INFINITY, 0, 0};
  const bert_matrix two = {x, 2, 2}, wide = {x, 1, 4}, empty = {x, 0, 2};
  const bert_matrix huge = {x, (size_t)-1 / 2, 4}, long_one = {x, (size_t)1 << 40, 1};
  bert_attention_options options = {sizeof options, 3, 0, NULL};
  float out[4], weights[4];
  FAILS(BERT_USAGE, bert_attention(two, wide, two, NULL, out, weights),
        "found queries [2, 2], keys [1, 4]");
  FAILS(BERT_USAGE, bert_attention(two, two, two, &options, out, weights), "3 heads");
  FAILS(BERT_USAGE, bert_attention(empty, two, two, NULL, out, weights), "queries: found [0, 2]");
  FAILS(BERT_USAGE, bert_attention(two, two, two, NULL, NULL, weights), "out: found NULL");
  FAILS(BERT_NO_MEMORY, bert_attention(huge, two, two, NULL, out, weights), "queries: found");
  FAILS(BERT_NO_MEMORY, bert_attention(long_one, long_one, long_one, NULL, out, NULL),
        "weights: found");
  FAILS(BERT_USAGE, bert_pool(two, "meen", out), "mean");
  CHECK(bert_pool(two, "mean", out) == BERT_OK && out[0] == 2 && out[1] == 3);
  options.heads = 2;
  options.mask = mask;
  {
    float each[8];
    CHECK(bert_attention(two, two, two, &options, out, each) == BERT_OK);
    CHECK(each[0] == 0 && each[1] == 0 && each[4] == 0 && each[5] == 0 && out[0] == 0 &&
          out[1] == 0);
    CHECK(fabs(each[2] + each[3] - 1) < 1e-6 && fabs(each[6] + each[7] - 1) < 1e-6);
  }
}

static void test_recurrent(void) {
  const float x[2] = {0, -1}, one = 1, twice = 2, half = 0.5f, four[4] = {0};
  const bert_matrix steps = {x, 2, 1}, ih = {&one, 1, 1}, hh = {&twice, 1, 1}, wide = {x, 1, 2};
  const bert_matrix gates = {four, 4, 1}, none = {x, 0, 1};
  float out[2], hidden = 0, memory = 3;
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, wide, ih, hh, NULL, NULL, NULL, NULL, out),
        "inputs [1, 2]");
  FAILS(BERT_USAGE, bert_recurrent(BERT_GRU, steps, ih, hh, NULL, NULL, NULL, NULL, out),
        "[3 H, D]");
  FAILS(BERT_USAGE, bert_recurrent((bert_cell)7, steps, ih, hh, NULL, NULL, NULL, NULL, out),
        "cell: found 7");
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, none, ih, hh, NULL, NULL, NULL, NULL, out),
        "inputs: found [0, 1]");
  FAILS(BERT_USAGE, bert_recurrent(BERT_RNN, steps, ih, hh, NULL, NULL, NULL, NULL, NULL),
        "out: found NULL");
  // h = tanh(x + 0.5 + 2 h)
  CHECK(bert_recurrent(BERT_RNN, steps, ih, hh, &half, NULL, &hidden, NULL, out) == BERT_OK);
  CHECK(fabs(out[0] - 0.46211716) < 1e-6 && fabs(out[1] - 0.40049161) < 1e-6 && hidden == out[1]);
  // Of zeros, all gates are 1/2 and g is 0: c' = c / 2.
  CHECK(bert_recurrent(BERT_LSTM, steps, gates, gates, NULL, NULL, NULL, &memory, out) == BERT_OK);
  CHECK(fabs(memory - 0.75) < 1e-6 && fabs(out[1] - 0.5 * tanh(0.75)) < 1e-6);
}

static int bad_work(void* user, bert_batch* batch, const bert_text* lines, size_t count,
                    bert_rows* rows) {
  size_t i;
  (void)user;
  (void)batch;
  for (i = 0; i < count; ++i) {
    if (lines[i].size == 3) return bert_batch_add(NULL, "", 0, NULL, 0);
    if (bert_rows_append(rows, lines[i].data, lines[i].size) != BERT_OK) return BERT_NO_MEMORY;
  }
  return BERT_OK;
}
static int keep(void* user, const char* rows, size_t size) {
  strncat(user, rows, size);
  return 0;
}
static int refuse(void* user, const char* rows, size_t size) {
  (void)user;
  (void)rows;
  return size > 0;
}

static void test_stream(void) {
  bert_stream_options options;
  const char* none[] = {"/no/such/file"};
  const char* file[1];
  char name[] = "/tmp/bert-faults-XXXXXX", rows[100] = "";
  FILE* lines = fdopen(mkstemp(name), "w");
  uint64_t count = 7;
  fputs("a\nbb\nccc\ndddd\n", lines);
  fclose(lines);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.files = none;
  options.file_count = 1;
  options.work = bad_work;
  options.write = keep;
  options.user = rows;
  FAILS(BERT_NO_INPUT, bert_stream(NULL, &options, &count), "/no/such/file");
  file[0] = name;
  options.files = file;
  FAILS(BERT_USAGE, bert_stream(NULL, &options, &count), "batch: found NULL");
  CHECK(strcmp(rows, "abb") == 0 && count == 7);
  options.write = refuse;
  FAILS(BERT_IO, bert_stream(NULL, &options, &count), "write failed");
  remove(name);
}

/* Each pointer that may not be NULL, of functions that have all the others. */
static void test_null_outputs(void) {
  bert_model* model = open_model("tiny-bert", NULL);
  bert_batch* batch = NULL;
  bert_batch_options batch_options = {sizeof batch_options, 0, INT_MAX, 0, 0};
  bert_encode_options encode_options = {(size_t)-1, 0, 0, 0};
  bert_stream_options options;
  const char* none[1] = {NULL};
  const bert_tokenizer* tokenizer = bert_model_tokenizer(model);
  bert_encoding* e = bert_encoding_open();
  const int32_t id = 1;
  char* text;
  FAILS(BERT_USAGE, bert_batch_open(model, NULL, NULL), "batch: found NULL");
  FAILS(BERT_USAGE, bert_batch_open(model, &batch_options, &batch), "threads: found 2147483647");
  batch_options.threads = -1;
  FAILS(BERT_USAGE, bert_batch_open(model, &batch_options, &batch), "wants 0 to 1024");
  CHECK(bert_batch_open(model, NULL, &batch) == BERT_OK);
  FAILS(BERT_USAGE, bert_tokenizer_open(path("tiny-bert"), NULL), "tokenizer: found NULL");
  FAILS(BERT_USAGE, bert_encode(tokenizer, "a", 1, NULL, 0, NULL, NULL), "encoding: found NULL");
  FAILS(BERT_USAGE, bert_encode(tokenizer, "a", 1, NULL, 3, NULL, e), "pair: found NULL");
  FAILS(BERT_USAGE, bert_encode(tokenizer, "a", 1, NULL, 0, &encode_options, e), "'size'");
  CHECK(bert_encode(tokenizer, "a", 1, NULL, BERT_NUL, NULL, e) == BERT_OK);
  FAILS(BERT_USAGE, bert_decode(tokenizer, NULL, 1, 0, &text), "ids: found NULL");
  FAILS(BERT_USAGE, bert_decode(tokenizer, &id, 1, 0, NULL), "text: found NULL");
  FAILS(BERT_USAGE, bert_decode(tokenizer, &id, (size_t)-1 / 2, 0, &text), "count: found");
  CHECK(bert_decode(tokenizer, NULL, 0, 0, &text) == BERT_OK && text[0] == 0);
  bert_free(text);
  FAILS(BERT_USAGE, bert_batch_add(batch, NULL, 0, NULL, 0), "text: found NULL");
  FAILS(BERT_USAGE, bert_batch_add(batch, "a", 1, NULL, 3), "pair: found NULL");
  FAILS(BERT_USAGE, bert_batch_add_ids(batch, NULL, NULL, 1), "ids: found NULL");
  FAILS(BERT_USAGE, bert_embeddings(batch, NULL), "found NULL");
  FAILS(BERT_USAGE, bert_hidden_states(batch, 0, NULL), "found NULL");
  FAILS(BERT_USAGE, bert_sentence_vectors(batch, NULL), "found NULL");
  CHECK(bert_token_id(tokenizer, NULL, 1) == -1);
  CHECK(bert_batch_size(batch) == 0);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.files = none;
  options.file_count = 1;
  FAILS(BERT_USAGE, bert_stream(model, &options, NULL), "files: found NULL");
  options.files = NULL;
  FAILS(BERT_USAGE, bert_stream(model, &options, NULL), "files: found NULL");
  options.file_count = 0;
  options.threads = INT_MAX;
  FAILS(BERT_USAGE, bert_stream(model, &options, NULL), "threads: found 2147483647");
  options.threads = 1025;
  FAILS(BERT_USAGE, bert_stream(model, &options, NULL), "threads: found 1025");
  options.threads = 1;
  options.output_fd = -1;
  FAILS(BERT_USAGE, bert_stream(model, &options, NULL), "output_fd: found -1");
  bert_encoding_close(e);
  bert_batch_close(batch);
  bert_model_close(model);
}

/* The same of the heads, and of counts of 0 and as large as can be. */
static void test_null_heads(void) {
  const bert_filling* f;
  const bert_answer* a;
  const bert_text none = {NULL, 0}, some = {"the cat", 7};
  size_t count;
  bert_model* model = open_model("tiny-bert", "fill-mask");
  bert_batch* batch = NULL;
  CHECK(bert_batch_open(model, NULL, &batch) == BERT_OK);
  CHECK(bert_batch_add(batch, "the [MASK]", BERT_NUL, NULL, 0) == BERT_OK);
  FAILS(BERT_USAGE, bert_fill_masks(batch, 1, NULL, &count), "fillings: found NULL");
  FAILS(BERT_USAGE, bert_fill_masks(batch, 1, &f, NULL), "count: found NULL");
  FAILS(BERT_USAGE, bert_fill_masks(batch, 0, &f, &count), "k: found 0");
  CHECK(bert_fill_masks(batch, (size_t)-1, &f, &count) == BERT_OK && count > 0);
  bert_batch_close(batch);
  bert_model_close(model);
  model = open_model("tiny-qa", "question-answering");
  CHECK(bert_batch_open(model, NULL, &batch) == BERT_OK);
  FAILS(BERT_USAGE, bert_find_answers(batch, none, some, 1, &a, &count, NULL),
        "question: found NULL");
  FAILS(BERT_USAGE, bert_find_answers(batch, some, none, 1, &a, &count, NULL),
        "context: found NULL");
  FAILS(BERT_USAGE, bert_find_answers(batch, some, some, 1, NULL, &count, NULL),
        "answers: found NULL");
  FAILS(BERT_USAGE, bert_find_answers(batch, some, some, 1, &a, NULL, NULL), "count: found NULL");
  FAILS(BERT_USAGE, bert_find_answers(batch, some, some, 0, &a, &count, NULL), "k: found 0");
  CHECK(bert_find_answers(batch, some, some, (size_t)-1, &a, &count, NULL) == BERT_OK);
  bert_batch_close(batch);
  bert_model_close(model);
}

/* Many threads, one model: each number is what one thread alone computes. */
static bert_model* shared;
static float expected[8][1024];
static const char* const texts[8] = {"the cat sat",     "a dog", "the",     "on the mat",
                                     "a cat and a dog", "",      "cat cat", "mat"};

static void* compute(void* argument) {
  bert_batch* batch = NULL;
  bert_matrix m;
  size_t round, i, j, wrong = 0;
  (void)argument;
  for (round = 0; round < 20; ++round) {
    if (bert_batch_open(shared, NULL, &batch) != BERT_OK) return "open";
    for (i = 0; i < 8; ++i)
      wrong += bert_batch_add(batch, texts[(i + round) % 8], BERT_NUL, NULL, 0) != BERT_OK;
    wrong += bert_sentence_vectors(batch, &m) != BERT_OK;
    for (i = 0; i < 8; ++i)
      for (j = 0; j < m.cols; ++j) wrong += m.data[i * m.cols + j] != expected[(i + round) % 8][j];
    wrong +=
        bert_classify(batch, &m) != BERT_USAGE || !strstr(bert_last_error(), "text-classification");
    bert_batch_close(batch);
  }
  return wrong ? "wrong" : NULL;
}

static void test_threads(void) {
  pthread_t threads[8];
  bert_batch* batch = NULL;
  bert_matrix m;
  size_t i;
  void* said;
  shared = open_model("st-mean", NULL);
  CHECK(bert_batch_open(shared, NULL, &batch) == BERT_OK);
  for (i = 0; i < 8; ++i) {
    bert_batch_clear(batch);
    CHECK(bert_batch_add(batch, texts[i], BERT_NUL, NULL, 0) == BERT_OK);
    CHECK(bert_sentence_vectors(batch, &m) == BERT_OK && m.cols <= 1024);
    memcpy(expected[i], m.data, m.cols * sizeof(float));
  }
  CHECK(bert_batch_encoding(batch, 9) == NULL);
  CHECK(bert_model_open("/this/thread", NULL, &(bert_model*){NULL}) == BERT_NO_INPUT);
  for (i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, compute, NULL);
  for (i = 0; i < 8; ++i) {
    pthread_join(threads[i], &said);
    CHECK(said == NULL);
  }
  CHECK(strstr(bert_last_error(), "/this/thread") != NULL); /* not that of another thread */
  bert_batch_close(batch);
  bert_model_close(shared);
}

int main(int argc, char** argv) {
  if (argc != 2) return BERT_USAGE;
  models = argv[1];
  test_open();
  test_null();
  test_tokens();
  test_batch();
  test_attention();
  test_recurrent();
  test_stream();
  test_null_outputs();
  test_null_heads();
  test_threads();
  printf("%d failures\n", failures);
  return failures != 0;
}
