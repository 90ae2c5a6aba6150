#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// What the records of an input should be.
/// lines: lines of text, where no option insists. text: the same where one does. text_or_objects:
/// text, by an option also JSON objects or CSV. either: text or JSON objects. objects: JSON
/// objects. anything: what they are is not looked at. csv: CSV. any_text: all that is not binary.
enum class Wanted { lines, text, text_or_objects, either, objects, anything, csv, any_text };

/// The start of an input: its first record at least, if it has one, and what else is there.
struct InputStart {
  std::string_view bytes;
  char terminator = '\n';
  bool whole = false;  ///< it has no more bytes
};

/// What the input is if it is not `wanted`, and what to do, for a message; "" if nothing speaks
/// against it. The name of the file plays no part. Only the first record decides, but for CSV,
/// which takes three to see.
BERT_API std::string refuse_input(const InputStart& start, Wanted wanted);

}  // namespace bert
