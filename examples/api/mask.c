/* The five best words for each mask of a text: mask MODEL 'Mozart was a famous [MASK].' */
#include <bert/bert.h>
#include <stdio.h>

static void print(const bert_model* model, const bert_filling* f) {
  const bert_text token = bert_token(bert_model_tokenizer(model), f->id);
  printf("%zu\t%.*s\t%.6g\n", f->token, (int)token.size, token.data, f->probability);
}

int main(int argc, char** argv) {
  bert_model_options options = {.size = sizeof options, .task = "fill-mask"};
  bert_model* model = NULL;
  bert_batch* batch = NULL;
  const bert_filling* fillings;
  size_t i, count = 0;
  int status;
  if (argc != 3) {
    fprintf(stderr, "usage: mask MODEL TEXT\n");
    return BERT_USAGE;
  }
  if ((status = bert_model_open(argv[1], &options, &model)) != BERT_OK ||
      (status = bert_batch_open(model, NULL, &batch)) != BERT_OK ||
      (status = bert_batch_add(batch, argv[2], BERT_NUL, NULL, 0)) != BERT_OK ||
      (status = bert_fill_masks(batch, 5, &fillings, &count)) != BERT_OK)
    fprintf(stderr, "mask: %s\n", bert_last_error());
  for (i = 0; i < count; ++i) print(model, &fillings[i]);
  bert_batch_close(batch);
  bert_model_close(model);
  return status;
}
