#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "io/json.h"

namespace bert {

class ModelDirectory;

/// A model of several routes (sentence-transformers' Router): queries and documents have modules of
/// their own, each list in folders of the same directory.
class BERT_API Router {
 public:
  struct Module {
    std::string type, path;
  };

  /// Of a directory whose modules.json has a Router first; nullopt: of another, or of one whose
  /// modules.json does not open. Throws Error(data) naming what its router_config.json lacks.
  static std::optional<Router> find(const ModelDirectory& directory);

  /// The route of a task, such as query or document; of "" and of other tasks the usual one.
  std::string route(const std::string& task) const;
  /// Its modules, and those behind the Router.
  std::vector<Module> modules(const std::string& route) const;
  /// The same as modules.json has them.
  std::string modules_json(const std::string& route) const;
  /// The names of the routes.
  std::vector<std::string> names() const;

 private:
  void read(const Json& root, const std::string& folder);
  std::string mapped(const std::string& task) const;

  std::vector<std::pair<std::string, std::vector<Module>>> routes_;
  std::vector<std::pair<std::string, std::string>> mappings_;  ///< "('query', None)", route
  std::vector<Module> rest_;
  std::string usual_;
  std::string file_;  ///< for messages
};

}  // namespace bert
