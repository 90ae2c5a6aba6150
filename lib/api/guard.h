#pragma once

#include <bert/bert.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

/// What every function of bert.h does at its border: no exception leaves, arguments are checked,
/// the text of a failure is kept for bert_last_error().
namespace bert::api {

/// Keeps the text of the exception that is being handled, for this thread; returns its status.
int keep_failure() noexcept;

/// Calls `function`; returns BERT_OK, or the status of what it threw.
template <typename Function>
int guard(Function&& function) noexcept {
  try {
    function();
    return BERT_OK;
  } catch (...) {
    return keep_failure();
  }
}

/// Throws Error(usage): "NAME: WHAT".
[[noreturn]] void refuse(std::string_view name, std::string_view what);

/// The object behind a pointer. Throws Error(usage) naming the parameter if it is NULL.
template <typename T>
T& need(T* pointer, const char* name) {
  if (!pointer) refuse(name, "found NULL");
  return *pointer;
}

/// The text of a parameter and its size, which may be BERT_NUL.
std::string_view text_of(const char* text, size_t size, const char* name);

/// The second text of a pair, or none: NULL with the size 0 or BERT_NUL.
std::optional<std::string_view> pair_of(const char* pair, size_t size);

/// Throws Error(usage) if these are not 0 to 1024 threads, as many as -j of the tools may be.
int check_threads(int threads);

/// The options of a caller that may be compiled with an older or newer bert.h: members that it does
/// not know are 0. Throws Error(usage) if `size` was not set, or if a member is set that this
/// library does not know.
template <typename Options>
Options read_options(const Options* given) {
  Options options{};
  options.size = sizeof(Options);
  if (!given) return options;
  constexpr size_t kMostSize = 4096;  // more is no size, and reading so far may fault
  if (given->size < 2 * sizeof(size_t) || given->size > kMostSize) {
    refuse("options", "its member 'size' is not its size");
  }
  const auto* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Options); i < given->size; ++i) {
    if (bytes[i] != 0) refuse("options", "wants a newer libbert: a member is not known");
  }
  std::memcpy(&options, given, std::min(given->size, sizeof(Options)));
  return options;
}

}  // namespace bert::api
