// How alike two sentences are: vector MODEL SENTENCE SENTENCE
#include <bert/model.h>
#include <bert/pooling.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: vector MODEL SENTENCE SENTENCE\n"), 64;
  try {
    const bert::Model model(argv[1]);
    bert::Batch batch(model);
    batch.add(argv[2]).add(argv[3]);
    const bert::Matrix vectors = bert::sentence_vectors(batch);  // [2, W]
    std::printf("%.6g\n", bert::cosine(vectors[0], vectors[1]));
  } catch (const bert::Error& error) {
    return std::fprintf(stderr, "vector: %s\n", error.what()), error.status();
  }
}
