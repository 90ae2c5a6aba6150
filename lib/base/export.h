#pragma once

/// Marks what libbert.so exports; everything else is hidden.
#define BERT_API __attribute__((visibility("default")))
