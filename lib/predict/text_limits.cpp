#include "predict/text_limits.h"

#include <fmt/format.h>

#include "base/error.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const char* field, const std::string& what) {
  throw Error::of_field(field, what);
}

/// Whether a text that is cut keeps some of its begin beside its `added` special tokens.
void check_tail(size_t tail, size_t max_length, size_t added) {
  if (tail == 0 || max_length <= added || tail + added < max_length) return;
  refuse("overflow", fmt::format("found head-tail:{}, wants less than {}, the tokens of a text",
                                 tail, max_length - added));
}

/// Whether the stride that is asked for is one of windows, and leaves them a step.
void check_stride(const TaskRequest& request, size_t max_length, size_t added) {
  if (!request.stride) return;
  if (request.overflow != Overflow::window) refuse("stride", "wants `overflow` window");
  if (max_length <= added || *request.stride + added < max_length) return;
  refuse("stride", fmt::format("found {}, wants less than {}, the tokens of a window",
                               *request.stride, max_length - added));
}

}  // namespace

ReadOptions TextLimits::reading(const TaskRequest& request) const {
  const size_t given = request.max_length;
  if (given > positions) {
    refuse("max_length",
           fmt::format("found {}, wants at most {}, the model's positions", given, positions));
  }
  if (request.tail > 0 && request.truncates_left) {
    refuse("truncation_side", "not with `overflow` head-tail");
  }
  if (request.truncates_left && request.overflow != Overflow::cut) {
    refuse("truncation_side", "wants `overflow` cut");
  }
  ReadOptions reading;
  EncodeOptions& encode = reading.encode;
  const bool limited = given > 0 || own < SIZE_MAX;
  if (limited) encode.max_length = given > 0 ? given : own;
  encode.tail = request.truncates_left.value_or(truncates_left) ? SIZE_MAX : 0;
  if (request.tail > 0) encode.tail = request.tail;
  encode.literal = request.literal;
  reading.overflow = request.overflow;
  const size_t usual =
      limited ? request.task.stride_within(encode.max_length) : request.task.stride;
  reading.stride = request.stride.value_or(usual);
  check_tail(request.tail, encode.max_length, added);
  check_stride(request, encode.max_length, added);
  if (!limited || encode.max_length > added) return reading;
  if (given > 0) {
    refuse("max_length",
           fmt::format("found {}, wants more than the {} special tokens", given, added));
  }
  throw Error(
      Error::Kind::data, request.directory.path(),
      fmt::format("the model takes {} tokens, wants more than the {} special ones", own, added));
}

}  // namespace bert
