#pragma once

#include <string_view>

#include "io/cells.h"
#include "tokenizer/encoding.h"

namespace bert {

/// A row of a record.
struct TotalRow {
  double pll = 0;
  size_t tokens = 0;
  void cells(Cells& c) const { c.sum("pll", pll).count("tokens", tokens); }
};

struct ScoredPairRow {
  double pll = 0, pll_pair = 0;
  int better = 0;
  size_t tokens = 0, tokens_pair = 0;
  void cells(Cells& c) const {
    auto json = c.members();
    if (json) json->count("better", better);
    c.sum("pll", pll).sum("pll_pair", pll_pair);
    if (json) {
      json->count("tokens", tokens).count("tokens_pair", tokens_pair);
    } else {
      c.count("better", better);
    }
  }
};

struct ScoredTokenRow {
  size_t index = 0;
  std::string_view token = {};
  double logprob = 0;
  void cells(Cells& c) const {
    c.count("index", index).text("token", token).sum("logprob", logprob);
  }
};

struct ScoredWordRow {
  int32_t index = 0;
  std::string_view word = {};
  double logprob = 0;
  void cells(Cells& c) const { c.count("index", index).text("word", word).sum("logprob", logprob); }
};

/// A word between blanks, or a region of the text.
struct PartRow {
  const char* name = "word";
  size_t index = 0;
  std::string_view text = {};
  Offset bytes = {};
  double logprob = 0;
  void cells(Cells& c) const {
    c.count("index", index).passage(name, text);
    c.count("start", bytes.begin).count("end", bytes.end).sum("logprob", logprob);
  }
};

}  // namespace bert
