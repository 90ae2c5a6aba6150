#include "checkpoint/weights_writer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "checkpoint/tensor_files.h"

namespace bert {
namespace {

/// The nearest half, ties to even, of a value that has one.
uint16_t to_half(float value) {
  const auto sign = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (size < 0x1p-14f) {  // in steps of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyintf(size * 0x1p24f)));
  }
  const uint32_t bits = std::bit_cast<uint32_t>(size) - (112u << 23);
  return static_cast<uint16_t>(sign | (bits + 0xFFF + (bits >> 13 & 1)) >> 13);
}

}  // namespace

void WeightsWriter::add(std::string name, std::vector<size_t> shape,
                        std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "safetensors is little endian");
  tensors_.push_back({std::move(name), "F32", std::move(shape), std::as_bytes(values)});
}

void WeightsWriter::add(const TensorView& tensor, std::string name) {
  if (tensor.blocked) {
    return add_blocked(std::move(name), *tensor.blocked, tensor.shape[0], tensor.shape[1],
                       tensor.factors, tensor.bytes());
  }
  tensors_.push_back(
      {std::move(name), std::string(dtype_name(tensor.dtype)), tensor.shape, tensor.bytes()});
}

void WeightsWriter::add_f16(std::string name, std::vector<size_t> shape,
                            std::span<const float> values) {
  std::vector<std::byte>& bytes = made_.emplace_back(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = to_half(values[i]);
    std::memcpy(&bytes[2 * i], &half, sizeof half);
  }
  tensors_.push_back({std::move(name), "F16", std::move(shape), bytes});
}

void WeightsWriter::add_blocked(std::string name, std::span<const WeightRef> matrices,
                                Precision precision, std::span<const float> factors) {
  size_t out = 0;
  for (const WeightRef& matrix : matrices) out += matrix.out;
  const size_t in = matrices[0].in;
  std::vector<std::byte>& bytes =
      made_.emplace_back(blocked_bytes(precision, out, in, !factors.empty()));
  block_weights(matrices, precision, factors, bytes.data());
  add_blocked(std::move(name), precision, out, in, !factors.empty(), bytes);
}

void WeightsWriter::add_blocked(std::string name, Precision precision, size_t out, size_t in,
                                bool factors, std::span<const std::byte> bytes) {
  metadata_[std::string(kLayoutKey)] = std::to_string(kBlockedLayout);
  metadata_[std::string(kBlockedKey) + name] =
      fmt::format("{} {} {}{}", precision == Precision::int8 ? "int8" : "bf16", out, in,
                  factors ? " factors" : "");
  blocked_.push_back({std::move(name), "U8", {bytes.size()}, bytes});
}

void WeightsWriter::write(const std::string& path) const {
  OutputFile file(path);
  write(file);
  file.commit();
}

void WeightsWriter::write(OutputFile& file) const {
  std::vector<SafetensorsTensor> all = blocked_;
  all.insert(all.end(), tensors_.begin(), tensors_.end());
  write_safetensors(file, all, metadata_);
}

}  // namespace bert
