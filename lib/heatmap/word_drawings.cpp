#include "heatmap/word_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heatmap/plot.h"
#include "heatmap/shade.h"
#include "text/shown_text.h"

namespace bert {
namespace {

struct Word {
  std::string text;
  std::optional<float> value;  ///< nullopt: it has none
  Shade ground;
};

std::vector<Word> words_of(const HeatRecord& record, std::optional<float> largest) {
  std::vector<Word> words;
  for (const HeatToken& token : record.to)
    words.push_back({shown_text(token.text), {}, shade_of(0)});
  const HeatHead& values = record.heads.front();
  for (const HeatHead::Cell& cell : values.cells) {
    words[cell.to].value = cell.weight;
    words[cell.to].ground = shade_of(share_of(cell.weight, largest.value_or(values.largest)));
  }
  return words;
}

std::string number(const Word& word) {
  return word.value ? fmt::format("{:.2f}", *word.value) : "";
}

const char* ink(const Word& word) { return word.ground.is_dark() ? "#fff" : "#000"; }

class WordsHtml : public HeatDrawing {
 public:
  explicit WordsHtml(std::optional<float> largest) : largest_(largest) {}

  void add(const HeatRecord& record, std::string& out) override {
    begin(out);
    out += fmt::format("<p><b>{}</b>", record.number);
    for (const Word& word : words_of(record, largest_)) {
      out += fmt::format(" <span style=\"background:{};color:{}\">{}<small>{}</small></span>",
                         word.ground.hex(), ink(word), markup(word.text), number(word));
    }
    out += "</p>\n";
  }
  void finish(std::string& out) override {
    if (begun_) out += "</body>\n</html>\n";
  }

 private:
  void begin(std::string& out) {
    if (begun_) return;
    begun_ = true;
    out +=
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n<title>Surprisal</title>\n<style>\n"
        "body { margin: 20px; color: #1b1f24; background: #fff; font: 16px/1.3 system-ui, "
        "\"DejaVu Sans\", sans-serif; }\nh1 { font-size: 17px; }\n"
        "p { margin: 10px 0; overflow-wrap: anywhere; }\nb { color: #667085; font-weight: normal; "
        "}\nspan { display: inline-block; padding: 2px 5px; margin: 0 1px 4px; border-radius: 4px; "
        "unicode-bidi: isolate; max-width: 100%; }\nsmall { display: block; font-size: 10px; "
        "opacity: .75; text-align: center; min-height: 1.3em; }\n</style>\n</head>\n<body>\n"
        "<h1>Surprisal of each word: the darker, the less expected</h1>\n";
  }

  const std::optional<float> largest_;
  bool begun_ = false;
};

class WordsSvg : public HeatDrawing {
 public:
  explicit WordsSvg(std::optional<float> largest) : largest_(largest) {}

  void add(const HeatRecord& record, std::string&) override {
    double x = kLeft;
    body_ += text(10, y_ + 17, 12, "#667085", std::to_string(record.number), "start");
    for (const Word& word : words_of(record, largest_)) {
      const double wide =
          std::max(0.66 * kFont * static_cast<double>(display_width(word.text)), 26.0) + 8;
      if (x > kLeft && x + wide > kWidth - 10) {
        x = kLeft;
        y_ += kLine;
      }
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"34\" rx=\"4\" "
          "fill=\"{}\"/>\n",
          x, y_, wide, word.ground.hex());
      body_ += text(x + wide / 2, y_ + 16, kFont, ink(word), word.text, "middle");
      body_ += text(x + wide / 2, y_ + 29, 10, ink(word), number(word), "middle");
      x += wide + 3;
    }
    y_ += kLine + 8;
  }
  void finish(std::string& out) override {
    out += framed_svg(PlotForm::svg, "Surprisal of words", kWidth, y_ + 4, body_);
  }

 private:
  static constexpr double kWidth = 900, kLeft = 44, kFont = 14, kLine = 40;

  static std::string text(double x, double y, double size, const char* fill,
                          const std::string& what, const char* anchor) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\" "
        "text-anchor=\"{}\">{}</text>\n",
        x, y, size, fill, anchor, markup(what));
  }

  const std::optional<float> largest_;
  std::string body_;
  double y_ = 12;
};

}  // namespace

std::unique_ptr<HeatDrawing> draw_words_svg(std::optional<float> largest) {
  return std::make_unique<WordsSvg>(largest);
}

std::unique_ptr<HeatDrawing> draw_words_html(std::optional<float> largest) {
  return std::make_unique<WordsHtml>(largest);
}

}  // namespace bert
