#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// An environment variable that is set and not empty.
BERT_API std::optional<std::string> environment(const char* name);

/// Where Hugging Face's programs keep what they keep, by the rules of huggingface_hub: $HF_HOME,
/// else huggingface/ in $XDG_CACHE_HOME or ~/.cache. Empty if no variable says where.
BERT_API std::string hub_home();
/// The folder of the models that came from the hub, by the same rules; an absolute path.
BERT_API std::string hub_cache();
/// A path of an environment variable with the home directory for "~" and the values of the
/// variables that it names, $NAME or ${NAME}.
BERT_API std::string expanded_path(const std::string& path);

/// Whether the hub could have a model of this name: NAME or ORGANISATION/NAME.
BERT_API bool is_hub_name(std::string_view name);
/// The folder of a model in the cache: "models--ORGANISATION--NAME".
BERT_API std::string hub_folder(std::string_view name);

}  // namespace bert
