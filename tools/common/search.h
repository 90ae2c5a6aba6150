#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/row_options.h"
#include "io/rereadable_files.h"
#include "io/rows.h"
#include "pipeline/surroundings.h"

namespace bert::tools {

/// Writes a ranking, best first, with what -C asks for. The files stand at their start then.
/// `told`: reading them met a fault before.
template <typename Ranking>
void write_ranking(RowOptions& rows, Ranking& ranking, bool told, Rows& out) {
  if (rows.context()) {
    write_with_context(ranking.sorted(), *rows.context(), rows.stream(), told, rows.json(), out);
  } else {
    ranking.write(out, rows.json());
  }
}

/// Runs workers that offer each record to a Ranking, then writes the ranking, best first. Returns
/// the exit status: 1 if nothing was found. `silent`: without the rows.
template <typename Ranking>
int search(RowOptions& rows, Ranking& ranking,
           const std::function<std::unique_ptr<Worker>()>& make_worker, bool silent = false) {
  std::optional<RereadableFiles> files;
  if (rows.context()) files.emplace(rows.stream().files);
  const auto write = [&](bool told) {
    if (silent) return;
    if (files) files->rewind();
    Rows found = rows.new_rows();
    write_ranking(rows, ranking, told, found);
    rows.show(found.bytes());
  };
  int status = 0;
  try {
    status = rows.run(make_worker);
  } catch (const Error&) {
    write(true);  // what was found before the bad record
    throw;
  }
  write(status != 0);
  return status != 0 || !ranking.empty() ? status : 1;
}

}  // namespace bert::tools
