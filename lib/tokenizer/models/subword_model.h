#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace bert {

/// A piece of a word: its bytes [begin, end), as normalised.
struct Subword {
  int32_t id = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// What splits a word, a part of a text that the pre-tokenizer cut, into pieces of a vocabulary:
/// the `model` of a tokenizer.json.
///
/// Thread rule: const after it is made; each thread brings its own Scratch.
class SubwordModel {
 public:
  /// Buffers of one thread.
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  virtual ~SubwordModel() = default;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// Appends the pieces of `word`, in order. The scratch is one of this model's.
  virtual void split(std::string_view word, Scratch& scratch, std::vector<Subword>& out) const = 0;
};

}  // namespace bert
