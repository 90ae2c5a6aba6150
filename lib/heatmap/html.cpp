#include "heatmap/html.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/base64.h"
#include "heatmap/page.h"
#include "io/json_row.h"
#include "text/shown_text.h"

namespace bert {
namespace {

/// JSON that a script element may hold: no tag can begin in it.
void append_script_safe(const std::string& json, std::string& out) {
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
}

void add_tokens(const char* name, const std::vector<HeatToken>& tokens, JsonRow& json) {
  json.list(name);
  for (const HeatToken& token : tokens) {
    json.list().count("", token.index).text("", shown_text(token.text)).end_list();
  }
  json.end_list();
}

/// Every weight in two bytes, low one first: 65534 the largest, 65535 for none.
std::string dense(const HeatHead& head, size_t rows, size_t cols) {
  std::string bytes(2 * rows * cols, '\xff');
  for (const HeatHead::Cell& cell : head.cells) {
    const double share = head.largest > 0 ? static_cast<double>(cell.weight) / head.largest : 0;
    const auto level = static_cast<unsigned>(std::lround(share * 65534));
    const size_t at = 2 * (cell.from * cols + cell.to);
    bytes[at] = static_cast<char>(level & 255);
    bytes[at + 1] = static_cast<char>(level >> 8);
  }
  return encode_base64(bytes);
}

class HtmlDrawing : public HeatDrawing {
 public:
  explicit HtmlDrawing(std::optional<float> largest) : largest_(largest) {}

  void add(const HeatRecord& record, std::string& out) override {
    begin(out);
    json_.clear();
    JsonRow json(json_);
    json.object().count("record", record.number);
    add_tokens("from", record.from, json);
    if (!record.is_self_attention()) add_tokens("to", record.to, json);
    json.list("heads");
    for (const HeatHead& head : record.heads) add_head(record, head, json);
    json.end_list().end_object();
    append_script_safe(json_, out);
  }

  void finish(std::string& out) override {
    if (count_ == 0) return;
    out += "]}";
    out += kPage.substr(kPage.find(kRecordsMark) + kRecordsMark.size());
  }

 private:
  void begin(std::string& out) {
    if (count_++ > 0) {
      out += ",\n";
      return;
    }
    out += kPage.substr(0, kPage.find(kRecordsMark));
    JsonRow json(out);
    json.object();
    if (largest_) json.exact("largest", *largest_);
    json.list("records");
  }

  void add_head(const HeatRecord& record, const HeatHead& head, JsonRow& json) const {
    const size_t rows = record.from.size(), cols = record.to.size();
    json.object().count("layer", head.layer).count("head", head.head).exact("max", head.largest);
    if (head.cells.size() > rows * cols / 4) {
      json.text("dense", dense(head, rows, cols));
    } else {
      json.list("cells");
      for (const HeatHead::Cell& cell : head.cells) {
        json.list().count("", cell.from).count("", cell.to).exact("", cell.weight).end_list();
      }
      json.end_list();
    }
    json.end_object();
  }

  const std::optional<float> largest_;
  std::string json_;
  size_t count_ = 0;
};

}  // namespace

std::unique_ptr<HeatDrawing> draw_html(std::optional<float> largest) {
  return std::make_unique<HtmlDrawing>(largest);
}

}  // namespace bert
