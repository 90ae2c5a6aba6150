#pragma once

/// Marks what the tools use of libbert.so. libbert.map gives these symbols a version of this very
/// build; what other programs may use is in include/bert/.
#define BERT_API __attribute__((visibility("default")))
