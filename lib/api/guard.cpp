#include "api/guard.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

namespace bert::api {
namespace {

// Of a fixed size, so that a failure for lack of memory has its text too.
thread_local char last_error[2048] = "";

int keep(int status, const char* text) noexcept {
  std::strncpy(last_error, text, sizeof last_error - 1);
  return status;
}

}  // namespace

int keep_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return keep(static_cast<int>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return keep(BERT_NO_MEMORY, "not enough memory");
  } catch (const std::length_error&) {
    return keep(BERT_NO_MEMORY, "not enough memory");
  } catch (const std::system_error& error) {
    return keep(BERT_NO_MEMORY, error.what());
  } catch (const std::exception& error) {
    return keep(BERT_INTERNAL, error.what());
  } catch (...) {
    return keep(BERT_INTERNAL, "a failure without a text");
  }
}

void refuse(std::string_view name, std::string_view what) {
  throw Error(Error::Kind::usage, name, what);
}

std::string_view text_of(const char* text, size_t size, const char* name) {
  if (!text) refuse(name, "found NULL");
  return size == BERT_NUL ? std::string_view(text) : std::string_view(text, size);
}

std::optional<std::string_view> pair_of(const char* pair, size_t size) {
  if (!pair && (size == 0 || size == BERT_NUL)) return std::nullopt;
  return text_of(pair, size, "pair");
}

int check_threads(int threads) {
  constexpr int kMost = 1024;
  if (threads < 0 || threads > kMost) {
    refuse("threads", fmt::format("found {}, wants 0 to {}", threads, kMost));
  }
  return threads;
}

}  // namespace bert::api

const char* bert_version(void) { return BERT_VERSION; }

const char* bert_last_error(void) { return bert::api::last_error; }

void bert_free(void* memory) { std::free(memory); }
