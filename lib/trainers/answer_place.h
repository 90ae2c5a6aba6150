#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bert {

/// What the number of an answer's start counts.
enum class StartUnit { bytes, code_points, utf16 };

/// The byte of `text` at which its character `start` begins; npos: behind its end, or within a
/// character.
size_t byte_of(std::string_view text, int64_t start, StartUnit unit);

/// Whether `answer` stands at byte `begin` of the context.
bool stands_at(std::string_view context, size_t begin, std::string_view answer);

/// The byte at which `answer` stands that is nearest to byte `begin`; npos: nowhere.
size_t nearest_place(std::string_view context, size_t begin, std::string_view answer);

/// A sentence about an answer that does not stand at its start: what stands there, where the answer
/// stands, and whether `start` counts it in another unit.
std::string misplaced(std::string_view context, int64_t start, StartUnit unit,
                      std::string_view answer);

}  // namespace bert
