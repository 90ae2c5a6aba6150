#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "io/record.h"

namespace bert {

/// A question as SQuAD's JSON gives it; views into its document.
struct SquadQuestion {
  struct Given {
    std::string_view text;
    Json place;                 ///< where it stands in the file
    std::optional<Json> start;  ///< in code points of the context
  };
  std::string_view question, context;
  std::string id;              ///< "" if it has none
  std::vector<Given> answers;  ///< answers that are not empty; none: the question has no answer
};
using UseSquad = std::function<void(const SquadQuestion&)>;

/// Reads SQuAD's JSON, version 1.1 or 2.0, or flat questions in an array. False if each line is a
/// flat question; then nothing was read.
bool read_squad(const std::string& path, const UseSquad& use);

/// Whether a record is a JSON object.
bool is_json_record(const Record& record);

/// Reads a flat question, as the datasets of Hugging Face have it: {"question": "..", "context":
/// "..", "answers": {"text": [".."], "answer_start": [0]}}.
void read_flat_question(const Record& record, const UseSquad& use);

}  // namespace bert
