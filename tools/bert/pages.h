#pragma once

#include <string>

namespace bert::driver {

/// Shows the man page of a tool, or of a subject such as `tsv`; the --help of a tool where its page
/// or man is missing. Throws Error if it returns.
[[noreturn]] void show_page(const std::string& name);

}  // namespace bert::driver
