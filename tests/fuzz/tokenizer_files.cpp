// The files of a tokenizer. The input holds them one after the other, each behind a line "%%NAME";
// what is accepted must tokenize and decode.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace {

constexpr std::array<std::string_view, 13> kNames = {"vocab.txt",
                                                     "source.spm",
                                                     "target.spm",
                                                     "target_vocab.json",
                                                     "spiece.model",
                                                     "sentencepiece.bpe.model",
                                                     "spm.model",
                                                     "vocab.json",
                                                     "merges.txt",
                                                     "tokenizer.json",
                                                     "tokenizer_config.json",
                                                     "special_tokens_map.json",
                                                     "added_tokens.json"};

void require(bool condition) {
  if (!condition) std::abort();
}

/// A directory of this process for the files, gone with it.
struct Directory {
  Directory() : path((std::filesystem::temp_directory_path() / "bert-fuzz-XXXXXX").string()) {
    require(mkdtemp(path.data()) != nullptr);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

const std::string& directory() {
  static const Directory made;
  return made.path;
}

void write_files(std::string_view input) {
  for (const std::string_view name : kNames) {
    const std::string path = directory() + "/" + std::string(name);
    const std::string head = "%%" + std::string(name) + "\n";
    const size_t at = input.find(head);
    if (at == std::string_view::npos) {
      std::filesystem::remove(path);
      continue;
    }
    const std::string_view rest = input.substr(at + head.size());
    std::ofstream(path, std::ios::binary) << rest.substr(0, rest.find("\n%%"));
  }
}

void use(const bert::Tokenizer& tokenizer) {
  constexpr std::string_view kText =
      "The cat [MASK] sat<ent>, caf\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87 \xFF the\t[SEP]x";
  bert::Tokenizer::Scratch scratch;
  bert::Encoding encoding;
  for (const bool literal : {false, true}) {
    bert::EncodeOptions options;
    options.literal = literal;
    tokenizer.encode(kText, options, encoding, scratch);
    for (size_t i = 0; i < encoding.size(); ++i) {
      require(encoding.input_ids[i] >= 0 &&
              static_cast<size_t>(encoding.input_ids[i]) < tokenizer.vocab_size());
      require(encoding.offsets[i].begin <= encoding.offsets[i].end &&
              encoding.offsets[i].end <= kText.size());
    }
    tokenizer.decode(encoding.input_ids, literal);
  }
  for (const auto& [token, id] : tokenizer.special_tokens()) {
    require(tokenizer.is_special(id));
    require(tokenizer.token_to_id(token) == id);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  write_files({reinterpret_cast<const char*>(data), size});
  try {
    use(bert::Tokenizer::open(directory()));
    use(bert::Tokenizer::open_target(directory()));
  } catch (const bert::Error& error) {
    using Kind = bert::Error::Kind;
    require(error.kind() == Kind::data || error.kind() == Kind::unsupported ||
            error.kind() == Kind::no_input);
  }
  return 0;
}
