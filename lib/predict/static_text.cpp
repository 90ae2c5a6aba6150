#include "predict/static_text.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"

namespace bert {
namespace {

size_t characters(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); i += utf8_step(text, i).length) ++count;
  return count;
}

/// The median number of characters of a token, its fraction dropped.
size_t median_length(const Tokenizer& tokenizer) {
  std::vector<size_t> lengths;
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view token = tokenizer.token(static_cast<int32_t>(id));
    if (!token.empty()) lengths.push_back(characters(token));
  }
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  if (lengths.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(lengths.begin(), middle)) / 2;
}

}  // namespace

StaticText StaticText::open(const StaticFiles& files, const Tokenizer& tokenizer) {
  StaticText text{StaticVectors::open(files, tokenizer.vocab_size())};
  text.normalize = files.normalize;
  text.max_length = files.max_length.value_or(0);
  if (files.kind == StaticFiles::Kind::model2vec) {
    text.left_out = tokenizer.unk_id();
    text.token_length = median_length(tokenizer);
  } else {
    text.max_length = tokenizer.model_max_length().value_or(0);
  }
  return text;
}

std::string_view StaticText::cut(std::string_view text, size_t tokens) const {
  if (token_length == 0 || tokens == 0 || text.size() / token_length < tokens) return text;
  size_t left = tokens * token_length, i = 0;
  for (; i < text.size() && left > 0; --left) i += utf8_step(text, i).length;
  return text.substr(0, i);
}

Tokenizer open_any_tokenizer(const ModelDirectory& directory) {
  const StaticFiles* files = directory.static_files();
  return files ? Tokenizer::open_alone(files->folder) : Tokenizer::open(directory);
}

}  // namespace bert
