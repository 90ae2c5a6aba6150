#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// How `embed` writes vectors [D].
///   tsv    fields
///   f32    D floats                           npy    the same behind a NumPy header, <f4
///   i8     D signed bytes, NumPy's |i1: rint(x s), where s is 127 / max |x| of each vector, so
///          that its direction stays, or one number for all (`scale`)
///   bits   D / 8 bytes, NumPy's |u1: bit 1 where x > 0, the first in the highest bit of a byte, as
///          numpy.packbits and the `ubinary` of sentence-transformers
enum class VectorFormat { tsv, npy, f32, i8, bits };

/// NumPy's name of the numbers, "<f4"; "" if the format has no NumPy header.
BERT_API std::string_view npy_type(VectorFormat format);
/// The columns of a NumPy array of vectors of `width` numbers, and the bytes of such a row.
BERT_API size_t npy_columns(VectorFormat format, size_t width);
BERT_API size_t row_bytes(VectorFormat format, size_t width);

/// Appends a vector in a binary format. A vector with a number that is not finite is all zeros in
/// i8 and bits. Throws Error(data) for a number that `scale` makes larger than 127.
BERT_API void append_vector(VectorFormat format, std::span<const float> vector,
                            std::optional<double> scale, std::string& out);

/// The row of a bad record: NaN, or zeros in i8 and bits.
BERT_API std::string bad_vector(VectorFormat format, size_t width);

}  // namespace bert
