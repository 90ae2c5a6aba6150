#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainers/examples.h"
#include "trainers/translation_pairs.h"

namespace bert {

/// The share of the examples that `files` asks to hold out, in place of files with dev examples:
/// 0.1 of "10%". None: they are files. Throws Error (`dev`) unless it is above 0 and below 100 %.
std::optional<double> held_out_share(const std::vector<std::string>& files);
/// Throws Error (`dev`) if `files` ask for a share, where only files can be used.
void refuse_share(const std::vector<std::string>& files);

/// Which items to hold out: `share` of them, and of the items of each stratum. It depends on the
/// seed and on which items there are, not on their order. Items of one key are never parted; a
/// stratum of one key stays.
std::vector<bool> held_out(std::span<const uint64_t> keys, std::span<const int32_t> strata,
                           double share, uint64_t seed);

/// Takes a share of the examples out of `train`, which was read for a score (ExampleOptions): the
/// same share of each label, if an example has one. Equal texts, and questions of one context, stay
/// together. Throws Error (`dev`) if that is none.
ExampleSet hold_out(ExampleSet& train, LabelKind kind, double share, uint64_t seed);
/// The same for pairs; equal sources stay together.
std::vector<TextPair> hold_out(std::vector<TextPair>& train, double share, uint64_t seed);

}  // namespace bert
