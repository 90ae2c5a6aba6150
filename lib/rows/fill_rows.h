#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/cells.h"

namespace bert {

/// A row of a mask whose truth is known.
struct TruthRow {
  size_t mask = 0, rank = 0;
  double probability = 0, surprisal = 0, entropy = 0;
  std::string_view gold = {}, best = {};
  void cells(Cells& c) const {
    c.count("mask", mask).count("rank", rank).number("probability", probability);
    c.number("surprisal", surprisal).number("entropy", entropy);
    c.text("gold", gold).text("best", best);
  }
};

/// A row of what may fill a mask.
struct CandidateRow {
  size_t mask = 0, rank = 0;
  double probability = 0;
  std::string_view token = {}, text = {};
  void cells(Cells& c) const {
    c.count("mask", mask).count("rank", rank).number("probability", probability);
    c.text("token", token).text("text", text);
  }
};

struct FilledRow {
  std::string_view text = {};
  void cells(Cells& c) const { c.text(c.members() ? "filled" : "text", text); }
};

/// A row of labels that words speak for, best first. Of a text without a mask they have no scores.
struct LabelsRow {
  size_t shown = 0;
  bool numbered = false;  ///< names have a number
  std::vector<std::pair<std::string_view, double>> scores = {};
  void cells(Cells& c) const {
    for (size_t i = 0; i < shown; ++i) {
      const bool known = i < scores.size();
      const std::string number = numbered ? std::to_string(i + 1) : "";
      c.text("label" + number, known ? scores[i].first : "");
      c.number(numbered ? "p" + number : "probability", known ? scores[i].second : std::nan(""));
    }
  }
};

}  // namespace bert
