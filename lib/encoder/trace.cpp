#include "encoder/trace.h"

#include <algorithm>

namespace bert {
namespace {

bool chosen(const std::vector<size_t>& numbers, size_t number) {
  return numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

}  // namespace

LayerTrace::LayerTrace(const Trace* trace, size_t layer)
    : trace_(trace && chosen(trace->layers, layer) ? trace : nullptr), layer_(layer) {}

bool LayerTrace::wants_head(size_t head) const { return trace_ && chosen(trace_->heads, head); }

void LayerTrace::show(TraceView view) const {
  if (!wants(view.what)) return;
  view.layer = layer_;
  trace_->show(view);
}

}  // namespace bert
