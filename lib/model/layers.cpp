#include "model/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"

namespace bert {
namespace {

[[noreturn]] void fail(std::string_view field, std::string_view text, std::string_view why) {
  throw Error::of_field(field, fmt::format("'{}': {}", printable(text), why));
}

}  // namespace

std::vector<size_t> parse_numbers(std::string_view text, std::string_view field,
                                  std::string_view things, size_t first, size_t last) {
  if (last < first) fail(field, text, fmt::format("the model has no {}s", things));
  // The number at the start of `text`, which is advanced past it.
  const auto take = [&]() -> size_t {
    const std::string_view rest = text;
    const auto taken = take_number<long>(text);
    if (!taken) fail(field, rest, fmt::format("wants a {} number", things));
    const long number = *taken;
    const long least = static_cast<long>(first), most = static_cast<long>(last);
    if (number > most || number < least - most - 1 || (number >= 0 && number < least)) {
      fail(field, rest, fmt::format("the model has {}s {} to {}", things, least, most));
    }
    return static_cast<size_t>(number < 0 ? most + 1 + number : number);
  };
  std::vector<size_t> numbers;
  const std::string_view whole = text;
  for (;;) {
    const size_t from = take();
    size_t to = from;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      to = take();
      if (to < from) fail(field, whole, "the range runs backwards");
    }
    for (size_t number = from; number <= to; ++number) numbers.push_back(number);
    if (text.empty()) return numbers;
    if (!text.starts_with(',')) fail(field, text, "wants a comma or the end");
    text.remove_prefix(1);
  }
}

size_t LayerExpression::last_layer() const {
  return layers.empty() ? 0 : *std::max_element(layers.begin(), layers.end());
}

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

void LayerExpression::add(size_t layer, ConstMatrix hidden, Matrix combined) const {
  if (layer == *std::min_element(layers.begin(), layers.end())) {
    for (size_t t = 0; t < combined.rows; ++t) std::fill_n(combined.row(t), combined.cols, 0.0f);
  }
  for (size_t position = 0; position < layers.size(); ++position) {
    if (layers[position] != layer) continue;
    const float weight = weights.empty() ? 1.0f : weights[position];
    for (size_t t = 0; t < hidden.rows; ++t) {
      float* out = combined.row(t) + (combine == Combine::concat ? position * hidden.cols : 0);
      const float* in = hidden.row(t);
      for (size_t i = 0; i < hidden.cols; ++i) out[i] += weight * in[i];
    }
  }
}

/// `9=0.2,10-12=0.8,0`: layers with weights, 1 where none is given.
void LayerExpression::parse_weights(std::string_view text, size_t num_hidden_layers) {
  for (const std::string_view item : split(text, ',')) {
    const size_t equals = std::min(item.find('='), item.size());
    double weight = 1;
    if (equals < item.size()) {
      const auto number = to_number<double>(item.substr(equals + 1));
      if (!number || !std::isfinite(*number)) fail("layers", item, "wants a number behind the =");
      weight = *number;
    }
    for (const size_t layer :
         parse_numbers(item.substr(0, equals), "layers", "layer", 0, num_hidden_layers)) {
      layers.push_back(layer);
      weights.push_back(static_cast<float>(weight));
    }
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
      fail("layers", text, "wants sum:, mean: or concat: before the layers");
    }
    e.combine = verb == "sum" ? Combine::sum : verb == "mean" ? Combine::mean : Combine::concat;
    rest = text.substr(colon + 1);
  }
  const bool weighted = rest.find('=') != std::string_view::npos;
  if (weighted && e.combine != Combine::sum && e.combine != Combine::mean) {
    fail("layers", text, "weights need sum: or mean:");
  }
  if (weighted) {
    e.parse_weights(rest, num_hidden_layers);
  } else {
    e.layers = parse_numbers(rest, "layers", "layer", 0, num_hidden_layers);
  }
  if (e.combine == Combine::one && e.layers.size() != 1) {
    fail("layers", text, "several layers need sum:, mean: or concat:");
  }
  if (e.combine != Combine::mean) return e;
  if (!weighted) e.weights.assign(e.layers.size(), 1.0f);
  if (!e.scale_weights()) fail("layers", text, "the weights of a mean sum to 0");
  return e;
}

bool LayerExpression::scale_weights() {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (float& weight : weights) weight = static_cast<float>(weight / sum);
  return std::abs(sum) > 1e-6;
}

LayerExpression LayerExpression::mean_from(size_t first, const std::vector<float>& weights) {
  LayerExpression e;
  e.combine = Combine::mean;
  e.weights = weights;
  e.scale_weights();
  for (size_t i = 0; i < weights.size(); ++i) e.layers.push_back(first + i);
  return e;
}

}  // namespace bert
