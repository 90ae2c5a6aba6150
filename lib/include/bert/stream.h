#pragma once

#include <bert/batch.h>
#include <bert/bert.h>

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace bert {
inline namespace v0 {

/// The rows of the lines at hand.
class Rows {
 public:
  explicit Rows(bert_rows* rows) : c_(rows) {}
  Rows& operator<<(std::string_view bytes) {
    check(bert_rows_append(c_, bytes.data() ? bytes.data() : "", bytes.size()));
    return *this;
  }

 private:
  bert_rows* c_;
};

/// Turns lines into rows. `batch` is this thread's own, empty; what is put into `rows` comes out in
/// the order of the lines. If it throws, it is called again with fewer lines, down to the one that
/// is to blame: rows of the lines before that are written, and stream() throws the same.
using Work = std::function<void(Batch& batch, Span<const std::string_view> lines, Rows& rows)>;

struct StreamOptions {
  std::vector<std::string> files{};  ///< none: standard input
  int threads = 0;                   ///< 0: one for each CPU that this process may use
  bool nul = false;                  ///< lines and rows end with NUL, not LF
  Work work{};                       ///< empty: the rows of the tool for the model's task
  /// Gets the rows in order, never from two threads at once. Empty: standard output.
  std::function<void(std::string_view rows)> write{};
  bool number = false, keep_line = false, json = false;  ///< form of the tool's rows
};

namespace detail {

/// What the functions below, which C calls, need; no exception goes through C.
struct Streamed {
  const Model& model;
  const StreamOptions& options;
  std::mutex mutex{};
  std::exception_ptr failure{};

  template <typename Function>
  int call(Function&& function) {
    try {
      function();
      return BERT_OK;
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
      return BERT_INTERNAL;
    }
  }
};

inline int stream_work(void* user, bert_batch* batch, const bert_text* lines, size_t count,
                       bert_rows* rows) {
  Streamed& s = *static_cast<Streamed*>(user);
  return s.call([&] {
    std::vector<std::string_view> views;
    for (size_t i = 0; i < count; ++i) views.push_back(view(lines[i]));
    Batch lent(s.model, batch);
    Rows out(rows);
    s.options.work(lent, views, out);
  });
}

inline int stream_write(void* user, const char* rows, size_t size) {
  Streamed& s = *static_cast<Streamed*>(user);
  return s.call([&] { s.options.write(std::string_view(rows, size)); });
}

}  // namespace detail

/// Reads lines and writes rows in the same order until the files end. Returns the number of lines.
/// Throws Error, or what `work` or `write` threw.
inline uint64_t stream(const Model& model, const StreamOptions& options = {}) {
  detail::Streamed streamed{model, options};
  std::vector<const char*> files;
  for (const std::string& file : options.files) files.push_back(file.c_str());
  bert_stream_options c = {};
  c.size = sizeof c;
  c.files = files.data();
  c.file_count = files.size();
  c.threads = options.threads;
  c.nul = options.nul;
  c.work = options.work ? detail::stream_work : nullptr;
  c.write = options.write ? detail::stream_write : nullptr;
  c.user = &streamed;
  c.number = options.number;
  c.keep_line = options.keep_line;
  c.json = options.json;
  uint64_t lines = 0;
  const int status = bert_stream(model.c(), &c, &lines);
  if (status != BERT_OK && streamed.failure) std::rethrow_exception(streamed.failure);
  check(status);
  return lines;
}

}  // namespace v0
}  // namespace bert
