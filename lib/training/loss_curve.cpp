#include "training/loss_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parse.h"

namespace bert::training {
namespace {

struct Curve {
  std::vector<std::pair<double, double>> losses, dev;  ///< step, loss; smoothed
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
    smooth = 0.95 * smooth + 0.05 * loss;
    weight = 0.95 * weight + 0.05;
    curve.last = step;
    curve.losses.emplace_back(step, smooth / weight);
  }
  return curve;
}

}  // namespace

std::string loss_svg(std::string_view text) {
  constexpr double kWidth = 720, kHeight = 360, kMargin = 50;
  const auto [points, dev, last] = read_curve(text);
  double low = INFINITY, high = -INFINITY;
  for (const auto* curve : {&points, &dev}) {
    for (const auto& [step, loss] : *curve) low = std::min(low, loss), high = std::max(high, loss);
  }
  if (!(high > low)) low = points.empty() ? 0 : high - 1, high = low + 2;
  const auto x = [&, last = last](double step) {
    return kMargin + step / last * (kWidth - 2 * kMargin);
  };
  const auto y = [&](double loss) {
    return kMargin + (high - loss) / (high - low) * (kHeight - 2 * kMargin);
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  for (int i = 0; i <= 4; ++i) {
    const double loss = low + (high - low) * i / 4, step = last * i / 4;
    svg += fmt::format(
        "<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.3g}</text>"
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n",
        kMargin, y(loss), kWidth - kMargin, kMargin - 6, y(loss) + 4, loss, x(step),
        kHeight - kMargin + 18, step);
  }
  // More than about a thousand points cannot be seen.
  const size_t stride = points.size() / 1000 + 1;
  svg += "<polyline fill=\"none\" stroke=\"#1f5fbf\" stroke-width=\"1.5\" points=\"";
  for (size_t i = 0; i < points.size(); i += stride) {
    svg += fmt::format("{:.1f},{:.1f} ", x(points[i].first), y(points[i].second));
  }
  svg += "\"/>\n";
  for (const auto& [step, loss] : dev) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#c0392b\"/>\n", x(step),
                       y(loss));
  }
  if (!dev.empty()) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#c0392b\" text-anchor=\"end\">dev</text>\n",
                       kWidth - kMargin, kMargin - 14);
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>"
      "<text x=\"{}\" y=\"{}\">loss</text>\n</svg>\n",
      kWidth / 2, kHeight - 12, kMargin, kMargin - 14);
  return svg;
}

}  // namespace bert::training
