#include "directory/model_directory.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/find_model.h"
#include "directory/gliner_files.h"
#include "directory/router.h"
#include "directory/static_files.h"
#include "directory/weight_files.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "model/config.h"
#include "model/config_keys.h"
#include "model/generation_config.h"
#include "model/recurrent_config.h"
#include "model/seq2seq_config.h"

namespace bert {
namespace {

/// A file that was read: what it holds, or what is wrong with it.
struct ReadFile {
  std::optional<JsonDocument> document;
  std::optional<Error> fault;
};

/// A file as the route and the adapter have it.
JsonDocument open_document(const ModelDirectory& directory, std::string_view name,
                           const std::string& route, const ModelDirectory* base) {
  if (directory.router() && name == file_names::kModules) {
    return JsonDocument::parse(directory.router()->modules_json(route), directory.file(name));
  }
  if (directory.gliner() && name == file_names::kConfig) {
    return directory.gliner()->encoder_config();
  }
  if (base && name == file_names::kConfig) return directory.adapter()->change(base->document(name));
  return JsonDocument::open(directory.file(name));
}

/// The number of tokens that the encoder has vectors of.
size_t rows_of_words(const ModelDirectory& directory, const Config& config) {
  if (!weights_present(directory)) return config.vocab_size;
  const Weights weights = open_weights(directory, config);
  const TensorView* words = weights.find(Role::word_embeddings);
  return words && words->shape.size() == 2 ? words->shape[0] : config.vocab_size;
}

using LargeFiles = std::map<std::string, std::shared_ptr<const JsonDocument>, std::less<>>;

}  // namespace

struct ModelDirectory::State {
  std::string path;
  std::shared_ptr<const Adapter> adapter;
  std::optional<ModelDirectory> base;  ///< the model as it is without the adapter
  std::string root;  ///< where modules.json stands if not here, since that has routes
  std::optional<Router> router;
  std::string route;
  std::mutex mutex;  ///< lock of the next two
  std::map<std::string, ReadFile, std::less<>> files;
  std::weak_ptr<LargeFiles> large;
  std::once_flag kind_decided, static_files_found, gliner_found;
  Kind kind = Kind::encoder;
  std::optional<StaticFiles> static_files;
  std::optional<GlinerFiles> gliner;
};

ModelDirectory::ModelDirectory(std::string path) : state_(std::make_shared<State>()) {
  state_->path = std::move(path);
}

ModelDirectory ModelDirectory::open(const std::string& name, const std::string& adapter) {
  const ResolvedModel resolved = resolve_model(name, adapter);
  ModelDirectory directory(resolved.directory);
  if (resolved.adapter) {
    const ModelDirectory base(resolved.directory);  // whose files the adapter's stand for
    const bool routes = Router::find(base).has_value();
    if (routes || base.static_files()) {
      throw Error(Error::Kind::unsupported, resolved.directory,
                  routes ? "a model of several routes (Router); an adapter wants one"
                         : "static vectors, which no adapter changes");
    }
    directory.state_->adapter = resolved.adapter;
    directory.state_->base = base;
    return directory;
  }
  directory.state_->router = Router::find(directory);
  directory.state_->root = resolved.directory;
  return directory.route("");
}

ModelDirectory ModelDirectory::route(const std::string& task) const {
  if (!state_->router) return *this;
  const std::string route = state_->router->route(task);
  const std::string folder = state_->router->modules(route)[0].path;
  ModelDirectory directory(folder.empty() ? state_->root : state_->root + "/" + folder);
  directory.state_->router = state_->router;
  directory.state_->root = state_->root;
  directory.state_->route = route;
  return directory;
}

const Router* ModelDirectory::router() const { return state_->router ? &*state_->router : nullptr; }

void ModelDirectory::refuse_query_route() const {
  if (!router() || router()->route("query") == router()->route("document")) return;
  throw Error(Error::Kind::unsupported, state_->root,
              "its queries take another route than its documents (Router): embed writes the "
              "vectors of each, by the name of its prompt");
}

const GlinerFiles* ModelDirectory::gliner() const {
  std::call_once(state_->gliner_found, [&] {
    if (!path().empty() && GlinerFiles::stand_in(path())) state_->gliner.emplace(path());
  });
  return state_->gliner ? &*state_->gliner : nullptr;
}

std::string ModelDirectory::place(std::string_view name) const {
  if (adapter() && adapter()->brings(name)) return adapter()->folder();
  if (gliner() && gliner()->borrows(name)) return gliner()->encoder();
  return router() && stands_beside_modules(name) ? state_->root : path();
}

const std::string& ModelDirectory::path() const { return state_->path; }

const Adapter* ModelDirectory::adapter() const { return state_->adapter.get(); }

std::string ModelDirectory::file(std::string_view name) const {
  if (name.empty()) return path();
  // Of an encoder's config that is a part of it.
  const bool inside = name == file_names::kConfig && gliner() && !gliner()->borrows(name);
  if (inside) name = file_names::kGliner;
  return fmt::format("{}/{}", place(name), name);
}

bool ModelDirectory::has(std::string_view name) const { return file_exists(file(name)); }

const JsonDocument& ModelDirectory::document(std::string_view name) const {
  const bool changed = state_->base && (adapter()->brings(name) || name == file_names::kConfig);
  if (state_->base && !changed) return state_->base->document(name);
  const std::lock_guard lock(state_->mutex);
  ReadFile& read = state_->files[std::string(name)];
  if (!read.document && !read.fault) {
    try {
      read.document =
          open_document(*this, name, state_->route, state_->base ? &*state_->base : nullptr);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::data) throw;  // the next try may find it
      read.fault = error;
    }
  }
  if (read.fault) throw Error(*read.fault);
  return *read.document;
}

const JsonDocument* ModelDirectory::find(std::string_view name) const {
  return has(name) ? &document(name) : nullptr;
}

const JsonDocument* ModelDirectory::find_sound(std::string_view name) const {
  try {
    return find(name);
  } catch (const Error& error) {
    if (!error.of_content()) throw;
    return nullptr;
  }
}

std::shared_ptr<const JsonDocument> ModelDirectory::large_document(std::string_view name,
                                                                   uint64_t max_bytes,
                                                                   size_t most_keys) const {
  const std::lock_guard lock(state_->mutex);
  std::shared_ptr<const JsonDocument> read;
  const auto kept = state_->large.lock();
  std::shared_ptr<const JsonDocument>& document = kept ? (*kept)[std::string(name)] : read;
  if (!document) {
    document =
        std::make_shared<const JsonDocument>(JsonDocument::open(file(name), max_bytes, most_keys));
  }
  return document;
}

std::shared_ptr<const void> ModelDirectory::keep_large() const {
  const std::lock_guard lock(state_->mutex);
  auto kept = std::make_shared<LargeFiles>();
  state_->large = kept;
  return kept;
}

const StaticFiles* ModelDirectory::static_files() const {
  std::call_once(state_->static_files_found,
                 [&] { state_->static_files = StaticFiles::find(*this); });
  return state_->static_files ? &*state_->static_files : nullptr;
}

ModelDirectory::Kind ModelDirectory::kind() const {
  std::call_once(state_->kind_decided, [&] {
    if (static_files()) {
      state_->kind = Kind::static_vectors;
    } else if (const auto seq2seq = seq2seq_kind(document(file_names::kConfig).root())) {
      state_->kind = *seq2seq == Seq2SeqKind::transformer       ? Kind::transformer
                     : *seq2seq == Seq2SeqKind::encoder_decoder ? Kind::encoder_decoder
                                                                : Kind::recurrent;
    }
  });
  return state_->kind;
}

Config ModelDirectory::config() const {
  refuse_static_vectors(*this);
  Config config = Config::read(document(file_names::kConfig).root(), file(file_names::kConfig));
  if (gliner()) {
    const Json root = document(file_names::kConfig).root();
    if (seq2seq_family(root)) {
      config_keys::refuse(root.at("model_type"), "a type of encoders, without a decoder");
    }
    config.open_entities = gliner()->head();
    config.any_length = !config.position_table;
    if (gliner()->counts_rows()) config.vocab_size = rows_of_words(*this, config);
  }
  // Since version 5.4 of sentence-transformers it stands here, and prevails.
  if (const JsonDocument* own = find(file_names::kSentenceTransformers)) {
    if (const auto function = config_keys::find(own->root(), {"activation_fn"})) {
      config.score_function = function->as_string();
    }
  }
  return config;
}

Seq2SeqConfig ModelDirectory::seq2seq_config() const {
  return Seq2SeqConfig::read(document(file_names::kConfig).root(), file(file_names::kConfig));
}

RecurrentConfig ModelDirectory::recurrent_config() const {
  return RecurrentConfig::read(document(file_names::kConfig).root(), file(file_names::kConfig));
}

GenerationConfig ModelDirectory::generation_config(size_t positions, size_t vocab_size) const {
  const JsonDocument* own = find(file_names::kGeneration);
  const Json root = own ? own->root() : document(file_names::kConfig).root();
  return GenerationConfig::read(root, own == nullptr, positions, vocab_size);
}

}  // namespace bert
