#include "inspect/shapes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "io/safetensors.h"
#include "model/schema.h"

namespace bert {
namespace {

/// The steps of a text of n tokens through the encoder, a row each.
class ShapeRows {
 public:
  ShapeRows(const Config& config, size_t tokens, Rows& rows)
      : config_(config), rows_(rows), n(tokens) {}

  void write() {
    rows_.field("step").field("shape").field("elements").field("parameters");
    rows_.end();
    embeddings();
    attention();
    feed_forward();
    layers();
    rows_.field("total").field("-").field("-").field(count_parameters(encoder_tensors(config_)));
    rows_.end();
  }

 private:
  void embeddings() {
    step("input_ids", {n}, 0);
    module("", Role::word_embeddings, {n, E});
    if (has(Role::position_embeddings)) module("+ ", Role::position_embeddings, {n, E});
    if (has(Role::token_type_embeddings)) module("+ ", Role::token_type_embeddings, {n, E});
    if (has(Role::task_type_embeddings)) module("+ ", Role::task_type_embeddings, {n, E});
    const bool first = config_.family->projects_first || config_.family->trigrams;
    const bool norm = has(Role::embedding_norm);
    if (!first && norm) module("", Role::embedding_norm, {n, E});
    if (has(Role::embedding_projection)) module("", Role::embedding_projection, {n, H});
    if (first && norm) module("", Role::embedding_norm, {n, H});
    if (!has(Role::relative_embeddings)) return;
    const size_t span = 2 * config_.disentangled.span();
    module("", Role::relative_embeddings, {span, H});
    if (has(Role::relative_norm)) module("", Role::relative_norm, {span, H});
  }

  void attention() {
    if (norms_before()) module("", Role::attention_norm, {n, H});
    constexpr char kLetters[] = {'Q', 'K', 'V'};
    for (size_t i = 0; i < std::size(kLetters); ++i) {
      const Role role = kQueryKeyValue[i];
      step(fmt::format("{} {}", module_word(role), kLetters[i]), {n, (i == 0 ? A : K) * D},
           count(role));
    }
    if (has(Role::query_norm)) module("", Role::query_norm, {n, A * D});
    if (has(Role::key_norm)) module("", Role::key_norm, {n, K * D});
    if (config_.rotary.theta > 0) step("Q and K turned by their places", {n, (A + K) * D}, 0);
    const Disentangled& d = config_.disentangled;
    step(fmt::format("Q split into {} heads", A), {A, n, D}, 0);
    if (K < A) step(fmt::format("K and V, {} heads for {} of Q", K, A), {K, n, D}, 0);
    const auto divisor = static_cast<double>(config_.score_divisor());
    step(fmt::format("Q K^T / {:g}, softmax", std::sqrt(divisor)), {A, n, n}, 0);
    if (has(Role::relative_attention_bias)) module("+ ", Role::relative_attention_bias, {A, n, n});
    const auto part = [&](const char* name, Role role) {
      step(name, {A, n, n}, has(role) ? count(role) : 0);
    };
    if (d.content_to_position) part("+ content to position", Role::position_key);
    if (d.position_to_content) part("+ position to content", Role::position_query);
    step("probabilities V", {A, n, D}, 0);
    step("heads side by side", {n, A * D}, 0);
    step("attention output", {n, H}, count(Role::attention_output));
    add_norm(Role::attention_norm, Role::attention_exit_norm);
  }

  void feed_forward() {
    if (norms_before()) module("", Role::output_norm, {n, H});
    step(fmt::format("intermediate, {}", config_.hidden_act_name), {n, I},
         count(Role::intermediate));
    if (has(Role::up)) step("times up", {n, I}, count(Role::up));
    step("output", {n, H}, count(Role::output));
    add_norm(Role::output_norm, Role::output_exit_norm);
  }

  void layers() {
    uint64_t layer = 0, all = 0;
    const auto last = static_cast<size_t>(Role::output_exit_norm);
    for (auto i = static_cast<size_t>(Role::query); i <= last; ++i) {
      const auto role = static_cast<Role>(i);
      if (!has_module(config_, role, 1)) continue;
      layer += count(role);
      for (size_t l = 0; l < config_.stored_layers(); ++l) {
        all += has_module(config_, role, l) ? count(role) : 0;
      }
    }
    step("one layer", {n, H}, layer);
    step(fmt::format("{} layers", config_.num_hidden_layers), {n, H}, all);
    if (has(Role::convolution)) {
      step("convolution behind the first", {n, H},
           count(Role::convolution) + count(Role::convolution_norm));
    }
    if (has(Role::final_norm)) module("", Role::final_norm, {n, H});
    if (has(Role::pooler) && !config_.family->pooler_is_head) {
      step("pooler", {1, H}, count(Role::pooler));
    }
  }

  bool norms_before() const { return config_.family->norms != NormPlace::after; }
  bool has(Role role) const { return has_module(config_, role); }
  uint64_t count(Role role) const { return count_parameters(module_tensors(config_, role)); }

  void add_norm(Role norm, Role exit_norm) {
    if (has(exit_norm)) module("", exit_norm, {n, H});
    if (norms_before()) return step("add", {n, H}, 0);
    module("add, ", norm, {n, H});
  }
  void module(const std::string& before, Role role, std::vector<size_t> shape) {
    step(fmt::format("{}{}", before, module_word(role)), std::move(shape), count(role));
  }
  void step(std::string_view name, std::vector<size_t> shape, uint64_t parameters) {
    uint64_t elements = 0;
    checked_elements(shape, elements);
    rows_.field(name).field(shape_text(shape)).field(elements).field(parameters);
    rows_.end();
  }

  const Config& config_;
  Rows& rows_;
  const size_t n;
  const size_t H = config_.hidden_size, E = config_.embedding_size;
  const size_t A = config_.num_attention_heads, K = config_.num_key_value_heads;
  const size_t D = config_.head_size();
  const size_t I = config_.intermediate_size;
};

}  // namespace

void write_shapes(const Config& config, size_t tokens, Rows& rows) {
  if (tokens < 1 || tokens > config.max_tokens()) {
    throw Error::of_field("tokens", fmt::format("found {}, wants 1 to {}, the model's positions",
                                                tokens, config.max_tokens()));
  }
  ShapeRows(config, tokens, rows).write();
}

}  // namespace bert
