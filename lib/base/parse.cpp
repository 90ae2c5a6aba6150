#include "base/parse.h"

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <cmath>
#include <cstdlib>

namespace bert {

/// strtod reads more than std::from_chars: blanks, a plus sign, hexadecimal digits. It is told
/// apart before. The library leaves the locale of numbers as "C".
std::from_chars_result read_number(const char* begin, const char* end, double& value) {
  const std::string text(begin, end);  // strtod wants a zero at the end
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text.find_first_of(" \t\n\v\f\r+-", sign) == sign) {
    return {begin, std::errc::invalid_argument};
  }
  const bool hex = text.size() > sign + 1 && (text[sign + 1] == 'x' || text[sign + 1] == 'X');
  if (hex && text[sign] == '0') {
    value = sign != 0 ? -0. : 0.;
    return {begin + sign + 1, std::errc()};
  }
  char* rest = nullptr;
  const double read = std::strtod(text.c_str(), &rest);
  const std::string_view taken(text.c_str(), static_cast<size_t>(rest - text.c_str()));
  if (taken.empty()) return {begin, std::errc::invalid_argument};
  const char* const stop = begin + taken.size();
  const std::string_view digits = taken.substr(0, taken.find_first_of("eE"));
  const bool lost = read == 0 && digits.find_first_of("123456789") != digits.npos;
  const bool too_large = std::isinf(read) && taken.find_first_of("iI") == taken.npos;
  if (lost || too_large) return {stop, std::errc::result_out_of_range};
  value = read;
  return {stop, std::errc()};
}

}  // namespace bert
#endif
