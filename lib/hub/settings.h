#pragma once

#include <string>

namespace bert {

/// How the hub is reached and where its models go: the environment variables of huggingface_hub.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without "/" at its end
  std::string token;                                ///< empty: none
  std::string cache;                                ///< an absolute path
  long timeout = 10;                                ///< seconds without a byte that end a transfer
  std::string offline;  ///< the variable that forbids the network; empty: none does
  bool hide_progress = false;

  /// Throws Error: usage for a variable that is not understood, cannot_create if none says where
  /// the cache is, io or permission if the file of the token cannot be read.
  static HubSettings from_environment();
};

}  // namespace bert
