#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/mapped_file.h"
#include "io/matrix_file.h"
#include "ops/int8_rows.h"

namespace bert {

/// The vectors of a file rounded to 8 bits, in a file of their own, which is mapped: an index whose
/// searches are exact (VectorSearch). It has a quarter of the bytes of floats, and a search for a
/// few queries takes as long as reading takes. It knows, of each vector, its length and how far
/// rounding has moved it. So a product of rounded vectors says between which bounds the true one
/// is. It knows its own bytes by a sample of them.
///
///   N vectors, D numbers each; Q queries
///
/// Thread rule: const after open.
class BERT_API RoundedVectors {
 public:
  /// Writes the file. Throws Error as OutputFile; data if there are no vectors, or if one has a
  /// number that is not finite.
  static void build(const std::string& path, const MatrixFile& vectors, uint64_t model,
                    int threads);
  /// Whether the file begins as one of these.
  static bool begins_as_one(const std::string& path);
  /// Throws Error(data) if the file is broken, or of other vectors or another model.
  static RoundedVectors open(const std::string& path, const MatrixFile& vectors, uint64_t model);

  size_t rows() const { return rows_; }
  size_t width() const { return width_; }

  /// What is known of some vectors beside their products with the queries. NaN: nothing is known of
  /// this vector.
  struct Facts {
    std::vector<float> lengths;  ///< [T]
    std::vector<float> errors;   ///< [T] how far the products may be off, for queries of length 1
  };
  /// Products [T, Q] of vectors [first, first + count) and of queries whose length is at most 1;
  /// `first` is a multiple of 16.
  ConstMatrix products(const Int8Rows& queries, size_t first, size_t count, Buffer& scratch,
                       Facts& facts) const;

 private:
  explicit RoundedVectors(MappedFile mapped) : mapped_(std::move(mapped)) {}

  MappedFile mapped_;
  size_t rows_ = 0, width_ = 0;
  size_t stride_ = 0;  ///< bytes from panel to panel
  const std::byte* panels_ = nullptr;
};

}  // namespace bert
