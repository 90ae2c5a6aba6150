#include "model/schema.h"

#include <fmt/format.h>

#include "io/safetensors.h"

namespace bert {
namespace {

class ParameterList {
 public:
  void add(std::string name, std::vector<size_t> shape) {
    list.push_back({std::move(name), std::move(shape)});
  }
  void add_linear(const std::string& name, size_t out, size_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void add_norm(const std::string& name, size_t size) {
    add(name + ".weight", {size});
    add(name + ".bias", {size});
  }

  std::vector<Parameter> list;
};

}  // namespace

uint64_t Parameter::count() const {
  uint64_t elements = 0;
  checked_elements(shape, elements);
  return elements;
}

std::vector<Parameter> model_parameters(const Config& config) {
  const size_t H = config.hidden_size, E = config.embedding_size, I = config.intermediate_size;
  ParameterList p;
  p.add("embeddings.word_embeddings.weight", {config.vocab_size, E});
  p.add("embeddings.position_embeddings.weight", {config.max_position_embeddings, E});
  if (config.type_vocab_size > 0) {
    p.add("embeddings.token_type_embeddings.weight", {config.type_vocab_size, E});
  }
  p.add_norm("embeddings.LayerNorm", E);
  if (E != H) p.add_linear("embeddings_project", H, E);
  for (size_t i = 0; i < config.num_hidden_layers; ++i) {
    const std::string layer = fmt::format("encoder.layer.{}.", i);
    for (const char* name : {"query", "key", "value"}) {
      p.add_linear(layer + "attention.self." + name, H, H);
    }
    p.add_linear(layer + "attention.output.dense", H, H);
    p.add_norm(layer + "attention.output.LayerNorm", H);
    p.add_linear(layer + "intermediate.dense", I, H);
    p.add_linear(layer + "output.dense", H, I);
    p.add_norm(layer + "output.LayerNorm", H);
  }
  if (config.family->pooler) p.add_linear("pooler.dense", H, H);
  return std::move(p.list);
}

uint64_t count_parameters(const std::vector<Parameter>& parameters) {
  uint64_t sum = 0;
  for (const Parameter& parameter : parameters) sum += parameter.count();
  return sum;
}

}  // namespace bert
