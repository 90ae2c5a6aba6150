// Rows of attention weights: whatever is accepted is drawn so that no terminal, SVG reader or
// browser is disturbed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "heatmap/html.h"
#include "heatmap/svg.h"
#include "heatmap/terminal.h"

namespace {

void check(bool right) {
  if (!right) std::abort();
}

/// Text of whole characters, without controls but for line feeds and, if `colors`, sequences of
/// colours.
void check_text(const std::string& text, bool colors = false) {
  for (size_t i = 0; i < text.size();) {
    const auto step = bert::utf8_step(text, i);
    check(step.valid);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0x1B && colors) {
      i = text.find('m', i);
      check(i != text.npos);
      continue;
    }
    check((byte >= 0x20 || byte == '\n') && byte != 0x7F);
    check(byte != 0xC2 || static_cast<unsigned char>(text[i + 1]) >= 0xA0);
    i += step.length;
  }
}

void draw(std::string_view rows, bert::HeatRows kind, bool header, bert::HeatDrawing& drawing,
          std::string& out) {
  const std::string name = "fuzz";
  bert::AttentionRows reader(kind, header);
  const auto take = [&](const std::optional<bert::HeatRecord>& record) {
    if (record) drawing.add(*record, out);
  };
  uint64_t number = 0;
  for (const std::string_view line : bert::split(rows, '\n')) {
    bert::Record record;
    record.line = line;
    record.number = record.number_in_file = ++number;
    record.file = &name;
    take(reader.add(record));
  }
  take(reader.finish());
  drawing.finish(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rows(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto kind = static_cast<bert::HeatRows>(data[0] / 2 % 3);
  const bool header = data[0] % 2;
  try {
    std::string plain, colored, svg, html;
    draw(rows, kind, header,
         *bert::draw_terminal(
             {bert::TerminalColors::ascii, bert::TerminalStyle::View::fitting, data[0]}, {}),
         plain);
    draw(rows, kind, header,
         *bert::draw_terminal({bert::TerminalColors::full, bert::TerminalStyle::View::text, 40},
                              0.5f),
         colored);
    draw(rows, kind, header, *bert::draw_svg({}), svg);
    draw(rows, kind, header, *bert::draw_html({}), html);
    check_text(plain);
    check_text(colored, true);
    check_text(svg);
    check_text(html);
    const size_t begin = html.find("application/json"), end = html.find("</script", begin);
    if (!html.empty()) {
      const std::string_view json = std::string_view(html).substr(begin, end - begin);
      check(json.ends_with("]}\n") && json.find('<') == json.npos);
    }
  } catch (const bert::Error& error) {
    check(error.kind() == bert::Error::Kind::data);
  }
  return 0;
}
