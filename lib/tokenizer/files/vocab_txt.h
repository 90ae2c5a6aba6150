#pragma once

#include <string>
#include <vector>

#include "tokenizer/vocab.h"

namespace bert {

constexpr uint64_t kLargestVocabulary = 256u << 20;  ///< bytes of vocab.txt or tokenizer.json

/// Reads a vocab.txt, whose line numbers are the ids, into `vocab` and closes it. Throws Error
/// (no_input, data) naming file and line.
void read_vocab_txt(const std::string& path, Vocab& vocab, std::vector<std::string>& warnings);

/// The first line of a vocab.txt, counted from 1, that does not hold the token of its id; 0: none.
size_t first_difference(const std::string& path, const Vocab& vocab);

}  // namespace bert
