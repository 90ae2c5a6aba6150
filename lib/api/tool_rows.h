#pragma once

#include <functional>
#include <memory>

#include "api/handles.h"
#include "pipeline/stream.h"
#include "rows/task_worker.h"

namespace bert::api {

using MakeWorker = std::function<std::unique_ptr<Worker>()>;

/// Workers whose rows are those of the tool for the model's task, without options. Completes `task`
/// and `stream` as that tool does.
MakeWorker tool_rows(const bert_model& model, TaskOptions task, StreamOptions& stream);

/// The rows of mlm-fill.
MakeWorker fill_rows(const bert_model& model, const TaskOptions& task);

}  // namespace bert::api
