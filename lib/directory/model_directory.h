#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

class Adapter;
class GlinerFiles;
class JsonDocument;
class Router;
struct Config;
struct GenerationConfig;
struct RecurrentConfig;
struct Seq2SeqConfig;
struct StaticFiles;

/// A model directory: what it is, and its JSON files, each of which is read and parsed at its first
/// need and then kept. Copies share what was read. The files must not change meanwhile; one that
/// appears later is seen.
///
/// Thread rule: const after its constructor; all threads may use one at once.
class BERT_API ModelDirectory {
 public:
  /// What a directory holds. Each kind is computed by code of its own.
  enum class Kind : uint8_t {
    encoder,          ///< a BERT-like model, with heads or without
    static_vectors,   ///< a table of vectors (static_files.h)
    marian,           ///< models that translate (model/seq2seq_config.h), this one and the next two
    encoder_decoder,  ///< bert2bert and its like
    recurrent,
  };

  /// The directory that a user means: -m's argument, or empty. See resolve_model (find_model.h). Of
  /// an adapter's, that of its base with the adapter in it; `adapter` names one for any base.
  static ModelDirectory open(const std::string& name, const std::string& adapter = "");
  /// The directory at this path, of which nothing is read yet. A path is taken wherever a directory
  /// is wanted. Empty: none.
  ModelDirectory(std::string path = "");
  ModelDirectory(const char* path) : ModelDirectory(std::string(path)) {}

  const std::string& path() const;
  bool empty() const { return path().empty(); }
  /// The model of a task, such as query or document, where the modules have a route for each
  /// (Router); open() gives the usual one. Else itself.
  ModelDirectory route(const std::string& task) const;
  /// The routes; nullptr: there are none.
  const Router* router() const;
  /// Throws Error(unsupported) if queries have another model than documents: for those who read
  /// both with one.
  void refuse_query_route() const;
  /// What changes the model and brings files of its own; nullptr: nothing.
  const Adapter* adapter() const;
  /// What gliner_config.json says of the files; nullptr: it is not here.
  const GlinerFiles* gliner() const;
  /// The path of a file in it, in its adapter, or of the modules beside it; of "" its own.
  std::string file(std::string_view name) const;
  /// Whether the file is there. Throws Error as file_exists.
  bool has(std::string_view name) const;
  /// A JSON file, by its name or "FOLDER/NAME"; config.json as the adapter changes it, or of
  /// GLiNER's encoder. Throws Error
  /// as JsonDocument::open does.
  const JsonDocument& document(std::string_view name) const;
  /// The same; nullptr if there is no such file.
  const JsonDocument* find(std::string_view name) const;
  /// The same; nullptr also if it does not open, which its reader will say.
  const JsonDocument* find_sound(std::string_view name) const;
  /// A JSON file that may be large, and lives as long as the result. Its limits are those of
  /// JsonDocument::open.
  std::shared_ptr<const JsonDocument> large_document(std::string_view name, uint64_t max_bytes,
                                                     size_t most_keys) const;
  /// Large files, too, are read once while the result lives.
  std::shared_ptr<const void> keep_large() const;

  /// Decided once. Throws Error where config.json does not open, unless these are static vectors.
  Kind kind() const;
  /// Whether its model writes a text for a text. Throws Error as kind().
  bool translates() const { return kind() >= Kind::marian; }
  /// Where static vectors lie; nullptr: it holds another model, or none. Throws Error as
  /// StaticFiles::find.
  const StaticFiles* static_files() const;

  /// The config of each kind of model, checked. Throw Error (no_input, data, unsupported) naming
  /// the file, and key, value and rule.
  Config config() const;
  Seq2SeqConfig seq2seq_config() const;
  RecurrentConfig recurrent_config() const;
  /// How tokens are written: generation_config.json, else the same keys of config.json.
  /// `positions`: how many tokens a target may have at all; `vocab_size`: ids are below it.
  GenerationConfig generation_config(size_t positions, size_t vocab_size) const;

 private:
  /// The folder of a file.
  std::string place(std::string_view name) const;

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bert
