#include "heatmap/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/utf8.h"
#include "heatmap/shade.h"
#include "text/shown_text.h"

namespace bert {
namespace {

using View = TerminalStyle::View;

constexpr size_t kLongestLabel = 12;  ///< columns of a token beside or above a matrix
/// Blues of the 256 colours of xterm, for a light ground and for a dark one. The first is not used:
/// what is nearly nothing has the colour of the ground.
constexpr std::array<int, 9> kPalette = {231, 195, 153, 117, 75, 33, 26, 25, 18};
constexpr std::array<int, 9> kDarkPalette = {16, 17, 18, 25, 26, 33, 75, 117, 195};
constexpr std::array<int, 5> kWhiteOn = {17, 18, 25, 26, 33};  ///< letters on these are white
constexpr double kNothing = 1. / 16;  ///< part of the largest weight: half a step of the palette
/// Letters that make no number look negative or longer.
constexpr std::string_view kLevels = " ':;!o*&#@";

std::string padded_left(const std::string& text, size_t columns) {
  const size_t width = display_width(text);
  return std::string(columns > width ? columns - width : 0, ' ') + text;
}

std::vector<std::string> labels(const std::vector<HeatToken>& tokens, size_t columns) {
  std::vector<std::string> texts;
  for (const HeatToken& token : tokens) texts.push_back(cut_to(shown_text(token.text), columns));
  return texts;
}

size_t widest(const std::vector<std::string>& texts) {
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, display_width(text));
  return width;
}

/// ".27", "1.0"; a weight that rounds to nothing is "0".
std::string short_number(float weight) {
  if (weight < 0.005f) return "0";
  if (weight > 9.95f) return weight < 999.5f ? fmt::format("{:.0f}", weight) : "big";
  if (weight > 0.995f) return fmt::format("{:.1f}", weight);
  return fmt::format("{:.2f}", weight).substr(1);
}

class TerminalDrawing : public HeatDrawing {
 public:
  TerminalDrawing(const TerminalStyle& style, std::optional<float> largest)
      : style_(style), largest_(largest) {}

  void add(const HeatRecord& record, std::string& out) override {
    for (const HeatHead& head : record.heads) {
      if (!first_) out += '\n';
      first_ = false;
      const float largest = largest_.value_or(head.largest);
      if (style_.view == View::text || (style_.view == View::fitting && record.from.size() == 1) ||
          !draw_matrix(record, head, largest, out)) {
        draw_text(record, head, out);
      }
    }
  }
  void finish(std::string&) override {}

 private:
  void title(const HeatRecord& record, const HeatHead& head, const std::string& more,
             std::string& out) const {
    const std::string place =
        record.words ? "surprisal" : fmt::format("layer {}  head {}", head.layer, head.head);
    const std::string text = fmt::format("record {}  {}  {}", record.number, place, more);
    out += style_.colors == TerminalColors::ascii ? text : "\x1b[1m" + text + "\x1b[0m";
    out += '\n';
  }

  /// `text` on its shade.
  void shaded(const std::string& text, double share, std::string& out) const {
    const Shade shade = style_.dark ? light_of(share) : shade_of(share);
    if (share < (style_.colors == TerminalColors::full ? kNothing / 4 : kNothing)) {
      out += text;
    } else if (style_.colors == TerminalColors::full) {
      const int ink = shade.is_dark() ? 255 : 0;
      out += fmt::format("\x1b[48;2;{};{};{}m\x1b[38;2;{};{};{}m{}\x1b[0m", shade.red, shade.green,
                         shade.blue, ink, ink, ink, text);
    } else {
      const auto& palette = style_.dark ? kDarkPalette : kPalette;
      const int color =
          palette[static_cast<size_t>(share * static_cast<double>(palette.size() - 1) + 0.5)];
      const bool white = std::find(kWhiteOn.begin(), kWhiteOn.end(), color) != kWhiteOn.end();
      out += fmt::format("\x1b[48;5;{}m\x1b[38;5;{}m{}\x1b[0m", color, white ? 231 : 16, text);
    }
  }

  static char level(double share) {
    return kLevels[static_cast<size_t>(share * (kLevels.size() - 1) + 0.5)];
  }

  bool draw_matrix(const HeatRecord& record, const HeatHead& head, float largest,
                   std::string& out) const;
  void draw_column_labels(const std::vector<std::string>& to, size_t side, size_t cell,
                          std::string& out) const;
  void draw_text(const HeatRecord& record, const HeatHead& head, std::string& out) const;
  void draw_line(const std::vector<std::string>& texts, const std::vector<double>& shares,
                 size_t begin, size_t end, std::string& out) const;

  const TerminalStyle style_;
  const std::optional<float> largest_;
  bool first_ = true;
};

/// Tokens over the columns: in a line where they have room, or else downwards.
void TerminalDrawing::draw_column_labels(const std::vector<std::string>& to, size_t side,
                                         size_t cell, std::string& out) const {
  if (cell > 2) {
    out += std::string(side, ' ');
    for (const std::string& text : to) out += padded_left(text, cell);
    out += '\n';
    return;
  }
  std::vector<std::vector<std::string>> letters;
  size_t lines = 0;
  for (const std::string& text : to) {
    std::vector<std::string>& one = letters.emplace_back();
    for (size_t i = 0; i < text.size();) {
      const size_t length = utf8_step(text, i).length;
      const std::string letter = text.substr(i, length);
      if (display_width(letter) == 0 && !one.empty()) {
        one.back() += letter;  // a mark stays with its letter
      } else {
        one.push_back(letter);
      }
      i += length;
    }
    lines = std::max(lines, one.size());
  }
  for (size_t line = 0; line < lines; ++line) {
    std::string row(side, ' ');
    for (const auto& one : letters) {
      const size_t above = lines - one.size();  // words stand on the matrix
      const std::string letter = line < above ? " " : one[line - above];
      // A wide letter has no room over a narrow cell.
      row += display_width(letter) > cell ? "?" : padded_left(letter, cell);
    }
    row.resize(row.find_last_not_of(' ') + 1);
    out += row + '\n';
  }
}

/// False if no matrix is narrow enough.
bool TerminalDrawing::draw_matrix(const HeatRecord& record, const HeatHead& head, float largest,
                                  std::string& out) const {
  const std::vector<std::string> from = labels(record.from, kLongestLabel);
  const size_t side = widest(from) + 1;
  const size_t room = style_.width > side ? style_.width - side : 0;
  const size_t columns = record.to.size();
  size_t cell = style_.view == View::matrix ? 1 : 0;
  size_t longest = kLongestLabel;
  for (const size_t least : {size_t{5}, size_t{2}, size_t{1}}) {
    if (columns * least > room) continue;
    cell = least;
    if (least < 5) break;
    longest = std::min(room / columns - 1, widest(labels(record.to, kLongestLabel)));
    longest = std::max(longest, size_t{4});
    cell = longest + 1;
    break;
  }
  if (cell == 0) return false;

  title(record, head, fmt::format("largest weight {:.3g}", head.largest), out);
  draw_column_labels(labels(record.to, cell > 2 ? longest : kLongestLabel), side, cell, out);
  std::vector<const HeatHead::Cell*> row(columns);
  auto next = head.cells.begin();
  for (size_t i = 0; i < from.size(); ++i) {
    std::fill(row.begin(), row.end(), nullptr);
    for (; next != head.cells.end() && next->from == i; ++next) row[next->to] = &*next;
    out += padded_left(from[i], side - 1) + ' ';
    for (const HeatHead::Cell* one : row) {
      if (!one) {
        out += padded_left(cell > 2 ? "·" : "", cell);
        continue;
      }
      const double share = share_of(one->weight, largest);
      std::string text = cell > 2 ? short_number(one->weight) : "";
      if (style_.colors == TerminalColors::ascii) {
        out += cell > 2 ? padded_left(text + level(share), cell) : std::string(cell, level(share));
      } else {
        shaded(padded_left(cell > 2 ? text + " " : "", cell), share, out);
      }
    }
    out += '\n';
  }
  return true;
}

void TerminalDrawing::draw_text(const HeatRecord& record, const HeatHead& head,
                                std::string& out) const {
  std::vector<double> weights(record.to.size());
  for (const HeatHead::Cell& cell : head.cells) {
    weights[cell.to] += static_cast<double>(cell.weight) / static_cast<double>(record.from.size());
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  const auto largest = static_cast<float>(largest_ ? static_cast<double>(*largest_) : most);
  for (double& weight : weights) weight = share_of(static_cast<float>(weight), largest);
  const std::string who = record.from.size() == 1
                              ? "from " + cut_to(shown_text(record.from[0].text), 4 * kLongestLabel)
                              : fmt::format("mean of {} tokens", record.from.size());
  title(record, head, fmt::format("{}largest {:.3g}", record.words ? "" : who + ", ", most), out);

  const std::vector<std::string> texts = labels(record.to, std::max(style_.width, size_t{8}) - 2);
  for (size_t begin = 0; begin < texts.size();) {
    size_t end = begin, width = 0;
    while (end < texts.size()) {
      const size_t more = display_width(texts[end]) + 1;
      if (end > begin && width + more > style_.width) break;
      width += more;
      ++end;
    }
    draw_line(texts, weights, begin, end, out);
    begin = end;
  }
}

void TerminalDrawing::draw_line(const std::vector<std::string>& texts,
                                const std::vector<double>& shares, size_t begin, size_t end,
                                std::string& out) const {
  std::string marks;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin) out += ' ';
    if (style_.colors == TerminalColors::ascii) {
      out += texts[i];
      if (i > begin) marks += ' ';
      marks += std::string(display_width(texts[i]), level(shares[i]));
    } else {
      shaded(texts[i], shares[i], out);
    }
  }
  out += '\n';
  if (style_.colors != TerminalColors::ascii) return;
  marks.resize(marks.find_last_not_of(' ') + 1);
  out += marks + '\n';
}

}  // namespace

std::unique_ptr<HeatDrawing> draw_terminal(const TerminalStyle& style,
                                           std::optional<float> largest) {
  return std::make_unique<TerminalDrawing>(style, largest);
}

}  // namespace bert
