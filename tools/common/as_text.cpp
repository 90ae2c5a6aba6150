#include "common/as_text.h"

namespace bert::tools {

void add_as_text(Command& app, Wanted& wanted) {
  app.add({"--as-text", "read input that looks like another kind of file as it is"},
          [&wanted] { wanted = Wanted::anything; })
      .same_rows();
}

std::string with_input_options(std::string text) {
  const std::pair<std::string_view, std::string_view> names[] = {{"`as_text`", "--as-text"},
                                                                 {"`json_lines`", "--jsonl"}};
  for (const auto& [field, option] : names) {
    const size_t at = text.find(field);
    if (at != text.npos) text.replace(at, field.size(), option);
  }
  return text;
}

}  // namespace bert::tools
