#include "search/vector_source.h"

namespace bert {

VectorSource source_of(ConstMatrix vectors) {
  return {vectors.rows, vectors.cols,
          [vectors](size_t first, size_t count, Buffer&) { return vectors.slice(first, count); }};
}

}  // namespace bert
