#include "common/as_text.h"

namespace bert::tools {

void add_as_text(Command& app, Wanted& wanted) {
  app.add({"--as-text", "read input that looks like another kind of file as it is"},
          [&wanted] { wanted = Wanted::anything; })
      .same_rows();
}

Declared add_csv(Command& app, const char* meaning, bool& csv, bool& no_header) {
  const Declared option = app.add({"--csv", meaning}, csv);
  app.add({"--no-header", "the CSV has no header"}, no_header)
      ->needs(option)
      ->excludes(app.get_option("--header"));
  return option;
}

std::string with_input_options(std::string text) {
  const std::pair<std::string_view, std::string_view> names[] = {{"`as_text`", "--as-text"},
                                                                 {"`json_lines`", "--jsonl"},
                                                                 {"`csv`", "--csv"},
                                                                 {"`no_header`", "--no-header"}};
  for (const auto& [field, option] : names) {
    const size_t at = text.find(field);
    if (at != text.npos) text.replace(at, field.size(), option);
  }
  return text;
}

}  // namespace bert::tools
