// The options of RowOptions that tools have which search: folders, colours, context.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/progress.h"
#include "common/row_options.h"
#include "common/run.h"
#include "io/folders.h"

namespace bert::tools {
namespace {

bool is_folder(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

bool is_output(const std::string& file) {
  struct stat output {
  }, input{};
  if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode)) return false;
  const int failed = file == "-" ? fstat(STDIN_FILENO, &input) : stat(file.c_str(), &input);
  return failed == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino;
}

void RowOptions::add_search(Command& app) {
  app.heading("Input and rows");
  app.add({"-r,--recursive", "read the text files in folders; rows begin with the file"},
          recursive_);
  color_ = ColorWhen::automatic;
  app.add<ColorWhen>({"--color", "colour rows (default: on a terminal)"}, color_,
                     {{"auto", ColorWhen::automatic},
                      {"always", ColorWhen::always},
                      {"never", ColorWhen::never}})
      .same_rows();
  app.heading(Command::kOwnOptions);
  app.parse_complete_callback([this] { open_folders(); });
}

void RowOptions::add_search(Command& app, CLI::Option* query) {
  add_search(app);
  app.add({"-C,--context", "with -q: also N records before and after each that is found",
           whole(0, 1000)},
          context_)
      ->needs(query);
}

/// Puts the files of folders in the place of these.
void RowOptions::open_folders() {
  auto& named = stream_.files;
  if (recursive_ && named.empty()) named = {""};  // the working directory
  if (within_memo() || named.empty()) return;
  std::vector<std::string> files;
  for (const std::string& name : named) {
    if (!is_folder(name.empty() && recursive_ ? "." : name)) {
      files.push_back(name);
    } else if (!recursive_) {
      refused_folders_.push_back(name);
    } else {
      for (std::string& file : files_below(name)) {
        if (is_output(file)) continue;
        stream_.found.insert(file);
        files.push_back(std::move(file));
      }
    }
  }
  if (files.empty()) files = {"/dev/null"};  // none at all would be standard input
  named = std::move(files);
}

void RowOptions::refuse_folders(int& status) const {
  for (const std::string& folder : refused_folders_) {
    complain(Error(Error::Kind::no_input, folder, "is a folder; -r reads it").what());
    status = static_cast<int>(Error::Kind::no_input);
  }
}

void RowOptions::paint_rows() {
  const bool fields = !json_ && !stream_.csv && !nul_ && shape_.bad_row.empty();
  if (within_memo() || !fields || !wants_color(color_)) return;
  painter_.emplace(stream_.output_names);
  if (!stream_.write) stream_.write = [this](std::string_view rows) { show(rows); };
}

void RowOptions::show(std::string_view rows) {
  if (isatty(STDOUT_FILENO)) clear_progress();
  if (painter_) {
    write_all(STDOUT_FILENO, painter_->paint(rows));
  } else {
    write_shown(STDOUT_FILENO, rows);
  }
}

}  // namespace bert::tools
