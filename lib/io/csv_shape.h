#pragma once

#include <string_view>

namespace bert {

enum class CsvShape { none, bare, header };  ///< header: its first record names the fields

/// Whether the records at the start of `text` have the shape of CSV (RFC 4180) with this separator:
/// at least three, all of as many fields, with a field in quotes or a first record of names. Prose
/// with commas has not: a blank stands behind them, and lines have different numbers of them.
/// `whole`: `text` is all of the file, else its last record may be cut.
CsvShape csv_shape(std::string_view text, char separator, bool whole);

}  // namespace bert
