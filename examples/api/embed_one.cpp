// The library in 30 lines: the mean vector of one sentence, and its cosine with another.
#include <cstdio>

#include "base/error.h"
#include "encoder/model.h"
#include "heads/pooling.h"
#include "tokenizer/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: embed_one MODEL_DIR SENTENCE SENTENCE\n");
    return 64;
  }
  try {
    const bert::Tokenizer tokenizer = bert::Tokenizer::open(argv[1]);
    const bert::Model model = bert::Model::open(argv[1]);
    const size_t H = model.config().hidden_size;

    bert::Tokenizer::Scratch scratch;
    bert::Encoding encoding;
    bert::PackedBatch batch;  // both sentences, end to end, no padding
    for (const char* text : {argv[2], argv[3]}) {
      encoding.clear();
      tokenizer.encode(text, {.max_length = model.config().max_position_embeddings}, encoding,
                       scratch);
      batch.append(encoding.input_ids, encoding.token_type_ids);
    }

    bert::Workspace workspace;
    const bert::Matrix hidden = model.forward(batch, workspace);  // [T, H]
    std::vector<float> a(H), b(H);
    bert::pool(bert::Pooling::mean, hidden.slice(batch.begin(0), batch.length(0)), a);
    bert::pool(bert::Pooling::mean, hidden.slice(batch.begin(1), batch.length(1)), b);
    std::printf("%.6f\n", bert::cosine(a, b));
  } catch (const bert::Error& error) {
    std::fprintf(stderr, "embed_one: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
