// The five best words for each mask of a text: mask MODEL 'Mozart was a famous [MASK].'
#include <bert/heads.h>
#include <bert/model.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: mask MODEL TEXT\n"), 64;
  try {
    bert::ModelOptions options;
    options.task = "fill-mask";
    const bert::Model model(argv[1], options);
    bert::Batch batch(model);
    batch.add(argv[2]);
    const bert::Tokenizer tokenizer = model.tokenizer();
    for (const bert::Filling& filling : bert::fill_masks(batch, 5)) {
      const std::string token(tokenizer.token(filling.id));
      std::printf("%zu\t%s\t%.6g\n", filling.token, token.c_str(), filling.probability);
    }
  } catch (const bert::Error& error) {
    return std::fprintf(stderr, "mask: %s\n", error.what()), error.status();
  }
}
