#include "heatmap/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "text/shown_text.h"

namespace bert {
namespace {

constexpr double kSide = 400, kLeft = 64, kTop = 34, kRight = 30, kBottom = 50;
constexpr const char* kBlue = "#4292c6";

double finite_number(const Record& line, std::string_view field, const char* name) {
  const auto found = to_number<double>(field);
  if (found && std::isfinite(*found)) return *found;
  line.fail(Error::Kind::data,
            fmt::format("{}: found '{}', wants a number", name, printable(field)));
}

std::string svg_text(double x, double y, const char* anchor, const std::string& text,
                     const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, markup(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

/// The frame of a square plot, with names of its axes.
std::string axes(const std::string& title, const char* below, const char* beside) {
  std::string out = svg_text(kLeft + kSide / 2, 20, "middle", title, " font-weight=\"bold\"");
  out += fmt::format(
      "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"none\" stroke=\"#999\"/>\n",
      kLeft, kTop, kSide);
  out += svg_text(kLeft + kSide / 2, kTop + kSide + 40, "middle", below);
  return out +
         svg_text(0, 0, "middle", beside,
                  fmt::format(" transform=\"translate(16,{:.1f}) rotate(-90)\"", kTop + kSide / 2));
}

/// A mark at both axes, `share` of the way along each.
std::string tick(double share, const std::string& below, const std::string& beside) {
  const double x = kLeft + share * kSide, y = kTop + (1 - share) * kSide;
  return svg_line(x, kTop + kSide, x, kTop + kSide + 5, "stroke=\"#999\"") +
         svg_line(kLeft - 5, y, kLeft, y, "stroke=\"#999\"") +
         svg_text(x, kTop + kSide + 19, "middle", below) +
         svg_text(kLeft - 9, y + 4, "end", beside);
}

class BinPlot : public Plot {
 public:
  BinPlot(PlotForm form, size_t width) : form_(form), width_(width) {}

  void add(const Record& line) override {
    const std::vector<std::string_view> fields = split(line.body(), '\t');
    if (fields.size() == 2 && fields[0] == "ece") error_ = std::string(fields[1]);
    if (fields.empty() || fields[0] != "bin") return;
    const auto records = fields.size() == 6 ? to_number<uint64_t>(fields[3]) : std::nullopt;
    if (!records) {
      line.fail(Error::Kind::data,
                fmt::format("found '{}', wants bin, low, high, records, confidence, accuracy",
                            printable(line.body())));
    }
    Bin bin{finite_number(line, fields[1], "low"), finite_number(line, fields[2], "high"), *records,
            0, 0};
    if (bin.records > 0) {  // else both are nan
      bin.confidence = finite_number(line, fields[4], "confidence");
      bin.accuracy = finite_number(line, fields[5], "accuracy");
    }
    bins_.push_back(bin);
  }

  std::string draw() const override {
    if (bins_.empty()) {
      throw Error(Error::Kind::data, "input",
                  "found no row that begins with 'bin', as a report of calibration has");
    }
    return form_ == PlotForm::text ? as_text() : framed(as_svg());
  }

 private:
  struct Bin {
    double low, high;
    uint64_t records;
    double confidence, accuracy;
  };

  std::string title() const {
    uint64_t records = 0;
    for (const Bin& bin : bins_) records += bin.records;
    return fmt::format("{} records{}", records,
                       error_.empty() ? "" : ", calibration error " + shown_text(error_));
  }

  /// A bar for the share that is right, and | where it should end.
  std::string as_text() const {
    const size_t room = std::clamp<size_t>(width_ > 34 ? width_ - 34 : 0, 10, 60);
    std::string out = title() + "\nprobability    records  right\n";
    for (const Bin& bin : bins_) {
      out += fmt::format("{:.3f} to {:.3f}  {:>6}", bin.low, bin.high, bin.records);
      if (bin.records > 0) {
        const auto columns = [&](double share) {
          return static_cast<size_t>(
              std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(room)));
        };
        std::string bar(columns(bin.accuracy), '#');
        bar.resize(room + 1, ' ');
        bar[columns(bin.confidence)] = '|';
        bar.erase(bar.find_last_not_of(' ') + 1);
        out += fmt::format("  {:.3f}  {}", bin.accuracy, bar);
      }
      out += '\n';
    }
    return out;
  }

  std::string as_svg() const {
    std::string out = axes(title(), "probability of the label", "share that is right");
    for (int i = 0; i <= 5; ++i)
      out += tick(i / 5.0, fmt::format("{:.1f}", i / 5.0), fmt::format("{:.1f}", i / 5.0));
    for (const Bin& bin : bins_) {
      if (bin.records == 0) continue;
      const double x = kLeft + bin.low * kSide, wide = (bin.high - bin.low) * kSide;
      const double high = bin.accuracy * kSide, wanted = kTop + (1 - bin.confidence) * kSide;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
          "stroke=\"#fff\"><title>{} records, probability {:.3f}, right {:.3f}</title></rect>\n",
          x, kTop + kSide - high, wide, high, kBlue, bin.records, bin.confidence, bin.accuracy);
      out += svg_line(x, wanted, x + wide, wanted, "stroke=\"#d9480f\" stroke-width=\"2.5\"");
      out += svg_text(x + wide / 2, kTop + kSide - 4, "middle", std::to_string(bin.records),
                      " font-size=\"9\"");
    }
    return out + svg_line(kLeft, kTop + kSide, kLeft + kSide, kTop,
                          "stroke=\"#667085\" stroke-dasharray=\"4 4\"");
  }

  std::string framed(const std::string& body) const {
    return framed_svg(form_, "Reliability diagram", kLeft + kSide + kRight, kTop + kSide + kBottom,
                      body);
  }

  const PlotForm form_;
  const size_t width_;
  std::vector<Bin> bins_;
  std::string error_;
};

class PointPlot : public Plot {
 public:
  PointPlot(PlotForm form, size_t width) : form_(form), width_(width) {}

  void add(const Record& line) override {
    const std::vector<std::string_view> fields = split(line.body(), '\t');
    if (fields.size() < 2)
      line.fail(Error::Kind::data, "found 1 field, wants x, y and, if it is there, a text");
    points_.push_back({finite_number(line, fields[0], "x"), finite_number(line, fields[1], "y"),
                       fields.size() > 2 ? std::string(fields[2]) : ""});
  }

  std::string draw() const override {
    if (points_.empty()) throw Error(Error::Kind::data, "input", "found no point");
    return form_ == PlotForm::text ? as_text() : as_svg();
  }

 private:
  static constexpr size_t kMostLabels = 100;
  struct Point {
    double x, y;
    std::string text;
  };
  struct Range {
    double low, high;
    double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
  };
  template <typename Of>
  Range range(Of of) const {
    Range r{of(points_[0]), of(points_[0])};
    for (const Point& p : points_) r = {std::min(r.low, of(p)), std::max(r.high, of(p))};
    return r;
  }
  Range xs() const {
    return range([](const Point& p) { return p.x; });
  }
  Range ys() const {
    return range([](const Point& p) { return p.y; });
  }

  /// A letter for each point that has a place of its own, in the order of the lines below; + where
  /// several are.
  std::string as_text() const {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const size_t columns = std::max<size_t>(width_, 20),
                 lines = std::clamp<size_t>(columns / 4, 5, 30);
    std::vector<std::string> grid(lines, std::string(columns, ' '));
    const Range x = xs(), y = ys();
    const bool named = points_.size() <= letters.size();
    for (size_t i = 0; i < points_.size(); ++i) {
      const auto column = static_cast<size_t>(
          std::lround(x.share(points_[i].x) * static_cast<double>(columns - 1)));
      const auto row = static_cast<size_t>(
          std::lround((1 - y.share(points_[i].y)) * static_cast<double>(lines - 1)));
      char& cell = grid[row][column];
      cell = cell != ' ' ? '+' : named ? letters[i] : '*';
    }
    std::string out =
        fmt::format("x {:.3g} to {:.3g}, y {:.3g} to {:.3g}\n", x.low, x.high, y.low, y.high);
    for (std::string& row : grid) {
      row.erase(row.find_last_not_of(' ') + 1);
      out += row + '\n';
    }
    if (!named) return out;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (!points_[i].text.empty())
        out += fmt::format("{} {}\n", letters[i], cut_to(shown_text(points_[i].text), columns - 2));
    }
    return out;
  }

  std::string as_svg() const {
    const Range x = xs(), y = ys();
    std::string out = axes(fmt::format("{} points", points_.size()), "x", "y");
    for (const double share : {0.05, 0.95}) {
      const auto value = [&](const Range& r) {
        return fmt::format("{:.3g}", r.low + (share < 0.5 ? 0 : r.high - r.low));
      };
      out += tick(share, value(x), value(y));
    }
    std::vector<std::pair<double, double>> placed;
    for (const Point& p : points_) {
      const double at = kLeft + (0.05 + 0.9 * x.share(p.x)) * kSide;
      const double high = kTop + (0.95 - 0.9 * y.share(p.y)) * kSide;
      const std::string text = p.text.empty() ? "" : shown_text(p.text);
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title>"
          "</circle>\n",
          at, high, kBlue, markup(text));
      if (points_.size() > kMostLabels || text.empty()) continue;
      const bool left = at > kLeft + kSide / 2;
      const double y_of_text = free_place(placed, at, high);
      out += svg_text(left ? at - 6 : at + 6, y_of_text + 3.5, left ? "end" : "start",
                      cut_to(text, 30), " font-size=\"9\"");
    }
    return framed_svg(form_, "Points", kLeft + kSide + kRight, kTop + kSide + kBottom, out);
  }

  /// The first height from `y` down where no other text is near.
  static double free_place(std::vector<std::pair<double, double>>& placed, double x, double y) {
    const auto is_near = [&](const std::pair<double, double>& other) {
      return std::abs(other.first - x) < 150 && std::abs(other.second - y) < 10;
    };
    while (std::any_of(placed.begin(), placed.end(), is_near)) y += 2;
    placed.push_back({x, y});
    return y;
  }

  const PlotForm form_;
  const size_t width_;
  std::vector<Point> points_;
};

}  // namespace

std::string framed_svg(PlotForm form, const std::string& title, double width, double height,
                       const std::string& body) {
  const std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-size=\"12\" "
      "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, markup(title), body);
  if (form != PlotForm::html) return svg;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">\n"
      "<title>{}</title>\n</head>\n<body>\n{}</body>\n</html>\n",
      markup(title), svg);
}

std::unique_ptr<Plot> plot_bins(PlotForm form, size_t width) {
  return std::make_unique<BinPlot>(form, width);
}

std::unique_ptr<Plot> plot_points(PlotForm form, size_t width) {
  return std::make_unique<PointPlot>(form, width);
}

}  // namespace bert
