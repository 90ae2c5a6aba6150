#include "seq2seq/decoder_stack.h"

#include <fmt/format.h>

#include "base/error.h"
#include "seq2seq/attention_collector.h"

namespace bert {

DecoderStack DecoderStack::load(const Config& config, const Weights& weights, Precision precision) {
  DecoderStack stack;
  stack.config_ = config;
  stack.embedding_ = Embedding::load(config, weights, precision);
  const BucketBias* bias = nullptr;
  for (size_t l = 0; l < config.num_hidden_layers; ++l) {
    if (has_module(config, Role::distance_bias, l)) {
      stack.biases_.push_back(
          std::make_shared<const BucketBias>(BucketBias::load(config, weights, l)));
      bias = stack.biases_.back().get();
    }
    stack.layers_.push_back(DecoderLayer::load(config, weights, l, precision, bias));
  }
  if (has_module(config, Role::final_norm)) {
    stack.final_norm_ = Norm::load(config, weights, Role::final_norm);
  }
  return stack;
}

std::shared_ptr<const SourcePairs> DecoderStack::read(ConstMatrix states,
                                                      std::span<const size_t> ends,
                                                      LinearScratch& scratch) const {
  auto sources = std::make_shared<SourcePairs>();
  sources->tokens = states.rows;
  sources->width = pair_width();
  sources->ends.assign(ends.begin(), ends.end());
  const size_t layer_floats = states.rows * sources->width;
  float* pairs = sources->pairs.reserve(layers_.size() * layer_floats);
  for (size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].source_pairs(states, {pairs + l * layer_floats, states.rows, sources->width},
                            scratch);
  }
  return sources;
}

void DecoderStack::check_token(int32_t id, size_t place) const {
  if (id < 0 || static_cast<size_t>(id) >= config_.vocab_size) {
    throw Error(Error::Kind::data, config_.path,
                fmt::format("token id {} is outside the decoder's vocabulary of {}", id,
                            config_.vocab_size));
  }
  if (place >= config_.max_tokens()) {
    throw Error(Error::Kind::data, config_.path,
                fmt::format("a target of more than {} tokens, which max_position_embeddings allows",
                            config_.max_tokens()));
  }
}

void DecoderStack::embed(std::span<const int32_t> ids, std::span<const size_t> places, Matrix out,
                         Buffer& buffer, LinearScratch& scratch) const {
  for (size_t i = 0; i < ids.size(); ++i) check_token(ids[i], places[i]);
  embedding_.at(ids, places, out, buffer, scratch);
}

void DecoderStack::teach(const SourcePairs& sources, const PackedBatch& targets, Matrix hidden,
                         DecoderScratch& scratch, AttentionCollector* collector) const {
  const size_t tokens = targets.tokens();
  std::vector<size_t> places(tokens), owner(tokens);
  for (size_t s = 0; s < targets.sequences(); ++s) {
    for (size_t i = 0; i < targets.length(s); ++i) {
      places[targets.begin(s) + i] = i;
      owner[targets.begin(s) + i] = s;
    }
  }
  Buffer embedding;
  embed(targets.input_ids, places, hidden, embedding, scratch.linear);
  for (size_t l = 0; l < layers_.size(); ++l) {
    ConstMatrix pairs;  // [T, 2AD]
    DecoderLayer::Rows rows;
    rows.keep = [&](ConstMatrix all) { pairs = all; };
    rows.own = [&](size_t row, std::vector<const float*>& keys) {
      for (size_t t = row - places[row]; t <= row; ++t) keys.push_back(pairs.row(t));
    };
    rows.source = [&](size_t row, std::vector<const float*>& keys) {
      sources.places(l, owner[row], keys);
    };
    if (collector) {
      rows.show = [&](size_t row, ConstMatrix scores, ConstMatrix weights, ConstMatrix context) {
        collector->note(l, row, scores, weights, context);
      };
    }
    run(l, hidden, rows, scratch);
  }
  finish(hidden);
}

}  // namespace bert
