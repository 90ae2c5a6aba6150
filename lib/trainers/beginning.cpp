#include "trainers/beginning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace bert {

Beginning::Beginning(const std::string& output, const NamedFiles& files)
    : output_(output),
      lock_(output + "/.lock"),
      path_(fmt::format("{}/init.tmp.{}.0", output, getpid())) {
  try {
    make_directories(path_);
    for (const auto& [name, content] : files) add(name, content);
  } catch (...) {
    remove();
    throw;
  }
}

void Beginning::add(std::string_view name, const std::string& content) const {
  write_whole_file(fmt::format("{}/{}", path_, name), content);
}

void Beginning::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bert
