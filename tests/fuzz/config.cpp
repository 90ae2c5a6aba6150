// config.json: what is accepted must be sizes that the rest can count with.
#include "model/config.h"

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "model/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const bert::Config config =
        bert::Config::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (config.num_attention_heads == 0 || config.hidden_size % config.num_attention_heads != 0)
      std::abort();
    if (config.labels.empty() || !(config.layer_norm_eps > 0)) std::abort();
    if (bert::count_parameters(bert::encoder_tensors(config)) == 0) std::abort();
  } catch (const bert::Error& error) {
    if (error.kind() != bert::Error::Kind::data && error.kind() != bert::Error::Kind::unsupported)
      std::abort();
  }
  return 0;
}
