#pragma once

#include <bert/bert.h>

namespace bert {
inline namespace v0 {

/// The version of the library that runs, as "0.2.0".
inline const char* version() { return bert_version(); }

}  // namespace v0
}  // namespace bert
