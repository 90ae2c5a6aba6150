#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// Takes a text from the start of `input`: a byte with its length, then the text. It comes back
/// some thousand bytes long, each copy moved by what stands once before all, so that limits fall
/// on every place in a character.
inline std::string take_long_text(std::string_view& input) {
  if (input.empty()) return {};
  const auto wanted = static_cast<unsigned char>(input[0]);
  const std::string_view seed = input.substr(1, wanted % 32);
  std::string text((wanted / 32) % 4, 'a');
  input.remove_prefix(std::min(input.size(), 1 + seed.size()));
  while (!seed.empty() && text.size() < 2500) text += seed;
  return text;
}
