#include "memo/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/hash.h"

namespace bert {
namespace {

constexpr int kApplication = 0x4D454D4F;  // "MEMO"
constexpr int kVersion = 1;
constexpr int kPatience = 60000;                   // milliseconds that another process may hold it
constexpr int64_t kLongestWait = 200;              // milliseconds until save()
constexpr size_t kMostUnsaved = size_t{16} << 20;  // bytes
constexpr size_t kMostUsed = 10000;                // ids
constexpr size_t kLongest =
    900'000'000;  // bytes of a record and its rows; SQLite has a limit of 10^9
constexpr int64_t kHour = 3600, kDay = 24 * kHour;  // seconds

constexpr const char* kTables = R"(
  create table calls(id integer primary key, key text not null unique);
  create table records(id integer primary key, call integer not null references calls(id),
                       hash integer not null, record blob not null, rows blob not null,
                       rows_hash integer not null, used integer not null);
  create index records_by_hash on records(call, hash);
)";

int64_t milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

int64_t hash_of(std::string_view bytes) { return static_cast<int64_t>(xxh64(bytes)); }

/// Throws Error unless `path` is a regular file, or can be made one. SQLite would not say why it
/// cannot make a file, and would read a pipe.
void check_place(const std::string& path, bool create) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    // SQLite would take a file of one byte for a new database.
    if (status.st_size == 1) throw Error(Error::Kind::data, path, "is no cache of memo");
    if (S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) throw Error::from_errno(path, "cannot open", EISDIR);
    throw Error(Error::Kind::no_input, path, "not a regular file");
  }
  if (!create || errno != ENOENT) throw Error::from_errno(path, "cannot open", errno);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    throw Error::from_errno(path, errno == ENOENT ? "cannot open" : "cannot create", errno);
  }
  close(fd);
}

bool has_bytes(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_size > 0;
}

/// The name of a file as a URI of SQLite, to which parameters can be added.
std::string uri_of(std::string_view path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri;
}

}  // namespace

void MemoStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

/// A prepared statement: bind(), then step() while it gives rows; a new bind() begins again.
class MemoStore::Statement {
 public:
  Statement(const MemoStore& store, const char* sql) : store_(store) {
    check(sqlite3_prepare_v3(store.database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                             nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename... Values>
  Statement& bind(const Values&... values) {
    sqlite3_reset(statement_);
    int place = 0;
    (check(bind_one(++place, values)), ...);
    return *this;
  }
  /// True if there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    sqlite3_reset(statement_);  // which ends the lock of a reader
    if (code != SQLITE_DONE) store_.fail(code);
    return false;
  }
  void run() {
    while (step()) {
    }
  }
  void reset() { sqlite3_reset(statement_); }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return data ? std::string(static_cast<const char*>(data), static_cast<size_t>(size)) : "";
  }

 private:
  int bind_one(int place, int64_t value) { return sqlite3_bind_int64(statement_, place, value); }
  int bind_one(int place, std::string_view value) {  // "" is no null
    const char* data = value.empty() ? "" : value.data();
    return sqlite3_bind_blob64(statement_, place, data, value.size(), SQLITE_STATIC);
  }
  void check(int code) const {
    if (code != SQLITE_OK) store_.fail(code);
  }

  const MemoStore& store_;
  sqlite3_stmt* statement_ = nullptr;
};

void MemoStore::fail(int code) const {
  const int number = sqlite3_system_errno(database_.get());
  const std::string text = sqlite3_errmsg(database_.get());
  const auto error = [&](Error::Kind kind, std::string_view what) {
    return Error(kind, path_, what);
  };
  if (sqlite3_extended_errcode(database_.get()) == SQLITE_IOERR_SHORT_READ) code = SQLITE_CORRUPT;
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      throw error(Error::Kind::data, "is no cache of memo");
    case SQLITE_CORRUPT:
      throw error(Error::Kind::data, "is damaged");
    case SQLITE_ERROR:  // the statements are right, so the tables are not
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      throw error(Error::Kind::data, "is damaged: " + text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      throw error(Error::Kind::try_again, "another process has locked it");
    case SQLITE_CANTOPEN:
      if (number == 0) throw error(Error::Kind::no_input, text);
      throw Error::from_errno(path_, "cannot open", number);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw error(Error::Kind::permission, sqlite3_errstr(SQLITE_READONLY));
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_IOERR:
      if (number == 0) throw error(Error::Kind::io, text);
      throw error(Error::Kind::io, text + ": " + std::strerror(number));
    default:
      throw error(Error::Kind::io, text);
  }
}

void MemoStore::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

int64_t MemoStore::value(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

MemoStore::MemoStore(const std::string& path, Mode mode) : path_(path) {
  open(mode);
  // The call is looked up each time: another process may remove it, and its id goes to another key.
  find_ = std::make_unique<Statement>(
      *this,
      "select id, rows, rows_hash, used from records where call = "
      "(select id from calls where key = cast(?1 as text)) and hash = ?2 and record = ?3");
  insert_ = std::make_unique<Statement>(
      *this,
      "insert into records(call, hash, record, rows, rows_hash, used) select ?1, ?2, ?3, ?4, ?5, "
      "?6 "
      "where not exists (select 1 from records where call = ?1 and hash = ?2 and record = ?3)");
  touch_ = std::make_unique<Statement>(*this, "update records set used = ?2 where id = ?1");
}

MemoStore::~MemoStore() = default;

void MemoStore::connect(const std::string& name, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(database, kPatience);
}

void MemoStore::open(Mode mode) {
  check_place(path_, mode == Mode::create);
  // A name such as ":memory:" means no file to SQLite.
  const std::string name = path_.starts_with('/') ? path_ : "./" + path_;
  connect(name, SQLITE_OPEN_READWRITE);
  // Readers, too, write a file beside it. Where they cannot, nobody else here can write either.
  const int code = sqlite3_exec(database_.get(), "select count(*) from sqlite_master", nullptr,
                                nullptr, nullptr);
  if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
    if (has_bytes(path_ + "-wal")) {
      throw Error(Error::Kind::permission, path_,
                  "cannot be read without writing beside it, since " + path_ +
                      "-wal has rows of a run that was killed");
    }
    connect(uri_of(name) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  }
  notes_use_ = sqlite3_db_readonly(database_.get(), "main") == 0;
  if (value("pragma application_id") == 0 && value("select count(*) from sqlite_master") == 0) {
    create();
  }
  check();
  execute("pragma synchronous = normal");  // a kill loses nothing, a power cut the last rows
  execute("pragma cache_size = -32768");
}

/// Several processes may do this at once: one of them makes the tables.
void MemoStore::create() {
  if (sqlite3_db_readonly(database_.get(), "main") == 1) fail(SQLITE_READONLY);
  execute("pragma page_size = 8192; pragma auto_vacuum = incremental");
  execute("begin immediate");
  if (value("select count(*) from sqlite_master") == 0) {
    execute(kTables);
    execute(
        fmt::format("pragma application_id = {}; pragma user_version = {}", kApplication, kVersion)
            .c_str());
  }
  execute("commit");
  // In this mode readers and a writer do not wait for each other. Where it cannot be had, such as
  // on a file server, the cache works without it.
  for (int i = 0; i < kPatience / 10; ++i) {
    const int code =
        sqlite3_exec(database_.get(), "pragma journal_mode = wal", nullptr, nullptr, nullptr);
    if (code != SQLITE_BUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void MemoStore::check() {
  if (value("pragma application_id") != kApplication) {
    throw Error(Error::Kind::data, path_, "is a database of another program, no cache of memo");
  }
  const int64_t version = value("pragma user_version");
  if (version == kVersion) return;
  throw Error(Error::Kind::data, path_,
              fmt::format("is a cache of version {}, wants {}", version, kVersion));
}

std::optional<std::string> MemoStore::find(std::string_view record) {
  std::lock_guard lock(mutex_);
  if (!unsaved_.empty()) {
    const auto found = unsaved_.find(std::string(record));
    if (found != unsaved_.end()) return found->second;
  }
  if (!find_->bind(std::string_view(key_), hash_of(record), record).step()) return std::nullopt;
  const int64_t id = find_->integer(0), rows_hash = find_->integer(2), used = find_->integer(3);
  std::string rows = find_->bytes(1);
  find_->reset();
  if (hash_of(rows) != rows_hash) fail(SQLITE_CORRUPT);
  if (notes_use_ && std::time(nullptr) - used > kHour) {
    if (used_.empty() && unsaved_.empty()) first_unsaved_ = milliseconds();
    used_.push_back(id);
  }
  return rows;
}

void MemoStore::keep(std::string_view record, std::string_view rows) {
  if (record.size() + rows.size() > kLongest) return;
  std::lock_guard lock(mutex_);
  if (used_.empty() && unsaved_.empty()) first_unsaved_ = milliseconds();
  if (unsaved_.try_emplace(std::string(record), rows).second) bytes_ += record.size() + rows.size();
}

bool MemoStore::waits() const {
  std::lock_guard lock(mutex_);
  return !unsaved_.empty() || !used_.empty();
}

bool MemoStore::due() const {
  std::lock_guard lock(mutex_);
  if (unsaved_.empty() && used_.empty()) return false;
  return bytes_ > kMostUnsaved || used_.size() > kMostUsed ||
         milliseconds() - first_unsaved_ >= kLongestWait;
}

void MemoStore::save() {
  std::lock_guard lock(mutex_);
  if (unsaved_.empty() && used_.empty()) return;
  try {
    save_now();
  } catch (const Error&) {
    sqlite3_exec(database_.get(), "rollback", nullptr, nullptr, nullptr);
    if (!unsaved_.empty()) throw;
    notes_use_ = false;  // no row is lost
  }
  unsaved_.clear();
  used_.clear();
  bytes_ = 0;
}

/// The id of the call with this key, which is made if it is missing.
int64_t MemoStore::call_of_key() {
  const std::string_view key = key_;
  Statement(*this, "insert or ignore into calls(key) values(cast(?1 as text))").bind(key).run();
  Statement select(*this, "select id from calls where key = cast(?1 as text)");
  select.bind(key).step();
  return select.integer(0);
}

/// The lock of a writer is held for a few milliseconds only, so that other processes have a turn.
void MemoStore::save_now() {
  execute("begin immediate");
  const int64_t now = std::time(nullptr);
  const int64_t call = unsaved_.empty() ? 0 : call_of_key();
  for (const auto& [record, rows] : unsaved_) {
    insert_
        ->bind(call, hash_of(record), std::string_view(record), std::string_view(rows),
               hash_of(rows), now)
        .run();
  }
  for (const int64_t id : used_) touch_->bind(id, now).run();
  execute("commit");
}

std::vector<MemoStore::Call> MemoStore::calls() {
  std::lock_guard lock(mutex_);
  Statement select(*this,
                   "select key, count(*), sum(length(record) + length(rows)), max(used) "
                   "from calls join records on call = calls.id group by calls.id order by key");
  std::vector<Call> calls;
  while (select.step()) {
    const int64_t age = std::time(nullptr) - select.integer(3);
    calls.push_back({select.bytes(0), static_cast<uint64_t>(select.integer(1)),
                     static_cast<uint64_t>(select.integer(2)),
                     static_cast<uint64_t>(std::max<int64_t>(age, 0) / kDay)});
  }
  return calls;
}

uint64_t MemoStore::prune(uint64_t days) {
  std::lock_guard lock(mutex_);
  execute("begin immediate");
  const int64_t age = static_cast<int64_t>(days) * kDay;
  Statement(*this, "delete from records where used <= ?1").bind(std::time(nullptr) - age).run();
  const auto removed = static_cast<uint64_t>(sqlite3_changes64(database_.get()));
  execute("delete from calls where not exists (select 1 from records where call = calls.id)");
  execute("commit");
  execute("pragma incremental_vacuum");
  execute("pragma wal_checkpoint(truncate)");
  return removed;
}

}  // namespace bert
