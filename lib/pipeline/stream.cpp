#include "pipeline/stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/cpu.h"
#include "base/team.h"
#include "pipeline/intake.h"

namespace bert {

Counts& Counts::operator+=(const Counts& other) {
  const auto first = [](const FirstRecord& a, const FirstRecord& b) {
    return a.number == 0 || (b.number > 0 && b.number < a.number) ? b : a;
  };
  records += other.records;
  overflowed += other.overflowed;
  invalid_utf8 += other.invalid_utf8;
  first_overflowed = first(first_overflowed, other.first_overflowed);
  first_invalid_utf8 = first(first_invalid_utf8, other.first_invalid_utf8);
  unknown += other.unknown;
  first_unknown = first(first_unknown, other.first_unknown);
  empty += other.empty;
  first_empty = first(first_empty, other.first_empty);
  non_finite += other.non_finite;
  return *this;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd p{fd, POLLOUT, 0};
      poll(&p, 1, -1);
    } else if (errno != EINTR) {
      throw Error(Error::Kind::io, "stdout",
                  "write error: " + std::generic_category().message(errno));
    }
  }
}

void write_shown(int fd, std::string_view rows) {
  if (isatty(fd)) {
    write_all(fd, printable_lines(rows));
  } else {
    write_all(fd, rows);
  }
}

namespace {

/// Bytes of rows that may wait to be written: many chunks for every tool but `attend`.
constexpr size_t kMostHeld = size_t{64} << 20;

class Streamer {
 public:
  Streamer(const StreamOptions& options,
           const std::function<std::unique_ptr<Worker>()>& make_worker)
      : options_(options),
        intake_(options),
        reader_(options.files, options.terminator, options.on_skipped,
                options.counted      ? Framing::counted
                : options.csv        ? Framing::csv
                : options.paragraphs ? Framing::paragraphs
                                     : Framing::lines,
                options.wanted) {
    reader_.set_found(options.found);
    for (int i = 0; i < std::max(1, options.jobs); ++i) workers_.push_back(make_worker());
  }

  Counts run() {
    if (options_.begin) options_.begin();
    try {
      read();
    } catch (...) {
      stop(std::current_exception());
    }
    finish();
    Counts sum = left_out_;
    for (const auto& worker : workers_) sum += worker->counts();
    sum.records = records_;
    if (error_) std::rethrow_exception(error_);
    return sum;
  }

 private:
  /// Runs in the calling thread: cuts chunks and hands them out.
  void read() {
    auto job = std::make_unique<Job>(options_);
    const auto busy = [this] { return how_busy(); };
    while (how_busy() != Busy::stop && reader_.next(job->chunk, options_.chunk_records,
                                                    options_.chunk_bytes, busy, workers_.size())) {
      intake_.take(*job);
      if (workers_.size() > 1 && !reader_.paused()) start_threads();
      if (threads_.empty()) {
        run_alone(*job);
      } else {
        hand_out(std::move(job));
        job = std::make_unique<Job>(options_);
      }
    }
    if (how_busy() == Busy::stop || !intake_.finish(*job)) return;
    if (threads_.empty()) {
      run_alone(*job);
    } else {
      hand_out(std::move(job));
    }
  }

  void work(Worker& worker, Job& job) const {
    const std::span<const Record> records = job.records;
    size_t first = 0;
    try {
      for (const LeftOut& left_out : job.left_out) {
        run(worker, records.subspan(first, left_out.before - first), job);
        first = left_out.before;
        leave_out(left_out.record, left_out.error, left_out.blank, job);
      }
      run(worker, records.subspan(first), job);
    } catch (...) {
      job.error = std::current_exception();
    }
  }

  /// A bad record must not lose the rows of other records. So records that fail are run again in
  /// two halves, down to the bad record. The rows do not change, since no row depends on its
  /// neighbours.
  void run(Worker& worker, std::span<const Record> records, Job& job) const {
    if (records.empty()) return;
    const size_t mark = job.rows.bytes().size();
    try {
      worker.run(records, job.rows);
      return;
    } catch (const Error& error) {
      job.rows.truncate(mark);
      if (records.size() == 1) {
        const Error of_record = records[0].placed(error);
        if (!options_.skip_bad || error.kind() != Error::Kind::data) {
          job.failed = records[0].number;
          throw Error(of_record);
        }
        leave_out(records[0], of_record, false, job);
        return;
      }
    }
    const size_t half = records.size() / 2;
    run(worker, records.first(half), job);
    run(worker, records.subspan(half), job);
  }

  void leave_out(const Record& record, const Error& error, bool blank, Job& job) const {
    if (options_.write_place) options_.write_place(record, error, job.rows);
    if (blank) {
      ++job.counts.blank;
      return;
    }
    if (job.counts.bad++ == 0) job.counts.first_bad = error.what();
    if (options_.write_job) job.bad.emplace_back(record.number, error.what());
  }

  /// Runs the only chunk there is: one worker, with all threads as its team. More threads than CPUs
  /// would take turns in every product.
  void run_alone(Job& job) {
    if (options_.jobs > 1 && !team_) {
      team_ = std::make_unique<Team>(std::min(options_.jobs, allowed_cpus()));
      workers_[0]->use_team(team_.get());
    }
    work(*workers_[0], job);
    write(job);
  }

  void hand_out(std::unique_ptr<Job> job) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return jobs_.size() < 2 * workers_.size() + 1 || error_; });
    if (error_) return;
    jobs_.push_back(std::move(job));
    ++waiting_;
    ready_.notify_one();
  }

  void start_threads() {
    if (!threads_.empty()) return;
    if (team_) workers_[0]->use_team(nullptr);
    team_.reset();
    try {
      for (auto& worker : workers_) threads_.emplace_back([this, &worker] { serve(*worker); });
    } catch (const std::system_error&) {
      // Fewer threads, or only the calling thread, do the same work.
    }
  }

  /// Whether a job may begin. While many rows wait for an earlier job, only that job may begin.
  bool may_begin() const { return held_ < kMostHeld || jobs_.size() == waiting_; }

  void serve(Worker& worker) {
    for (;;) {
      Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return error_ || (waiting_ > 0 ? may_begin() : closed_); });
        if (error_ || waiting_ == 0) return;
        job = jobs_[jobs_.size() - waiting_--].get();
        ++running_;
      }
      work(worker, *job);
      std::unique_lock lock(mutex_);
      --running_;
      job->done = true;
      held_ += job->rows.bytes().size();
      write_done(lock);
    }
  }

  /// Writes the jobs at the head of the queue that are done, in order, one writer at a time.
  void write_done(std::unique_lock<std::mutex>& lock) {
    if (writing_) return;
    writing_ = true;
    while (!jobs_.empty() && jobs_.front()->done && !error_) {
      Job& job = *jobs_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        write(job);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) error_ = error;
      if (held_ >= kMostHeld) ready_.notify_all();
      held_ -= jobs_.front()->rows.bytes().size();
      jobs_.pop_front();
      room_.notify_all();
    }
    writing_ = false;
    if (error_) {
      ready_.notify_all();
      room_.notify_all();
    }
  }

  void write(Job& job) {
    if (job.error) job.rows.drop_unfinished();
    if (options_.write_job) {
      options_.write_job(job);
    } else if (options_.write) {
      if (!job.rows.bytes().empty()) options_.write(job.rows.bytes());
    } else {
      write_shown(options_.output_fd, job.rows.bytes());
    }
    if (job.error) std::rethrow_exception(job.error);
    records_ += job.records.size() + job.left_out.size();
    if (left_out_.bad == 0) left_out_.first_bad = job.counts.first_bad;
    left_out_.bad += job.counts.bad;
    left_out_.blank += job.counts.blank;
    bytes_ += job.chunk.bytes.size();
    left_out_.bytes += job.rows.bytes().size();
    if (options_.progress) options_.progress(records_, bytes_);
  }

  Busy how_busy() {
    std::lock_guard lock(mutex_);
    if (error_) return Busy::stop;
    if (jobs_.empty()) return Busy::none;
    return waiting_ + running_ < threads_.size() ? Busy::some : Busy::all;
  }
  /// The reader failed: jobs that were handed out are still written, unless a worker failed before.
  void stop(std::exception_ptr error) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return jobs_.empty() || error_; });
    if (!error_) error_ = error;
  }
  void finish() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const StreamOptions& options_;
  Intake intake_;
  RecordReader reader_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Team> team_;
  std::vector<std::thread> threads_;
  uint64_t records_ = 0, bytes_ = 0;  // records whose rows are written, and their bytes
  Counts left_out_;                   // also the bytes written

  std::mutex mutex_;  // guards all below
  std::condition_variable ready_, room_;
  std::deque<std::unique_ptr<Job>> jobs_;  // in input order; the last `waiting_` have not begun
  size_t waiting_ = 0;
  size_t running_ = 0;
  size_t held_ = 0;  // bytes of rows that are done but not written
  bool writing_ = false;
  bool closed_ = false;
  std::exception_ptr error_;
};

}  // namespace

Counts stream(const StreamOptions& options,
              const std::function<std::unique_ptr<Worker>()>& make_worker) {
  return Streamer(options, make_worker).run();
}

}  // namespace bert
