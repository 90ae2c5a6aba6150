#pragma once

#include <bert/bert.h>

#include <stdexcept>

namespace bert {
// The version is in every mangled name, so that nothing here can meet the inside of libbert.so,
// which has names of its own in namespace bert, nor another version of these headers.
inline namespace v0 {

/// What every function here throws: what() is one line, WHERE: WHAT.
class Error : public std::runtime_error {
 public:
  Error(int status, const char* text) : std::runtime_error(text), status_(status) {}
  /// A bert_status, which is an exit status of sysexits.h.
  int status() const { return status_; }

 private:
  int status_;
};

/// Throws Error if a function of bert.h did not return BERT_OK.
inline void check(int status) {
  if (status != BERT_OK) throw Error(status, bert_last_error());
}

}  // namespace v0
}  // namespace bert
