#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "checkpoint/tensor_view.h"
#include "model/config.h"
#include "model/schema.h"

namespace bert {

/// Factors [K] of int8 inputs (see Linear), by the canonical name of their first matrix.
using InputFactors = std::map<std::string, std::vector<float>, std::less<>>;

struct TensorFiles;

/// A tensor with NaN or infinite elements.
struct BERT_API NonFinite {
  std::string tensor;  ///< as the file spells it
  size_t count = 0;

  std::string text() const;  ///< for messages
};

/// All tensors of a model.
///
/// Names: every tensor is found under its canonical BERT name, whatever the file calls it: without
/// the `bert.` / `distilbert.` / `electra.` prefix, `weight`/`bias` for gamma/beta, and the names
/// of BertModel's layers for DistilBERT's (`transformer.layer.0.attention.q_lin` is
/// `encoder.layer.0.attention.self.query`). Heads have these canonical names:
///   pooler.dense, cls.predictions.transform.dense, cls.predictions.transform.LayerNorm,
///   cls.predictions.decoder (weight, absent if it equals the word embeddings and may be tied),
///   cls.predictions.bias, cls.seq_relationship,
///   classifier (a single layer), classifier.dense + classifier.out_proj (ELECTRA; DistilBERT's
///   pre_classifier + classifier too), qa_outputs, discriminator_predictions.*
///   attention.self.query, .key, .value, which a quantized file has as one, query_key_value
///
/// A tensor T of the head NAME is heads.NAME.T: with that head in use, T is it, or else the tensor
/// that all heads share.
///
/// Thread rule: const after open(), use_head() and use_input_factors().
class BERT_API Weights {
 public:
  /// The tensors of these files.
  static Weights of(TensorFiles files, const Config& config);
  /// Of tensors that lie in memory, under names that a file could give them; they must outlive it.
  /// `path` stands for their file in messages; without one the config's does.
  static Weights of(std::vector<TensorView> tensors, const Config& config,
                    const std::string& path = "");
  Weights(Weights&&) noexcept;
  Weights& operator=(Weights&&) noexcept;
  ~Weights();

  /// From here on names mean the tensors of head `name` first; "": of no head.
  void use_head(std::string_view name);
  /// From here on layers that are rounded to int8 have these.
  void use_input_factors(InputFactors factors);
  /// Those of a matrix, or none.
  std::span<const float> factors_of(std::string_view canonical_name) const;

  /// nullptr if the file has no such tensor.
  const TensorView* find(std::string_view canonical_name) const;
  const TensorView* find(Role role, Part part = Part::weight, size_t layer = 0) const {
    return find(tensor_name(role, part, layer));
  }
  /// The tensor, which must be of a float type and of this shape. Throws Error(data) naming both
  /// shapes.
  const TensorView& require(std::string_view canonical_name,
                            std::initializer_list<size_t> shape) const;
  const TensorView& require(std::string_view canonical_name, std::span<const size_t> shape) const;
  const TensorView& require(const TensorSpec& spec) const { return require(spec.name, spec.shape); }
  /// As require, converted to float.
  std::vector<float> floats(std::string_view canonical_name,
                            std::initializer_list<size_t> shape) const;
  std::vector<float> floats(const TensorSpec& spec) const { return require(spec).floats(); }
  /// A matrix [out, in] row by row, for Linear. A blocked one is made floats on first need.
  WeightRef matrix(std::string_view canonical_name, size_t out, size_t in) const;
  /// Matrices [out, in], side by side as one layer. What the file holds in the order of the kernels
  /// for this precision is used as it is.
  Linear linear(std::span<const TensorSpec> specs, std::vector<float> bias,
                Precision precision) const;
  /// A module of a model of this config; several roles: side by side as one layer.
  Linear linear(const Config& config, std::span<const Role> roles, Precision precision,
                size_t layer = 0) const;
  Linear linear(const Config& config, Role role, Precision precision, size_t layer = 0) const {
    return linear(config, {&role, 1}, precision, layer);
  }
  /// What the directory was quantized to; f32 where it was not.
  Precision precision() const;

  /// All tensors in file order, under their own names; for bert-info.
  std::vector<const TensorView*> tensors() const;
  /// Canonical name of a tensor of this file.
  std::string canonical(const TensorView& tensor) const;
  /// Tensors with elements that are no finite numbers. Reads every weight, at memory speed.
  std::vector<NonFinite> non_finite() const;
  /// From now on the files may change: their bytes are copied in memory, where they stay.
  /// What was found, a Linear too, holds on. Throws Error(no_memory).
  void hold() const;
  /// The file the weights come from (the index, when sharded).
  const std::string& path() const;

 private:
  Weights(TensorFiles source, const Config& config);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert
