#include "seq2seq/halves.h"

#include <algorithm>
#include <utility>

#include "checkpoint/stored_turns.h"
#include "directory/weight_files.h"
#include "model/names.h"
#include "model/schema.h"

namespace bert {
namespace {

/// The tensors of one half under the names of its family.
using Tensors = std::vector<TensorView>;

TensorView* named(Tensors& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorView& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// A bias that the file has as one row is a vector.
void flatten_bias(Tensors& tensors, const Config& config) {
  TensorView* bias = named(tensors, file_name(tensor_name(Role::mlm_bias, Part::bias), config));
  if (bias && bias->shape.size() == 2 && bias->shape[0] == 1)
    bias->shape.erase(bias->shape.begin());
}

/// Word vectors that both halves share and that the file has under the name of one place only.
void share_words(Tensors& encoder, Tensors& decoder, const Seq2SeqConfig& config) {
  const auto name = [](Role role, const Config& half) {
    return file_name(tensor_name(role), half);
  };
  const std::string of_encoder = name(Role::word_embeddings, config.encoder),
                    of_decoder = name(Role::word_embeddings, config.decoder);
  const TensorView* found = named(encoder, of_encoder);
  if (!found) found = named(decoder, of_decoder);
  if (!found) found = named(decoder, name(Role::mlm_decoder, config.decoder));
  if (!found) return;
  TensorView words = *found;
  const auto add = [&](Tensors& half, const std::string& own) {
    if (named(half, own)) return;
    words.name = own;
    half.push_back(words);
  };
  add(encoder, of_encoder);
  add(decoder, of_decoder);
}

}  // namespace

Halves Halves::open(const ModelDirectory& directory) {
  Halves halves;
  halves.config = directory.seq2seq_config();
  halves.files = open_tensor_files(directory);
  const Seq2SeqConfig& config = halves.config;
  Tensors tensors[2];
  // Names of a half's own come first: shared ones stand for what it lacks.
  for (const bool shared : {false, true}) {
    for (const TensorView& tensor : halves.files.tensors) {
      const auto names = half_names(config, tensor.name);
      if ((names.size() > 1) != shared) continue;
      for (const HalfName& name : names) {
        Tensors& half = tensors[name.decoder];
        if (shared && named(half, name.name)) continue;
        half.push_back(tensor);
        half.back().name = name.name;
      }
    }
  }
  if (config.shared_words) share_words(tensors[0], tensors[1], config);
  flatten_bias(tensors[1], config.decoder);
  halves.encoder = Weights::of(std::move(tensors[0]), config.encoder, halves.files.path);
  halves.decoder = Weights::of(std::move(tensors[1]), config.decoder, halves.files.path);
  take_stored_turns(halves.config.encoder, *halves.encoder);
  return halves;
}

std::vector<NonFinite> non_finite(const TensorFiles& files) {
  Config config;
  config.tie_word_embeddings = false;
  return Weights::of(files.tensors, config, files.path).non_finite();
}

const TensorView* Halves::find(const std::string& name) const {
  const auto& all = files.tensors;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const TensorView& tensor) { return tensor.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace bert
