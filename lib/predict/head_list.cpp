#include "predict/head_list.h"

#include <fmt/format.h>

#include "base/error.h"

namespace bert {

std::vector<HeadPlace> parse_heads(std::string_view text, std::string_view field,
                                   const Config& config) {
  const auto numbers = [field](std::string_view part, std::string_view things, size_t last) {
    return parse_numbers(part == "*" ? "1--1" : part, field, things, 1, last);
  };
  std::vector<HeadPlace> heads;
  for (std::string_view rest = text;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const size_t dot = item.find('.');
    if (dot == std::string_view::npos) {
      throw Error::of_field(
          field, fmt::format("'{}': wants LAYER.HEAD, as in 3.7 or 4.*", printable(item)));
    }
    const auto in = numbers(item.substr(dot + 1), "head", config.num_attention_heads);
    for (const size_t layer : numbers(item.substr(0, dot), "layer", config.num_hidden_layers)) {
      for (const size_t head : in) heads.push_back({layer - 1, head - 1});
    }
    if (item.size() == rest.size()) return heads;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace bert
