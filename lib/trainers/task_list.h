#pragma once

#include <string>
#include <vector>

#include "trainers/examples.h"
#include "trainers/supervised.h"

namespace bert {

/// One line of a list of tasks: NAME TAB KIND TAB FILES TAB DEV-FILES TAB OPTIONS.
struct TaskLine {
  std::string name;  ///< name of the task's head; "": the head is plain
  HeadKind kind = HeadKind::classify;
  ExampleOptions train;
  std::vector<std::string> dev;
  size_t batch_size = 16;
  size_t max_length = 128;
  float weight = 1;
  double mlm_probability = 0.15;    ///< mlm: a token is to be predicted
  double dropout = -1;              ///< below 0: the run's
  std::string teacher;              ///< vectors: the model whose vectors are learned
  std::vector<std::string> labels;  ///< in the order of their ids; empty: as found

  bool supervised() const { return kind <= HeadKind::spans; }
  /// Its kind and the options that decide its steps, those by default too.
  std::string options_text() const;
};

std::string kind_name(HeadKind kind);

/// Throws Error(usage) naming line and word.
std::vector<TaskLine> read_task_list(const std::string& path);

}  // namespace bert
