#include "tokenizer/frame.h"

namespace bert {

Frames Frames::of_bert(std::string_view cls, std::string_view sep) {
  const FrameToken begin{std::string(cls)}, end{std::string(sep)}, end_of_second{end.token, 1};
  return {.single = {{begin}, {}, {end}}, .pair = {{begin}, {end}, {end_of_second}, {0, 1}}};
}

Frames Frames::of_roberta(std::string_view cls, std::string_view sep) {
  const FrameToken begin{std::string(cls)}, end{std::string(sep)};
  return {.single = {{begin}, {}, {end}}, .pair = {{begin}, {end, end}, {end}}};
}

}  // namespace bert
