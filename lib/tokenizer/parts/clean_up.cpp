#include "tokenizer/parts/clean_up.h"

#include <string_view>
#include <utility>

namespace bert {
namespace {

struct Replacement {
  std::string_view from;
  std::string_view to;
};

constexpr Replacement kBefore[] = {{" .", "."},  {" ?", "?"},     {" !", "!"},  {" ,", ","},
                                   {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}};
constexpr Replacement kDoNot = {" do not", " don't"};
constexpr Replacement kAfter[] = {{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

void replace_all(std::string& text, const Replacement& rule) {
  size_t at = text.find(rule.from);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(rule.from, done)) {
    out.append(text, done, at - done).append(rule.to);
    done = at + rule.from.size();
  }
  out.append(text, done);
  text = std::move(out);
}

std::string clean_up(std::string text, bool with_do_not) {
  for (const Replacement& rule : kBefore) replace_all(text, rule);
  if (with_do_not) replace_all(text, kDoNot);
  for (const Replacement& rule : kAfter) replace_all(text, rule);
  return text;
}

}  // namespace

std::string clean_up_tokens(std::string text) { return clean_up(std::move(text), true); }

std::string clean_up_text(std::string text) { return clean_up(std::move(text), false); }

}  // namespace bert
