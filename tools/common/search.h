#pragma once

#include <unistd.h>

#include <functional>
#include <memory>

#include "common/row_options.h"
#include "io/rows.h"

namespace bert::tools {

/// Runs workers that offer each record to a Ranking, then writes the ranking, best first. Returns
/// the exit status: 1 if nothing was found. `silent`: without the rows.
template <typename Ranking>
int search(RowOptions& rows, Ranking& ranking,
           const std::function<std::unique_ptr<Worker>()>& make_worker, bool silent = false) {
  const auto write = [&] {
    if (silent) return;
    Rows found = rows.new_rows();
    ranking.write(found, rows.json());
    write_shown(STDOUT_FILENO, found.bytes());
  };
  try {
    const int status = rows.run(make_worker);
    const bool any = !ranking.empty();
    write();
    return status != 0 || any ? status : 1;
  } catch (const Error&) {
    write();  // what was found before the bad record
    throw;
  }
}

}  // namespace bert::tools
