// How like a sentence each line is, on all CPUs, in the order of the lines: stream MODEL SENTENCE
// <lines
#include <bert/pooling.h>
#include <bert/stream.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: stream MODEL SENTENCE <lines\n"), 64;
  try {
    const bert::Model model(argv[1]);
    bert::Batch batch(model);
    const bert::Matrix sentence = bert::sentence_vectors(batch.add(argv[2]));  // [1, W]
    bert::StreamOptions options;
    options.work = [&](bert::Batch& mine, bert::Span<const std::string_view> lines,
                       bert::Rows& rows) {
      for (const std::string_view line : lines) mine.add(line);
      const bert::Matrix vectors = bert::sentence_vectors(mine);  // [lines, W]
      char score[32];
      for (size_t i = 0; i < lines.size(); ++i) {
        std::snprintf(score, sizeof score, "%.6g\t", bert::cosine(sentence[0], vectors[i]));
        rows << score << lines[i] << "\n";
      }
    };
    bert::stream(model, options);
  } catch (const bert::Error& error) {
    return std::fprintf(stderr, "stream: %s\n", error.what()), error.status();
  }
}
