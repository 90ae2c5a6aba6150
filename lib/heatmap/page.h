#pragma once

#include <string_view>

namespace bert {

/// The page of HeatDrawing::of_html, around the JSON of its records. It says itself that a browser
/// must load nothing for it.
extern const std::string_view kPageHead, kPageTail;

}  // namespace bert
