#include "attention_pool/pool_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

#include "io/json_row.h"
#include "io/matrix_file.h"

namespace bert {
namespace {

/// Queries that are computed together: enough to use each number of the keys many times while it is
/// in cache.
constexpr size_t kBlock = 32;

std::string_view stage_name(PoolStage stage) {
  constexpr std::string_view kNames[] = {"score",           "divided", "softmax",
                                         "weighted values", "sum",     "output"};
  return kNames[static_cast<size_t>(stage)];
}

}  // namespace

void PoolRow::cells(Cells& c) const {
  if (auto json = c.members(); json && kind == PoolRows::stages) {
    json->text("stage", stage);
    if (head > 0) json->count("head", head);
    json->exact("values", numbers);
    return;
  }
  if (heads && kind != PoolRows::outputs) head > 0 ? c.count("head", head) : c.text("head", "*");
  if (kind == PoolRows::stages) c.text("stage", stage);
  if (kind != PoolRows::weights) {
    c.vector("vector", numbers);
    return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (Rows* fields = c.fields()) {
      fields->number(double{numbers[i]});
    } else {
      c.number(fmt::format("w{}", i + 1), double{numbers[i]});
    }
  }
}

void PoolWorker::run(std::span<const Record> records, Rows& rows) {
  const size_t size = pool_.sizes().queries;
  for (size_t begin = 0; begin < records.size(); begin += kBlock) {
    const auto some = records.subspan(begin, std::min(kBlock, records.size() - begin));
    queries_.clear();
    for (const Record& record : some) {
      const size_t before = queries_.size();
      try {
        read_numbers(record.text, queries_);
      } catch (const Error& error) {
        record.fail(Error::Kind::data, error.what());
      }
      const size_t found = queries_.size() - before;
      if (found == size) continue;
      record.fail(Error::Kind::data, fmt::format("found {} number{}, wants {}, as {}", found,
                                                 found == 1 ? "" : "s", size, pool_.queries_fit()));
    }
    write({{queries_.data(), some.size(), size}, some[0].number - 1, some}, rows);
  }
}

void PoolWorker::run(ConstMatrix queries, size_t first, Rows& rows) {
  for (size_t begin = 0; begin < queries.rows; begin += kBlock) {
    const size_t count = std::min(kBlock, queries.rows - begin);
    write({queries.slice(begin, count), first + begin, {}}, rows);
  }
}

void PoolWorker::write(const Block& block, Rows& rows) {
  const bool rows_of_several = options_.json || pool_.form().heads > 1;
  if (options_.rows == PoolRows::outputs) {
    const Matrix outputs = outputs_.matrix(block.queries.rows, pool_.sizes().output);
    pool_.run(block.queries, block.first, outputs, scratch_);
    return write_outputs(block, outputs, rows);
  }
  if (options_.rows == PoolRows::weights && !rows_of_several) {
    pool_.run(block.queries, block.first, {}, scratch_,
              [&](PoolStage stage, size_t head, ConstMatrix numbers) {
                if (stage == PoolStage::softmax) write_weights(block, head, numbers, rows);
              });
    return;
  }
  // Several rows for each query, which stand together: one query at a time.
  for (size_t i = 0; i < block.queries.rows; ++i) {
    const auto record = block.records.empty() ? block.records : block.records.subspan(i, 1);
    write_stages({block.queries.slice(i, 1), block.first + i, record}, rows);
  }
}

void PoolWorker::begin_row(uint64_t number, Rows& rows) const {
  if (options_.number) rows.field(number);
}

void PoolWorker::end_row(const Block& block, size_t i, Rows& rows) const {
  if (options_.keep_line && !block.records.empty()) rows.field(block.records[i].line);
  rows.end();
}

void PoolWorker::note_non_finite(uint64_t number, std::span<const float> numbers) {
  const bool finite =
      std::all_of(numbers.begin(), numbers.end(), [](float value) { return std::isfinite(value); });
  if (finite || number <= last_non_finite_) return;
  last_non_finite_ = number;
  ++counts_.non_finite;
}

void PoolWorker::write_outputs(const Block& block, ConstMatrix outputs, Rows& rows) {
  for (size_t i = 0; i < outputs.rows; ++i) {
    const std::span<const float> output(outputs.row(i), outputs.cols);
    const uint64_t number = block.first + i + 1;
    note_non_finite(number, output);
    if (options_.binary) {
      rows.raw().append(reinterpret_cast<const char*>(output.data()), output.size_bytes());
      continue;
    }
    if (options_.json) {
      JsonRow(rows.raw()).object().count("record", number);
    } else {
      begin_row(number, rows);
    }
    Cells cells(rows, options_.json);
    PoolRow{.numbers = output}.cells(cells);
    if (options_.json) {
      JsonRow(rows.raw()).end_object();
      rows.end();
    } else {
      end_row(block, i, rows);
    }
  }
}

void PoolWorker::write_weights(const Block& block, size_t head, ConstMatrix weights, Rows& rows) {
  for (size_t i = 0; i < weights.rows; ++i) {
    const uint64_t number = block.first + i + 1;
    note_non_finite(number, {weights.row(i), weights.cols});
    begin_row(number, rows);
    Cells cells(rows, false);
    PoolRow{.kind = PoolRows::weights,
            .heads = pool_.form().heads > 1,
            .head = head + 1,
            .numbers = {weights.row(i), weights.cols}}
        .cells(cells);
    end_row(block, i, rows);
  }
}

/// All rows of one query, or its JSON object.
void PoolWorker::write_stages(const Block& block, Rows& rows) {
  const bool stages = options_.rows == PoolRows::stages;
  const Matrix output =
      stages ? outputs_.matrix(1, pool_.sizes().output) : Matrix();  // weights need no sums
  if (options_.json) {
    JsonRow(rows.raw())
        .object()
        .count("record", block.first + 1)
        .list(stages ? "stages" : "weights");
  }
  const bool joined = pool_.form().heads > 1 || pool_.has_output_weights();
  pool_.run(block.queries, block.first, output, scratch_,
            [&](PoolStage stage, size_t head, ConstMatrix numbers) {
              if (stages && (stage != PoolStage::output || joined)) {
                write_stage(block, stage, head, numbers, rows);
              } else if (!stages && stage == PoolStage::softmax && options_.json) {
                JsonRow(rows.raw()).exact("", std::span(numbers.data, numbers.cols));
              } else if (!stages && stage == PoolStage::softmax) {
                write_weights(block, head, numbers, rows);
              }
            });
  if (!options_.json) return;
  JsonRow(rows.raw()).end_list().end_object();
  rows.end();
}

void PoolWorker::write_stage(const Block& block, PoolStage stage, size_t head, ConstMatrix numbers,
                             Rows& rows) {
  const uint64_t number = block.first + 1;
  const bool whole = stage == PoolStage::output;  // of all heads
  const std::span<const float> values(numbers.data, numbers.rows * numbers.cols);
  note_non_finite(number, values);
  const PoolRow row{.kind = PoolRows::stages,
                    .heads = pool_.form().heads > 1,
                    .head = whole ? 0 : head + 1,
                    .stage = stage_name(stage),
                    .numbers = values};
  if (options_.json) return add_object(rows, row);
  begin_row(number, rows);
  Cells cells(rows, false);
  row.cells(cells);
  end_row(block, 0, rows);
}

void PoolWorker::mix(std::span<const float> weights, Rows& rows) {
  const Matrix output = outputs_.matrix(1, pool_.sizes().output);
  pool_.mix(weights, {output.data, output.cols}, scratch_);
  write_outputs({{}, 0, {}}, output, rows);
}

Counts run_queries(const AttentionPool& pool, const PoolRowOptions& options, ConstMatrix queries,
                   size_t first, int threads,
                   const std::function<void(std::string_view rows)>& write) {
  Team team(threads);
  const auto parts = static_cast<size_t>(team.size());
  std::vector<std::unique_ptr<PoolWorker>> workers;
  for (size_t i = 0; i < parts; ++i) workers.push_back(std::make_unique<PoolWorker>(pool, options));
  std::vector<Rows> rows(parts, Rows(options.terminator));
  const bool one_block = queries.rows <= kBlock;
  if (one_block) workers[0]->use_team(&team);
  std::vector<std::exception_ptr> errors(parts);
  for (size_t begin = 0; begin < queries.rows; begin += parts * kBlock) {
    const auto work = [&](int part, int) {
      const auto p = static_cast<size_t>(part);
      const size_t from = std::min(begin + p * kBlock, queries.rows);
      const size_t count = std::min(kBlock, queries.rows - from);
      rows[p].clear();
      try {
        workers[p]->run(queries.slice(from, count), first + from, rows[p]);
      } catch (...) {
        errors[p] = std::current_exception();
      }
    };
    if (one_block) {
      work(0, 1);
    } else {
      team.run(work);
    }
    for (size_t p = 0; p < (one_block ? 1 : parts); ++p) {
      if (errors[p]) std::rethrow_exception(errors[p]);
      write(rows[p].bytes());
    }
  }
  Counts counts;
  for (const auto& worker : workers) counts += worker->counts();
  counts.records = queries.rows;
  return counts;
}

}  // namespace bert
