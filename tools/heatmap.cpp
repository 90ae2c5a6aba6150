// heatmap - draw attention weights. See man/heatmap.1.
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "common/run.h"
#include "common/terminal.h"
#include "heatmap/html.h"
#include "heatmap/plot.h"
#include "heatmap/svg.h"
#include "heatmap/terminal.h"
#include "heatmap/word_drawings.h"
#include "io/record_reader.h"
#include "pipeline/stream.h"

using namespace bert;

namespace {

/// What a row holds: what is drawn as a heat map, or as a plot.
enum class Shape { pairs, queries, heads, words, bins, points };

struct Options {
  std::vector<std::string> files;
  bool header = false, nul = false, svg = false, html = false;
  std::optional<TerminalColors> colors;
  Shape rows = Shape::pairs;
  TerminalStyle::View view = TerminalStyle::View::fitting;
  std::optional<size_t> width;
  std::optional<bool> dark;
  std::optional<float> largest;
};

void add(tools::Command& app, Options& o) {
  app.add({"FILE", "rows of attend or the like; '-' or none: standard input", tools::text("")},
          o.files)
      .may_be_empty();
  app.add<Shape>({"--rows", "what a row holds (default: one pair)"}, o.rows,
                 {{"pairs", Shape::pairs},
                  {"queries", Shape::queries},
                  {"heads", Shape::heads},
                  {"words", Shape::words},
                  {"bins", Shape::bins},
                  {"points", Shape::points}});
  app.add({"--header", "the first line of each file names the columns"}, o.header);
  app.add({"-0,--null", "rows end with NUL"}, o.nul);
  auto svg = app.add({"--svg", "write one SVG drawing"}, o.svg);
  auto html = app.add({"--html", "write one HTML page that needs nothing else"}, o.html);
  html->excludes(svg);
  app.add({"--max", "the weight with the strongest shade (default: the largest of each head)",
           tools::real(1e-30, 1e30, "W")},
          o.largest);
  auto color = app.add<std::optional<TerminalColors>>(
      {"--color", "what the terminal shows (default: what it can)"}, o.colors,
      {{"auto", std::nullopt},
       {"24bit", TerminalColors::full},
       {"256", TerminalColors::palette},
       {"none", TerminalColors::ascii}});
  auto view = app.add<TerminalStyle::View>({"--view", "in a terminal (default: what fits)"}, o.view,
                                           {{"auto", TerminalStyle::View::fitting},
                                            {"matrix", TerminalStyle::View::matrix},
                                            {"text", TerminalStyle::View::text}});
  auto width = app.add({"--width", "columns of the terminal (default: those it has, or 80)",
                        tools::whole(20, 10000)},
                       o.width);
  auto ground = app.add<std::optional<bool>>(
      {"--ground", "the terminal's ground (default: COLORFGBG, or as it answers)"}, o.dark,
      {{"auto", std::nullopt}, {"dark", true}, {"light", false}});
  for (CLI::Option* drawing : {svg.operator CLI::Option*(), html.operator CLI::Option*()}) {
    drawing->excludes(color)->excludes(view)->excludes(width)->excludes(ground);
  }
  app.add({"-q,--quiet", "write only errors to stderr"}, [] { tools::set_quiet(true); });
}

bool is_plot(const Options& o) { return o.rows == Shape::bins || o.rows == Shape::points; }

void check(const tools::Command& app, const Options& o) {
  if (is_plot(o))
    tools::refuse_given(app, {"--header", "--max", "--color", "--view", "--ground"},
                        "not with --rows bins or points");
  if (o.rows == Shape::words) tools::refuse_given(app, {"--view"}, "not with --rows words");
}

HeatRows heat_rows(Shape rows) {
  if (rows == Shape::words) return HeatRows::words;
  if (rows == Shape::heads) return HeatRows::heads;
  return rows == Shape::queries ? HeatRows::queries : HeatRows::pairs;
}

std::unique_ptr<HeatDrawing> drawing_of(const Options& o) {
  const bool words = o.rows == Shape::words;
  if (o.svg) return words ? draw_words_svg(o.largest) : draw_svg(o.largest);
  if (o.html) return words ? draw_words_html(o.largest) : draw_html(o.largest);
  TerminalStyle style{o.colors ? *o.colors : tools::terminal_colors(), o.view,
                      o.width ? *o.width : tools::terminal_width()};
  if (style.colors != TerminalColors::ascii) {
    style.dark = o.dark ? *o.dark : tools::terminal_is_dark();
  }
  return draw_terminal(style, o.largest);
}

/// Calls use(line) for each line, and end() while the names of the files are still there. Returns
/// the status of files that cannot be opened.
template <typename Use, typename End>
int read_lines(const Options& o, Use use, End end) {
  int status = 0;
  RecordReader reader(o.files, o.nul ? '\0' : '\n', [&](const Error& error) {
    tools::complain(error.what());
    status = static_cast<int>(error.kind());
  });
  Chunk chunk;
  while (reader.next(chunk, 1 << 16, 1 << 20, [] { return Busy::none; })) {
    for (size_t i = 0; i < chunk.lines.size(); ++i) {
      Record line;
      line.line = chunk.lines[i];
      line.number = chunk.first_number + i;
      line.number_in_file = chunk.first_in_file + i;
      line.file = chunk.file;
      line.crlf = !o.nul;
      use(line);
    }
  }
  end();
  return status;
}

int draw_heat(const Options& o) {
  const std::unique_ptr<HeatDrawing> drawing = drawing_of(o);
  AttentionRows rows(heat_rows(o.rows), o.header);
  std::string out;
  const auto take = [&](const std::optional<HeatRecord>& record) {
    if (!record) return;
    drawing->add(*record, out);
    write_all(STDOUT_FILENO, out);  // has colours, and its texts are safe
    out.clear();
  };
  const int status = read_lines(
      o, [&](const Record& line) { take(rows.add(line)); }, [&] { take(rows.finish()); });
  drawing->finish(out);
  write_all(STDOUT_FILENO, out);
  return status;
}

int draw_plot(const Options& o) {
  const PlotForm form = o.svg ? PlotForm::svg : o.html ? PlotForm::html : PlotForm::text;
  const size_t width = o.width ? *o.width : tools::terminal_width();
  const std::unique_ptr<Plot> plot =
      o.rows == Shape::bins ? plot_bins(form, width) : plot_points(form, width);
  const int status = read_lines(
      o, [&](const Record& line) { plot->add(line); }, [] {});
  write_all(STDOUT_FILENO, plot->draw());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Draw attention weights: shaded text in a terminal, SVG or HTML."};
  app.footer("echo 'the cat sat on the mat' | attend --heads 1 | heatmap");
  Options options;
  add(app, options);
  return tools::run(app, argc, argv, [&] {
    check(app, options);
    return is_plot(options) ? draw_plot(options) : draw_heat(options);
  });
}
