// The charsmap of a model of sentencepiece: a byte that chooses the rule, a text (long_text.h), the
// charsmap. Whatever is accepted gives UTF-8 that stands for bytes of the text.
#include "text/charsmap.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "long_text.h"
#include "text/unicode.h"
#include "tokenizer/parts/text_normalizer.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using bert::Charsmap;
  if (size < 2) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string text = take_long_text(input);
  bert::NormalText in, out;
  bert::append_text(text, 0, in);
  try {
    const Charsmap map(input, "fuzz",
                       data[0] % 2 ? Charsmap::Rule::longest : Charsmap::Rule::clusters);
    const size_t end = map.longest(in.text).length;
    require(end <= in.text.size() && (end == in.text.size() || (in.text[end] & 0xC0) != 0x80));
    if (!map.normalize(in, out)) return 0;
    require(bert::is_utf8(out.text) && out.origins.size() == out.text.size());
    for (const auto& origin : out.origins) {
      require(origin.begin <= origin.end && origin.end <= text.size());
    }
  } catch (const bert::Error& error) {
    require(error.kind() == bert::Error::Kind::data);
  }
  return 0;
}
