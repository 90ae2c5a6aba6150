#include "directory/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/model_directory.h"
#include "directory/module_stages.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

std::string path_in(const std::string& folder, std::string_view name) {
  return folder.empty() || name.empty() ? folder + std::string(name)
                                        : fmt::format("{}/{}", folder, name);
}

/// Whether modules.json begins with a Router.
bool begins_with_router(const JsonDocument& modules) {
  bool first = true, found = false;
  try {
    modules.root().for_each_element([&](Json module) {
      found |= first && stage_of(module.at("type").as_string()) == Stage::router;
      first = false;
    });
  } catch (const Error&) {  // told by those who need the modules
    return false;
  }
  return found;
}

/// router_config.json, which older versions called config.json.
JsonDocument config_of(const std::string& folder) {
  const std::string own = path_in(folder, file_names::kRouter);
  return JsonDocument::open(file_exists(own) ? own : path_in(folder, file_names::kConfig));
}

}  // namespace

std::optional<Router> Router::find(const ModelDirectory& directory) {
  const JsonDocument* document = directory.find_sound(file_names::kModules);
  if (!document || !begins_with_router(*document)) return std::nullopt;
  Router router;
  std::optional<std::string> folder;
  document->root().for_each_element([&](Json module) {
    std::string path = module_folder(module.at("path"));
    if (folder) {
      router.rest_.push_back({std::string(module.at("type").as_string()), std::move(path)});
    } else {
      folder = std::move(path);
    }
  });
  router.read(config_of(path_in(directory.path(), *folder)).root(), *folder);
  // Each route that a task may take is there.
  for (const std::string& task : router.names()) router.modules(router.route(task));
  router.modules(router.route(""));
  return router;
}

void Router::read(const Json& root, const std::string& folder) {
  file_ = root.where();
  const Json types = root.at("types");
  root.at("structure").for_each_member([&](std::string_view name, Json list) {
    std::vector<Module> modules;
    list.for_each_element([&](Json id) {
      modules.push_back(
          {std::string(types.at(id.as_string()).as_string()), path_in(folder, module_folder(id))});
    });
    if (modules.empty()) throw Error(Error::Kind::data, list.where(), "a route without modules");
    routes_.emplace_back(name, std::move(modules));
  });
  if (routes_.empty()) throw Error(Error::Kind::data, root.where(), "structure names no routes");
  usual_ = routes_[0].first;
  const auto parameters = root.find("parameters");
  if (!parameters || !parameters->is_object()) return;
  if (const auto usual = parameters->find("default_route"); usual && usual->is_string()) {
    usual_ = usual->as_string();
  }
  if (const auto map = parameters->find("route_mappings"); map && map->is_object()) {
    map->for_each_member(
        [&](std::string_view key, Json route) { mappings_.emplace_back(key, route.as_string()); });
  }
}

/// The route that route_mappings, or its name, gives to a task; "" if there is none. Keys are
/// written as Python writes a pair of task and kind of input.
std::string Router::mapped(const std::string& task) const {
  std::vector<std::string> keys;
  if (!task.empty()) {
    for (const char* kind : {"'text'", "None"})
      keys.push_back(fmt::format("('{}', {})", task, kind));
  }
  keys.insert(keys.end(), {"(None, 'text')", "(None, None)"});
  for (const std::string& key : keys) {
    const auto found = std::find_if(mappings_.begin(), mappings_.end(),
                                    [&](const auto& mapping) { return mapping.first == key; });
    if (found != mappings_.end()) return found->second;
  }
  for (const std::string& name : {task, std::string("text")}) {
    const bool known = std::any_of(routes_.begin(), routes_.end(),
                                   [&](const auto& route) { return route.first == name; });
    if (known) return name;
  }
  return "";
}

std::string Router::route(const std::string& task) const {
  const std::string found = mapped(task);
  return found.empty() ? usual_ : found;
}

std::vector<Router::Module> Router::modules(const std::string& route) const {
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const auto& entry) { return entry.first == route; });
  if (found == routes_.end()) {
    throw Error(Error::Kind::data, file_, fmt::format("has no route {}", printable(route)));
  }
  std::vector<Module> all = found->second;
  all.insert(all.end(), rest_.begin(), rest_.end());
  return all;
}

std::string Router::modules_json(const std::string& route) const {
  std::string text;
  for (const Module& module : modules(route)) {
    text += fmt::format("{}{{\"path\": {}, \"type\": {}}}", text.empty() ? "" : ", ",
                        json_string(module.path), json_string(module.type));
  }
  return "[" + text + "]";
}

std::vector<std::string> Router::names() const {
  std::vector<std::string> names;
  for (const auto& [name, modules] : routes_) names.push_back(name);
  return names;
}

}  // namespace bert
