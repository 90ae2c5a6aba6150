/* libbert in C: tokens, vectors, heads and attention of BERT models (Devlin et al. 2019).
 *
 *   bert_model* model;
 *   bert_batch* batch;
 *   bert_matrix vectors;
 *   if (bert_model_open(NULL, NULL, &model) == BERT_OK &&  // the default model
 *       bert_batch_open(model, NULL, &batch) == BERT_OK &&
 *       bert_batch_add(batch, "a cat sat", BERT_NUL, NULL, 0) == BERT_OK &&
 *       bert_sentence_vectors(batch, &vectors) == BERT_OK)
 *     printf("%g\n", vectors.data[0]);
 *   else
 *     fprintf(stderr, "%s\n", bert_last_error());
 *   bert_batch_close(batch);  // before its model
 *   bert_model_close(model);
 *
 * Data flow: text -> tokens (bert_encoding) -> bert_batch -> hidden states -> what a head says of
 * them. The numbers are those that the tools print. The other headers beside this one are the same
 * in C++17.
 *
 * Letters: S sequences of a batch, T tokens of all of them, H hidden size, L layers, A attention
 * heads, V vocabulary. Matrices are row-major floats without gaps.
 *
 * Errors: a function that can fail returns an int: BERT_OK, or a bert_status; then
 * bert_last_error() has the text. It leaves its outputs alone. An open function that fails sets its
 * output to NULL. No exception leaves the library.
 *
 * Memory: each _open has a _close, which takes NULL too. What a function lends (const pointers,
 * bert_matrix, bert_text) stays until the next call with the same batch or encoding, or until the
 * tokenizer or model that it belongs to is closed.
 *
 * Threads: tokenizers and models do not change; any number of threads may share one. An encoding or
 * a batch belongs to one thread at a time.
 *
 * ABI: bert(3). Structs of options begin with their own size; every other member may be 0, which is
 * the default.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BERT_PUBLIC __attribute__((visibility("default")))
#else
#define BERT_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors, version, plain types ---- */

/* What went wrong; the values are the exit statuses of the tools (sysexits.h). */
typedef enum bert_status {
  BERT_OK = 0,
  BERT_USAGE = 64,      /* a wrong argument: a null pointer, an index or an option out of range */
  BERT_DATA = 65,       /* the content of a file or text is wrong */
  BERT_NO_INPUT = 66,   /* a file or model is missing */
  BERT_INTERNAL = 70,   /* a fault of the library */
  BERT_NO_MEMORY = 71,  /* memory or threads ran out */
  BERT_IO = 74,         /* reading or writing failed */
  BERT_PERMISSION = 77, /* a file may not be read */
  BERT_UNSUPPORTED = 78 /* the model is of a kind that is not supported */
} bert_status;

/* The version of the library that runs, as "0.2.0". */
BERT_PUBLIC const char* bert_version(void);

/* What this thread's last failure was, on one line: WHERE: WHAT. "" if none. Stays until the next
 * failure. */
BERT_PUBLIC const char* bert_last_error(void);

/* A size that says: the text ends at its NUL. */
#define BERT_NUL ((size_t)-1)

/* Bytes of a text, UTF-8. Without a NUL at the end. */
typedef struct bert_text {
  const char* data;
  size_t size;
} bert_text;

/* [rows, cols], row-major. */
typedef struct bert_matrix {
  const float* data;
  size_t rows, cols;
} bert_matrix;

/* Bytes [begin, end) of a text. Of tokens that the tokenizer adds, begin = end = 0. */
typedef struct bert_offset {
  uint32_t begin, end;
} bert_offset;

/* ---- Tokenizer ---- */

typedef struct bert_tokenizer bert_tokenizer;
typedef struct bert_encoding bert_encoding;

/* Opens the tokenizer of a model.
 * @param model  a directory, the name of an installed model, or NULL for the default model, as -m
 * of the tools
 * @return BERT_OK, BERT_NO_INPUT, BERT_DATA, BERT_UNSUPPORTED .. naming the file */
BERT_PUBLIC int bert_tokenizer_open(const char* model, bert_tokenizer** tokenizer);
BERT_PUBLIC void bert_tokenizer_close(bert_tokenizer* tokenizer);

/* What is odd about the tokenizer's files, one line each; NULL behind the last. */
BERT_PUBLIC const char* bert_tokenizer_warning(const bert_tokenizer* tokenizer, size_t index);
/* The largest id + 1. */
BERT_PUBLIC size_t bert_vocab_size(const bert_tokenizer* tokenizer);
/* A token as the vocabulary spells it; data is NULL if there is no such id. */
BERT_PUBLIC bert_text bert_token(const bert_tokenizer* tokenizer, int32_t id);
/* The id of a token; -1 if there is none. */
BERT_PUBLIC int32_t bert_token_id(const bert_tokenizer* tokenizer, const char* token, size_t size);
/* "[MASK]", as this vocabulary spells it; data is NULL if it has none. */
BERT_PUBLIC bert_text bert_mask_token(const bert_tokenizer* tokenizer);

typedef struct bert_encode_options {
  size_t size;           /* sizeof(bert_encode_options) */
  size_t max_length;     /* tokens at most, special ones included; 0: no limit */
  int no_special_tokens; /* leave out [CLS] and [SEP] */
  int literal;           /* a special token that is typed in the text stays text */
} bert_encode_options;

/* An empty encoding, or NULL if there is no memory. */
BERT_PUBLIC bert_encoding* bert_encoding_open(void);
BERT_PUBLIC void bert_encoding_close(bert_encoding* encoding);

/* Text to tokens, [CLS] text [SEP] or [CLS] text [SEP] pair [SEP], equal to Hugging Face
 * tokenizers. What is not UTF-8 is read as U+FFFD and counted. A pair that is too long loses tokens
 * of the longer text first.
 * @param text, size  bytes, or a string and BERT_NUL
 * @param pair, pair_size  the second text, or NULL and 0
 * @param options  or NULL
 * @param encoding  its content is replaced
 * @return BERT_OK; BERT_USAGE if max_length has no room for the special tokens; BERT_DATA of a text
 * of 4 GiB */
BERT_PUBLIC int bert_encode(const bert_tokenizer* tokenizer, const char* text, size_t size,
                            const char* pair, size_t pair_size, const bert_encode_options* options,
                            bert_encoding* encoding);

/* n, the number of tokens. Each of the arrays below is [n]. */
BERT_PUBLIC size_t bert_encoding_size(const bert_encoding* encoding);
BERT_PUBLIC const int32_t* bert_encoding_ids(const bert_encoding* encoding);
/* What the model adds an embedding for. BERT: 0 of [CLS] text [SEP], 1 of pair [SEP]. */
BERT_PUBLIC const int32_t* bert_encoding_type_ids(const bert_encoding* encoding);
/* Where the token stands in its text. */
BERT_PUBLIC const bert_offset* bert_encoding_offsets(const bert_encoding* encoding);
/* The index of the word in its text; -1 of tokens that the tokenizer added. */
BERT_PUBLIC const int32_t* bert_encoding_word_ids(const bert_encoding* encoding);
/* 0: of the text; 1: of the pair; -1: added by the tokenizer. */
BERT_PUBLIC const int8_t* bert_encoding_sequence_ids(const bert_encoding* encoding);
/* Tokens that max_length left out: at least this many, but 0 only if there are none. */
BERT_PUBLIC size_t bert_encoding_dropped(const bert_encoding* encoding);
/* Parts of the text that are not UTF-8. */
BERT_PUBLIC size_t bert_encoding_replaced(const bert_encoding* encoding);

/* Ids to text.
 * @param text  set to a string that ends with NUL, to be freed with bert_free */
BERT_PUBLIC int bert_decode(const bert_tokenizer* tokenizer, const int32_t* ids, size_t count,
                            int skip_special_tokens, char** text);
/* Frees what bert_decode gave; NULL is allowed. */
BERT_PUBLIC void bert_free(void* memory);

/* ---- Model ---- */

typedef struct bert_model bert_model;

typedef enum bert_dtype {
  BERT_DTYPE_AUTO = 0,
  BERT_F32 = 1,
  BERT_BF16 = 2,
  BERT_INT8 = 3
} bert_dtype;

typedef struct bert_model_options {
  size_t size;      /* sizeof(bert_model_options) */
  const char* task; /* which head, as transformers' pipelines call it: fill-mask,
                       text-classification, token-classification, question-answering,
                       next-sentence-prediction; NULL: the bare encoder */
  const char* head; /* which of several heads for the task, by name; NULL: the first that fits */
  bert_dtype dtype; /* precision of the matrix products; AUTO: that of the file */
  int no_mmap;      /* copy the weights into memory: their files may change */
} bert_model_options;

/* Opens a model directory, as Hugging Face has it, with its tokenizer and one head. Static vectors
 * (model2vec, StaticEmbedding) have no layers and no heads: bert_sentence_vectors and bert_stream
 * read them, and what needs layers is BERT_UNSUPPORTED.
 * @param model  as of bert_tokenizer_open
 * @param options  or NULL: the bare encoder in the precision of its file
 * @return BERT_OK; BERT_NO_INPUT, BERT_DATA (also if it lacks the head), BERT_UNSUPPORTED .. naming
 * the file */
BERT_PUBLIC int bert_model_open(const char* model, const bert_model_options* options,
                                bert_model** opened);
BERT_PUBLIC void bert_model_close(bert_model* model);

/* The model's own tokenizer; it lives as long as the model. */
BERT_PUBLIC const bert_tokenizer* bert_model_tokenizer(const bert_model* model);
/* H; of static vectors the width of a token's vector, and L and A are 0. */
BERT_PUBLIC size_t bert_hidden_size(const bert_model* model);
BERT_PUBLIC size_t bert_layer_count(const bert_model* model);          /* L */
BERT_PUBLIC size_t bert_attention_head_count(const bert_model* model); /* A */
/* Tokens of a sequence at most, special ones included: a longer text is cut. 0: no limit, which
 * only static vectors have. */
BERT_PUBLIC size_t bert_max_length(const bert_model* model);
/* Labels of the head; 0 if it has none. */
BERT_PUBLIC size_t bert_label_count(const bert_model* model);
/* The name of a label; NULL if there is no such label. */
BERT_PUBLIC const char* bert_label(const bert_model* model, size_t index);

/* ---- Batch: texts that are computed together, and the results ---- */

typedef struct bert_batch bert_batch;

typedef struct bert_batch_options {
  size_t size;       /* sizeof(bert_batch_options) */
  size_t max_length; /* less than the model's bert_max_length; 0: that */
  int threads;       /* that share each product, the caller included, at most 1024; 0: the caller
                        alone */
  int strict;        /* a text that is too long or not UTF-8 is BERT_DATA, not cut or replaced */
  int literal;       /* a special token that is typed in the text stays text */
} bert_batch_options;

/* An empty batch. It borrows the model. No number depends on what else is in a batch or how many
 * threads there are. */
BERT_PUBLIC int bert_batch_open(const bert_model* model, const bert_batch_options* options,
                                bert_batch** batch);
BERT_PUBLIC void bert_batch_close(bert_batch* batch);

/* Adds a sequence: a text, or a pair. The text is not kept. Parameters as of bert_encode. */
BERT_PUBLIC int bert_batch_add(bert_batch* batch, const char* text, size_t size, const char* pair,
                               size_t pair_size);
/* Adds a sequence of tokens as they are, special ones included.
 * @param type_ids  [count], or NULL: all 0
 * @return BERT_DATA of an id that the model does not have, or of too many tokens */
BERT_PUBLIC int bert_batch_add_ids(bert_batch* batch, const int32_t* ids, const int32_t* type_ids,
                                   size_t count);
/* Forgets all sequences; the memory stays for the next. */
BERT_PUBLIC void bert_batch_clear(bert_batch* batch);
BERT_PUBLIC size_t bert_batch_size(const bert_batch* batch); /* S */
/* The tokens of a sequence, until the batch is changed; NULL if there is no such sequence. */
BERT_PUBLIC const bert_encoding* bert_batch_encoding(const bert_batch* batch, size_t sequence);
/* The row of a [T, ..] result at which a sequence begins. Of sequence S: T. */
BERT_PUBLIC size_t bert_batch_begin(const bert_batch* batch, size_t sequence);

/* What the encoder computes. Each call runs the model; a result that is no number is NaN. */

/* The embedding layer's output [T, H]: word, position and type vectors, then layer norm. */
BERT_PUBLIC int bert_embeddings(bert_batch* batch, bert_matrix* vectors);
/* Hidden states [T, H].
 * @param layer  0 is the embedding layer, then 1 .. L; -1 is the last, -2 the one before */
BERT_PUBLIC int bert_hidden_states(bert_batch* batch, int layer, bert_matrix* states);
/* One vector per sequence by the model's own modules (pooling, dense, norm, truncate_dim, prompt),
 * as embed writes: [S, W]. */
BERT_PUBLIC int bert_sentence_vectors(bert_batch* batch, bert_matrix* vectors);
/* The attention weights of one sequence of n tokens, [n, n]: row i is what token i attends to.
 * @param layer, head  1 .. L and 1 .. A, or -1 for the last */
BERT_PUBLIC int bert_attention_weights(bert_batch* batch, size_t sequence, int layer, int head,
                                       bert_matrix* weights);

/* What the head says; BERT_USAGE if the model was opened for another task. */

/* One candidate for one mask. */
typedef struct bert_filling {
  size_t sequence, token; /* which mask */
  int32_t id;
  double probability;
} bert_filling;

/* The k most probable tokens for each mask token of each sequence, best first: those of the first
 * mask, then those of the next. fill-mask. */
BERT_PUBLIC int bert_fill_masks(bert_batch* batch, size_t k, const bert_filling** fillings,
                                size_t* count);
/* The probability of each label (of a regression: the value) [S, labels]. text-classification. */
BERT_PUBLIC int bert_classify(bert_batch* batch, bert_matrix* probabilities);
/* The probability of each label for each token [T, labels]. token-classification. */
BERT_PUBLIC int bert_label_tokens(bert_batch* batch, bert_matrix* probabilities);
/* P(the pair follows the text) of each sequence [S]. next-sentence-prediction. */
BERT_PUBLIC int bert_next_sentence(bert_batch* batch, const double** probabilities);

/* An answer: bytes [begin, end) of the context. */
typedef struct bert_answer {
  size_t begin, end;
  double score; /* P(begin) P(end) */
} bert_answer;

/* The best answers to a question in a context of any length, best first. The batch gives the
 * memory; its sequences are forgotten. question-answering.
 * @param k  answers at most; there may be fewer
 * @param null_margin  set to the logit of "no answer" minus that of the best; or NULL */
BERT_PUBLIC int bert_find_answers(bert_batch* batch, bert_text question, bert_text context,
                                  size_t k, const bert_answer** answers, size_t* count,
                                  double* null_margin);

/* ---- Matrices of one's own ---- */

typedef struct bert_attention_options {
  size_t size;       /* sizeof(bert_attention_options) */
  size_t heads;      /* A; the columns are cut into that many parts; 0: 1 */
  float scale;       /* 0: 1 / sqrt(D / A) */
  const float* mask; /* [n, m], added to the scaled scores of every head; -INFINITY: not attended
                        to. Or NULL */
} bert_attention_options;

/* Multi-head scaled dot-product attention, softmax(Q K^T scale + mask) V (Vaswani et al.
 * 2017, 3.2). queries [n, D]   keys [m, D]   values [m, Dv]
 * @param out  [n, Dv], the caller's: the heads' outputs side by side
 * @param weights  [A, n, m], the caller's, or NULL; a row that may attend to nothing is 0
 * @return BERT_USAGE if the shapes do not fit, or do not divide by the heads */
BERT_PUBLIC int bert_attention(bert_matrix queries, bert_matrix keys, bert_matrix values,
                               const bert_attention_options* options, float* out, float* weights);
/* The kinds of recurrent cells. With a = W_ih x + b_ih, b = W_hh h + b_hh and s the sigmoid, as
 * torch.nn.RNN, GRU and LSTM:
 *   RNN   h' = tanh(a + b)                                                    (Elman 1990)
 *   GRU   r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), h' = (1 - z) n + z h
 *                                                                             (Cho et al. 2014)
 *   LSTM  i, f, o = s(a + b), g = tanh(a + b), c' = f c + i g, h' = o tanh(c')
 *                                                            (Hochreiter and Schmidhuber 1997)
 * G, the number of gates: 1; 3 (r, z, n); 4 (i, f, g, o). */
typedef enum bert_cell { BERT_RNN = 0, BERT_GRU = 1, BERT_LSTM = 2 } bert_cell;

/* One recurrent layer over a sequence.
 * inputs [n, D]   weight_ih [G H, D]   weight_hh [G H, H]
 * @param bias_ih, bias_hh  [G H], or NULL: 0
 * @param hidden  h [H] before the first step, which becomes that behind the last; or NULL: 0
 * @param memory  the same of c [H], which only LSTM has
 * @param out  [n, H], the caller's: h behind each step
 * @return BERT_USAGE if the shapes do not fit */
BERT_PUBLIC int bert_recurrent(bert_cell cell, bert_matrix inputs, bert_matrix weight_ih,
                               bert_matrix weight_hh, const float* bias_ih, const float* bias_hh,
                               float* hidden, float* memory, float* out);
/* Tokens [n, H] to one vector [H].
 * @param mode  cls, mean, max, sum, mean_sqrt_len_tokens, weightedmean or lasttoken, as
 * sentence-transformers */
BERT_PUBLIC int bert_pool(bert_matrix tokens, const char* mode, float* out);
/* Cosine of two vectors [n]; NaN if one is NULL. */
BERT_PUBLIC double bert_cosine(const float* a, const float* b, size_t n);

/* ---- A stream of lines ---- */

typedef struct bert_rows bert_rows;
/* Appends bytes to the rows of the lines at hand; the ends of rows are among them. */
BERT_PUBLIC int bert_rows_append(bert_rows* rows, const char* bytes, size_t size);

/* Turns lines into rows, on one of several threads. If it fails, it is called again with fewer
 * lines, down to the one that is to blame; rows of the lines before that are written.
 * @param batch  this thread's own, empty; NULL if the stream has no model
 * @param lines  [count], without their ends
 * @param rows  what is appended comes out in the order of the lines
 * @return BERT_OK, or what bert_stream is to return */
typedef int (*bert_work)(void* user, bert_batch* batch, const bert_text* lines, size_t count,
                         bert_rows* rows);

typedef struct bert_stream_options {
  size_t size;              /* sizeof(bert_stream_options) */
  const char* const* files; /* [file_count]; "-" is standard input, "/dev/fd/N" a descriptor */
  size_t file_count;        /* 0: standard input */
  int threads;              /* at most 1024; 0: one for each CPU that this process may use */
  int nul;                  /* lines and rows end with NUL, not LF */
  bert_work work;           /* NULL: the rows of the tool for the model's task, bert-tsv(5) */
  /* Gets the rows in the order of the lines, never from two threads at once; not 0: stop, BERT_IO.
   * NULL: to output_fd. */
  int (*write)(void* user, const char* rows, size_t size);
  int output_fd; /* 0: standard output */
  void* user;    /* for work and write */
  /* For the tool's rows: */
  int number;    /* the number of the line first */
  int keep_line; /* the line last */
  int json;      /* a JSON object per line */
} bert_stream_options;

/* Reads lines and writes rows in the same order until the files end; a line gets its row before the
 * next is waited for.
 * @param model  or NULL, with work
 * @param options  or NULL: standard input to standard output, the tool's rows
 * @param lines  set to the number of lines; or NULL */
BERT_PUBLIC int bert_stream(const bert_model* model, const bert_stream_options* options,
                            uint64_t* lines);

#ifdef __cplusplus
}
#endif
