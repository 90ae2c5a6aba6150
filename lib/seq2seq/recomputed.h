#pragma once

#include <memory>

#include "seq2seq/decoder.h"

namespace bert {

/// A Decoding that keeps tokens alone and teaches them anew at each step: what a cache must equal.
/// Borrows the model.
std::unique_ptr<Decoding> recomputed_decoding(const Seq2Seq& model);

}  // namespace bert
