#include "search/vector_source.h"

namespace bert {

VectorSource source_of(ConstMatrix vectors) {
  return {vectors.rows, vectors.cols,
          [vectors](size_t first, size_t count, Buffer&) { return vectors.slice(first, count); }};
}

VectorSource source_of(const MatrixFile& vectors) {
  return {vectors.rows(), vectors.cols(), [&vectors](size_t first, size_t count, Buffer& scratch) {
            return vectors.read(first, count, scratch);
          }};
}

}  // namespace bert
