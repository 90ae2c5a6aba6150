#include "io/safetensors_writer.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "io/json.h"
#include "io/safetensors.h"

namespace bert {

void write_safetensors(OutputFile& file, std::span<const SafetensorsTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::string header = R"({"__metadata__":{"format":"pt")";
  for (const auto& [key, value] : metadata) {
    header += ',';
    append_json_string(header, key);
    header += ':';
    append_json_string(header, value);
  }
  header += '}';
  uint64_t begin = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    header += ',';
    append_json_string(header, tensor.name);
    header += fmt::format(R"(:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", tensor.dtype,
                          shape_text(tensor.shape), begin, begin + tensor.bytes.size());
    begin += tensor.bytes.size();
  }
  header += '}';
  header.resize((8 + header.size() + 63) / 64 * 64 - 8, ' ');
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  file.write(length);
  file.write(header);
  for (const SafetensorsTensor& tensor : tensors) file.write(tensor.bytes);
}

}  // namespace bert
