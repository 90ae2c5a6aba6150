#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bert {

/// The pairs of a merges.txt, in order: two tokens in each line, a blank between them, after a
/// first line "#version". Throws Error (no_input, data) naming file and line.
std::vector<std::pair<std::string, std::string>> read_merges_txt(const std::string& path);

}  // namespace bert
