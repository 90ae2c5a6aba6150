#include "pipeline/stream.h"

#include <fmt/format.h>

#include "api/handles.h"
#include "api/tool_rows.h"
#include "base/cpu.h"

using namespace bert;
using namespace bert::api;

struct bert_rows {
  Rows& rows;
};

namespace {

/// Hands the lines of a chunk to the caller's function, with a batch of this thread.
class CallerWorker : public Worker {
 public:
  CallerWorker(const bert_model* model, bert_work work, void* user) : work_(work), user_(user) {
    if (model && bert_batch_open(model, nullptr, &batch_) != BERT_OK) {
      throw Error(Error::Kind::no_memory, "stream", bert_last_error());
    }
  }
  ~CallerWorker() override { bert_batch_close(batch_); }
  CallerWorker(const CallerWorker&) = delete;
  CallerWorker& operator=(const CallerWorker&) = delete;

  void run(std::span<const Record> records, Rows& rows) override {
    lines_.clear();
    for (const Record& record : records) lines_.push_back({record.text.data(), record.text.size()});
    bert_batch_clear(batch_);
    bert_rows out{rows};
    const int status = work_(user_, batch_, lines_.data(), lines_.size(), &out);
    if (status == BERT_OK) return;
    throw Error(static_cast<Error::Kind>(status), "", bert_last_error());
  }
  void use_team(Team* team) override {
    if (batch_) batch_->batcher.use_team(team);
  }

 private:
  const bert_work work_;
  void* const user_;
  bert_batch* batch_ = nullptr;
  std::vector<bert_text> lines_;
};

StreamOptions stream_options(const bert_stream_options& given) {
  StreamOptions options;
  if (given.file_count > 0) need(given.files, "files");
  for (size_t i = 0; i < given.file_count; ++i) {
    options.files.emplace_back(&need(given.files[i], "files"));
  }
  options.terminator = given.nul ? '\0' : '\n';
  options.wanted = Wanted::anything;
  options.jobs = check_threads(given.threads) > 0 ? given.threads : allowed_cpus();
  if (given.output_fd < 0) refuse("output_fd", fmt::format("found {}", given.output_fd));
  options.output_fd = given.output_fd > 0 ? given.output_fd : 1;
  if (given.write) {
    options.write = [given](std::string_view rows) {
      if (given.write(given.user, rows.data(), rows.size()) == 0) return;
      throw Error(Error::Kind::io, "stream", "the caller's write failed");
    };
  }
  return options;
}

}  // namespace

int bert_rows_append(bert_rows* rows, const char* bytes, size_t size) {
  return guard([&] { need(rows, "rows").rows.raw() += text_of(bytes, size, "bytes"); });
}

int bert_stream(const bert_model* model, const bert_stream_options* options, uint64_t* lines) {
  return guard([&] {
    const bert_stream_options given = read_options(options);
    StreamOptions streamed = stream_options(given);
    Counts counts;
    if (given.work) {
      counts = stream(
          streamed, [&] { return std::make_unique<CallerWorker>(model, given.work, given.user); });
    } else {
      TaskOptions task;
      task.number = given.number != 0;
      task.keep_line = given.keep_line != 0;
      task.json = given.json != 0;
      const MakeWorker make = tool_rows(need(model, "model"), task, streamed);
      counts = stream(streamed, make);
    }
    if (lines) *lines = counts.records;
  });
}
