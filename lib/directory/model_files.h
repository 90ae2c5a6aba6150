#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights_writer.h"
#include "directory/model_directory.h"
#include "io/json.h"
#include "model/config.h"

namespace bert {

/// Names and contents of files, the names relative to a model's directory.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

/// Those of a model directory that its tokenizer reads.
BERT_API NamedFiles tokenizer_files(const ModelDirectory& directory);
/// All that the tools read but config.json and the weights: the tokenizer's, the
/// sentence-transformers modules, and the licence and the model card.
BERT_API NamedFiles model_files(const ModelDirectory& directory);
/// The modules of sentence-transformers over a model of this hidden size: one pooling, of a name in
/// SentenceModules.
BERT_API NamedFiles pooling_modules(size_t hidden_size, std::string_view pooling);
/// A model's directory: `files` and its weights, in folders that are made. All is on the disk
/// before the first file takes its place, so that a model that stood there is whole where there is
/// no room.
BERT_API void write_model(const NamedFiles& files, const WeightsWriter& weights,
                          const std::string& directory);
/// Weights of several files by their names; the model's own come first.
using NamedWeights = std::vector<std::pair<std::string, const WeightsWriter*>>;
BERT_API void write_model(const NamedFiles& files, const NamedWeights& weights,
                          const std::string& directory);
/// Whether weights are here, of any kind that the tools or transformers read, or an adapter.
BERT_API bool holds_model(const std::string& directory);
/// Removes what another model left here that tools would read beside `files` and
/// model.safetensors: other tokenizer files, modules, weights in other forms.
BERT_API void remove_other_model_files(const NamedFiles& files, const std::string& directory);

/// Keys of config.json and their values as JSON; an empty value takes the key away.
using ConfigMembers = std::vector<std::pair<std::string, std::string>>;

/// The config.json of this root with these members, which come first, and its others as they are.
BERT_API std::string edit_config(const Json& root, const ConfigMembers& members);
/// What says of a model that this is its head.
BERT_API ConfigMembers head_members(const HeadConfig& head);
/// The value of bertutils_heads; "" of no heads.
BERT_API std::string head_list(std::span<const NamedHead> heads);
/// The config.json of this root with one named head more, or another of its name.
BERT_API std::string config_with_head(const Json& root, const NamedHead& head);

}  // namespace bert
