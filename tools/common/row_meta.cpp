// The line of --meta.
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "common/row_options.h"
#include "directory/hashes.h"
#include "ops/arithmetic.h"

namespace bert::tools {
namespace {

/// The value quoted for a shell, on one line.
std::string quoted(const std::string& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/@%";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string::npos) return value;
  std::string out = "'";
  for (const char c : printable(value, 0)) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool is_regular(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

/// "mlm-fill (bertutils) 0.2.0 config.json=0123456789abcdef ... kernels=avx2 dtype=int8
/// products=int8 --seed=12345": all that decides the rows, and nothing else.
std::string RowOptions::meta(const std::set<std::string>& left_out) const {
  std::string line = app_.get_name() + " (bertutils) " BERT_VERSION;
  const CLI::Option* model = no_model_ ? nullptr : app_.get_option_no_throw("--model");
  std::vector<FileHash> files;
  const auto value = [&](const char* name) {
    const CLI::Option* option = app_.get_option_no_throw(name);
    return option && !option->empty() ? option->results()[0] : "";
  };
  if (model) {
    files = hash_model(
        ModelDirectory::open(value("--model"), value("--adapter")).route(value("--prompt-name")));
  }
  for (const std::string& path : deciding_) {
    if (is_regular(path)) files.push_back(hash_file(path));
  }
  for (const FileHash& file : files) {
    line += fmt::format(" {}={:016x}", quoted(file.name), file.hash);
  }
  if (precision_) {
    line += fmt::format(" kernels={} dtype={} products={}", kernel_set(),
                        precision_name(*precision_), products_in(*precision_));
  }
  for (const CLI::Option* option : app_.get_options()) {
    const Declaration* declaration = app_.declaration(option);
    if (!declaration || !declaration->changes_rows || option->get_positional()) continue;
    const std::string name = option->get_single_name();
    if (left_out.contains(name)) continue;
    if (declaration->value.kind == Value::Kind::flag) {
      if (option->count() > 0) line += " --" + name;
    } else if (option->count() > 0) {
      for (const std::string& value : option->results()) line += " --" + name + "=" + quoted(value);
    } else if (!option->get_default_str().empty()) {
      line += " --" + name + "=" + quoted(option->get_default_str());
    }
  }
  return line;
}

}  // namespace bert::tools
