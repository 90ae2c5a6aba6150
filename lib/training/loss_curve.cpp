#include "training/loss_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parse.h"

namespace bert::training {
namespace {

constexpr double kWidth = 720, kHeight = 360;
constexpr double kLeft = 70, kRight = 24, kTop = 40, kBottom = 50;
constexpr double kSmooth = 0.95;  // of the loss so far in the line: about the last 20 steps count
constexpr const char *kTrainColor = "#1f5fbf", *kDevColor = "#c0392b";

using Points = std::vector<std::pair<double, double>>;  // step, loss

struct Curve {
  Points losses, dev;  ///< the former smoothed
  double last = 1;
};

double number_of(std::string_view field) { return take_number<double>(field).value_or(NAN); }

Curve read_curve(std::string_view text) {
  Curve curve;
  double smooth = 0, weight = 0;
  text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    std::string_view fields[6];  // step, loss, .., dev loss
    std::string_view rest = text.substr(0, end);
    for (std::string_view& field : fields) {
      field = rest.substr(0, rest.find('\t'));
      rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    }
    const double step = number_of(fields[0]), loss = number_of(fields[1]);
    if (const double dev = number_of(fields[5]); std::isfinite(dev)) {
      curve.dev.emplace_back(step, dev);
    }
    if (!std::isfinite(loss)) continue;
    smooth = kSmooth * smooth + (1 - kSmooth) * loss;
    weight = kSmooth * weight + (1 - kSmooth);
    curve.last = step;
    curve.losses.emplace_back(step, smooth / weight);
  }
  return curve;
}

/// 1, 2 or 5 times a power of ten, of which at most `most` fit into `range`.
double round_step(double range, double most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double factor : {1., 2., 5.}) {
    if (range / (factor * power) <= most) return factor * power;
  }
  return 10 * power;
}

/// Where steps and losses stand in the picture. The losses end at round numbers.
class Axes {
 public:
  explicit Axes(const Curve& curve) : last_(curve.last) {
    double low = INFINITY, high = -INFINITY;
    for (const Points* points : {&curve.losses, &curve.dev}) {
      for (const auto& [step, loss] : *points)
        low = std::min(low, loss), high = std::max(high, loss);
    }
    // Losses that differ in their last bits only have no range to be drawn in.
    if (!(high - low > 1e-6 * std::abs(high)))
      low = std::isfinite(low) ? low - 1 : 0, high = low + 2;
    tick_ = round_step(high - low, 5);
    low_ = std::floor(low / tick_), high_ = std::ceil(high / tick_);
    step_tick_ = std::max(1., round_step(last_, 8));
  }
  double x(double step) const { return kLeft + step / last_ * (kWidth - kLeft - kRight); }
  double y(double loss) const {
    const double part = (loss / tick_ - low_) / (high_ - low_);
    return kHeight - kBottom - part * (kHeight - kTop - kBottom);
  }

  void draw(std::string& svg) const {
    for (double i = low_; i <= high_; ++i) {
      svg += fmt::format(
          "<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{:.6g}</text>\n",
          kLeft, y(i * tick_), kWidth - kRight, kLeft - 8, y(i * tick_) + 4, i * tick_);
    }
    const double bottom = kHeight - kBottom;
    for (double step = 0; step <= last_; step += step_tick_) {
      svg += fmt::format(
          "<path d=\"M{0:.1f} {1}v5\" stroke=\"#888\"/>"
          "<text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3:.0f}</text>\n",
          x(step), bottom, bottom + 18, step);
    }
    svg += fmt::format(
        "<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#888\"/>\n"
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">step</text>\n"
        "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">loss</text>\n",
        kLeft, kTop, bottom, kWidth - kRight, (kLeft + kWidth - kRight) / 2, kHeight - 12,
        (kTop + bottom) / 2);
  }

  void draw(const Points& points, const char* color, double width, std::string& svg) const {
    const size_t stride = points.size() / 1000 + 1;  // more points cannot be seen
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" points=\"", color,
                       width);
    for (size_t i = 0; i < points.size(); i += stride) {
      svg += fmt::format("{:.1f},{:.1f} ", x(points[i].first), y(points[i].second));
    }
    svg += "\"/>\n";
  }

 private:
  double last_;
  double tick_, low_, high_;  ///< the last two in ticks
  double step_tick_;
};

/// A line's colour and what it is.
void add_legend(double x, const char* color, const char* what, std::string& svg) {
  svg += fmt::format(
      "<path d=\"M{} {}h20\" stroke=\"{}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
      x, kTop - 22, color, x + 26, kTop - 18, what);
}

}  // namespace

std::string loss_svg(std::string_view text) {
  const Curve curve = read_curve(text);
  const Axes axes(curve);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  axes.draw(svg);
  axes.draw(curve.losses, kTrainColor, 1.5, svg);
  add_legend(kLeft, kTrainColor, "training loss, smoothed: a mean of about the last 20 steps", svg);
  if (!curve.dev.empty()) {
    axes.draw(curve.dev, kDevColor, 1, svg);
    for (const auto& [step, loss] : curve.dev) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                         axes.x(step), axes.y(loss), kDevColor);
    }
    add_legend(kLeft + 400, kDevColor, "dev loss", svg);
  }
  return svg + "</svg>\n";
}

}  // namespace bert::training
