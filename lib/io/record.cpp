#include "io/record.h"

#include <fmt/format.h>

namespace bert {

std::string_view Record::field(size_t index) const {
  std::string_view rest = body();
  for (size_t i = 0;; ++i) {
    const size_t tab = rest.find('\t');
    if (i == index) return rest.substr(0, tab);
    if (tab == std::string_view::npos) {
      fail(Error::Kind::data,
           i == 0 ? fmt::format("found 1 field, wants at least {}, separated by tabs", index + 1)
                  : fmt::format("found {} fields, wants at least {}", i + 1, index + 1));
    }
    rest.remove_prefix(tab + 1);
  }
}

Error Record::placed(const Error& error) const {
  if (error.has_place() || error.kind() != Error::Kind::data) return error;
  try {
    fail(error.kind(), error.what());
  } catch (const Error& of_record) {
    return of_record;
  }
}

void Record::fail(Error::Kind kind, std::string_view what) const {
  const std::string_view name = file ? std::string_view(*file) : "-";
  throw Error(kind,
              number_in_file == 0 ? fmt::format("{}: header", name)
                                  : fmt::format("{}: record {}", name, number_in_file),
              what);
}

}  // namespace bert
