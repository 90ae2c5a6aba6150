#pragma once

#include <string_view>

namespace bert {

/// page.html: the page of draw_html. It says itself that a browser must load nothing for
/// it. The JSON of the records takes the place of kRecordsMark.
extern const std::string_view kPage;
constexpr std::string_view kRecordsMark = "{{records}}";

}  // namespace bert
