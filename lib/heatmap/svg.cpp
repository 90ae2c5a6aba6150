#include "heatmap/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "heatmap/shade.h"
#include "text/shown_text.h"

namespace bert {
namespace {

constexpr size_t kLongestLabel = 16;  ///< columns of a token
constexpr size_t kShades = 64;
constexpr double kWidest = 1640;  ///< width of all heads side by side, if a layer has several
constexpr double kGap = 28, kTitle = 22;

/// The sizes of a record's matrices, in pixels.
struct Layout {
  double cell = 0, font = 0, left = 0, top = 0, width = 0, height = 0;

  Layout(const std::vector<std::string>& from, const std::vector<std::string>& to) {
    const auto most = static_cast<double>(std::max(from.size(), to.size()));
    cell = std::clamp(320 / most, 10.0, 36.0);
    font = std::clamp(cell * 0.85, 8.0, 12.0);
    left = label_width(from) + 6;
    top = label_width(to) + 6 + kTitle;
    width = left + cell * static_cast<double>(to.size());
    height = top + cell * static_cast<double>(from.size());
  }
  double label_width(const std::vector<std::string>& texts) const {
    size_t columns = 0;
    for (const std::string& text : texts) columns = std::max(columns, display_width(text));
    return 0.62 * font * static_cast<double>(columns);
  }
};

std::vector<std::string> labels(const std::vector<HeatToken>& tokens) {
  std::vector<std::string> texts;
  for (const HeatToken& token : tokens) {
    texts.push_back(cut_to(shown_text(token.text), kLongestLabel));
  }
  return texts;
}

class SvgDrawing : public HeatDrawing {
 public:
  explicit SvgDrawing(std::optional<float> largest) : largest_(largest) {}

  void add(const HeatRecord& record, std::string&) override {
    const std::vector<std::string> from = labels(record.from), to = labels(record.to);
    const Layout layout(from, to);
    text(kGap, y_ + 16, 15, "bold", fmt::format("Record {}", record.number));
    y_ += 28;
    double x = kGap;
    for (size_t i = 0; i < record.heads.size(); ++i) {
      const HeatHead& head = record.heads[i];
      const bool new_layer = i > 0 && head.layer != record.heads[i - 1].layer;
      if (new_layer || (x > kGap && x + layout.width > kWidest)) {
        x = kGap;
        y_ += layout.height + kGap;
      }
      draw(head, from, to, layout, x);
      x += layout.width + kGap;
      width_ = std::max(width_, x);
    }
    y_ += layout.height + kGap;
  }

  void finish(std::string& out) override {
    out += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
        "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n"
        "<title>Attention weights</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        std::max(width_, 240.0), y_);
    out += body_ + "</svg>\n";
  }

 private:
  void text(double x, double y, double size, const char* weight, const std::string& what) {
    body_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" font-weight=\"{}\">{}</text>\n", x, y,
        size, weight, markup(what));
  }

  void draw(const HeatHead& head, const std::vector<std::string>& from,
            const std::vector<std::string>& to, const Layout& layout, double x) {
    text(x, y_ + 12, 12, "bold", fmt::format("layer {} head {}", head.layer, head.head));
    body_ += fmt::format("<g transform=\"translate({:.1f},{:.1f})\" font-size=\"{:.1f}\">\n",
                         x + layout.left, y_ + layout.top, layout.font);
    draw_labels(from, to, layout);
    draw_cells(head, layout);
    body_ += fmt::format(
        "<rect width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#999\" "
        "stroke-width=\"0.5\"/>\n</g>\n",
        layout.width - layout.left, layout.height - layout.top);
  }

  void draw_labels(const std::vector<std::string>& from, const std::vector<std::string>& to,
                   const Layout& layout) {
    const double middle = layout.cell / 2 + layout.font * 0.35;
    body_ += "<g text-anchor=\"end\">\n";
    for (size_t i = 0; i < from.size(); ++i) {
      body_ += fmt::format("<text x=\"-4\" y=\"{:.1f}\">{}</text>\n",
                           layout.cell * static_cast<double>(i) + middle, markup(from[i]));
    }
    body_ += "</g>\n<g transform=\"rotate(-90)\">\n";
    for (size_t j = 0; j < to.size(); ++j) {
      body_ += fmt::format("<text x=\"4\" y=\"{:.1f}\">{}</text>\n",
                           layout.cell * static_cast<double>(j) + middle, markup(to[j]));
    }
    body_ += "</g>\n";
  }

  /// One path for each shade, of runs of cells; then the numbers, where they have room.
  void draw_cells(const HeatHead& head, const Layout& layout) {
    const float largest = largest_.value_or(head.largest);
    std::array<std::string, kShades> paths;
    const auto shade = [&](const HeatHead::Cell& cell) {
      return static_cast<size_t>(share_of(cell.weight, largest) * (kShades - 1) + 0.5);
    };
    for (auto at = head.cells.begin(); at != head.cells.end();) {
      auto end = at + 1;
      while (end != head.cells.end() && end->from == at->from && end->to == (end - 1)->to + 1 &&
             shade(*end) == shade(*at)) {
        ++end;
      }
      fmt::format_to(std::back_inserter(paths[shade(*at)]), "M{} {}h{}v1h-{}z", at->to, at->from,
                     end - at, end - at);
      at = end;
    }
    body_ += fmt::format("<g transform=\"scale({:.3f})\" shape-rendering=\"crispEdges\">\n",
                         layout.cell);
    for (size_t s = 0; s < kShades; ++s) {
      if (paths[s].empty()) continue;
      body_ += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n",
                           shade_of(static_cast<double>(s) / (kShades - 1)).hex(), paths[s]);
    }
    body_ += "</g>\n";
    if (layout.cell < 26) return;
    body_ += "<g text-anchor=\"middle\" font-size=\"10\">\n";
    for (const HeatHead::Cell& cell : head.cells) {
      const Shade ground = shade_of(share_of(cell.weight, largest));
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{:.2f}</text>\n",
                           layout.cell * (cell.to + 0.5), layout.cell * (cell.from + 0.5) + 3.5,
                           ground.is_dark() ? "#fff" : "#000", cell.weight);
    }
    body_ += "</g>\n";
  }

  const std::optional<float> largest_;
  std::string body_;
  double y_ = 16, width_ = 0;
};

}  // namespace

std::unique_ptr<HeatDrawing> draw_svg(std::optional<float> largest) {
  return std::make_unique<SvgDrawing>(largest);
}

}  // namespace bert
