#include "tasks/layers.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace bert {
namespace {

[[noreturn]] void fail(std::string_view text, std::string_view why) {
  throw Error(Error::Kind::usage, "--layers", fmt::format("'{}': {}", printable(text), why));
}

/// A layer number at the start of `text`, which is advanced past it.
size_t take_layer(std::string_view& text, size_t num_hidden_layers) {
  const long count = static_cast<long>(num_hidden_layers);
  long layer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layer);
  if (error != std::errc()) fail(text, "wants a layer number");
  if (layer > count || layer < -(count + 1)) {
    fail(text, fmt::format("the model has layers 0 to {}", count));
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return static_cast<size_t>(layer < 0 ? count + 1 + layer : layer);
}

}  // namespace

size_t LayerExpression::width(const Config& config) const {
  switch (combine) {
    case Combine::concat:
      return layers.size() * config.hidden_size;
    case Combine::word:
      return config.embedding_size;
    case Combine::one_hot:
      return config.vocab_size;
    default:
      return config.hidden_size;
  }
}

LayerExpression LayerExpression::parse(std::string_view text, size_t num_hidden_layers) {
  LayerExpression e;
  if (text == "word" || text == "onehot") {
    e.combine = text == "word" ? Combine::word : Combine::one_hot;
    return e;
  }
  std::string_view rest = text;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view verb = text.substr(0, colon);
    if (verb != "sum" && verb != "mean" && verb != "concat") {
      fail(text, "wants sum:, mean: or concat: before the layers");
    }
    e.combine = verb == "sum" ? Combine::sum : verb == "mean" ? Combine::mean : Combine::concat;
    rest = text.substr(colon + 1);
  }
  for (;;) {
    const size_t from = take_layer(rest, num_hidden_layers);
    size_t to = from;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      to = take_layer(rest, num_hidden_layers);
      if (to < from) fail(text, "the range runs backwards");
    }
    for (size_t layer = from; layer <= to; ++layer) e.layers.push_back(layer);
    if (rest.empty()) break;
    if (!rest.starts_with(',')) fail(rest, "wants a comma or the end");
    rest.remove_prefix(1);
  }
  if (e.combine == Combine::one && e.layers.size() != 1) {
    fail(text, "several layers need sum:, mean: or concat:");
  }
  return e;
}

}  // namespace bert
