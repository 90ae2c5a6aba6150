#include "rows/ranking.h"

#include "io/json_row.h"

namespace bert {

void TextRanking::write(Rows& rows, bool json) {
  for (const FoundText& found : sorted()) {
    if (json) {
      JsonRow object(rows.raw());
      object.object().text("file", found.file).count("record", found.record);
      object.number("score", found.score).text("text", found.text).end_object();
    } else {
      rows.field(found.file).field(found.record).number(found.score).field(found.text);
    }
    rows.end();
  }
}

}  // namespace bert
