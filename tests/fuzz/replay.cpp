// Runs a fuzz target over files without a fuzzer, so that any compiler and ctest can:
//
//     fuzz_NAME [-runs=N] FILE|FOLDER...
//
// Each file is given to the target as it is, then N times with a few bytes changed, cut, repeated
// or spliced with another file, the same way in every run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// A copy, so that reading past the end is seen by the sanitizer.
void run(const Bytes& input) {
  const Bytes copy(input);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

Bytes mutated(Bytes input, const Bytes& other, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : size_t{random()} % n; };
  constexpr uint8_t kOdd[] = {0,   1,   0x7F, 0x80, 0xFF, '0', '9', '"',
                              '{', '[', '}',  ']',  ',',  ':', '-', '\n'};
  for (size_t change = 1 + below(4); change > 0; --change) {
    const size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:
        input.resize(at);
        break;
      case 1:
        input.insert(input.begin() + static_cast<ptrdiff_t>(at), kOdd[below(std::size(kOdd))]);
        break;
      case 2:
        if (at < input.size()) input[at] = kOdd[below(std::size(kOdd))];
        break;
      case 3:
        if (at < input.size()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 4: {  // a piece again elsewhere
        const size_t length = std::min(below(16), input.size() - at);
        const Bytes piece(input.begin() + static_cast<ptrdiff_t>(at),
                          input.begin() + static_cast<ptrdiff_t>(at + length));
        input.insert(input.begin() + static_cast<ptrdiff_t>(below(input.size() + 1)), piece.begin(),
                     piece.end());
        break;
      }
      default: {  // the end of another file
        const size_t from = below(other.size() + 1);
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<ptrdiff_t>(from), other.end());
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  size_t runs = 0;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-runs=")) {
      runs = std::strtoull(argument.c_str() + 6, nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argument);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const auto& file : files) inputs.push_back(read_file(file));
  std::mt19937 random(1);
  for (const Bytes& input : inputs) {
    run(input);
    for (size_t i = 0; i < runs; ++i) run(mutated(input, inputs[random() % inputs.size()], random));
  }
  std::printf("%zu files, %zu mutants of each\n", inputs.size(), runs);
  return inputs.empty() ? 1 : 0;
}
