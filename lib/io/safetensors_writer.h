#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/output_file.h"

namespace bert {

/// A tensor to write; does not own `bytes`.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;  ///< F32, I64 ..
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes a safetensors file (header, then the tensors in the order given, the first aligned to 64
/// bytes). The metadata are {"format": "pt"}, which transformers wants, and the entries of
/// `metadata`.
BERT_API void write_safetensors(OutputFile& file, std::span<const SafetensorsTensor> tensors,
                                const std::map<std::string, std::string>& metadata = {});

}  // namespace bert
