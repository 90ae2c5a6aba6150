// nsp-pairs - pairs of sentences for next sentence prediction. See man/nsp-pairs.1.
#include "base/random.h"
#include "common/as_text.h"
#include "common/row_options.h"
#include "common/run.h"
#include "trainers/nsp_pairs.h"

using namespace bert;

namespace {

void write_block(const std::vector<DocumentReader::Document>& block, uint64_t key) {
  std::vector<std::vector<uint32_t>> lengths;
  for (const auto& document : block) lengths.emplace_back(document.size(), 1u);
  std::string rows;
  for (const SegmentPair& pair : make_pairs(lengths, block, 2, false, key)) {
    rows += block[pair.document_a][pair.begin_a] + "\t" + block[pair.document_b][pair.begin_b];
    rows += pair.is_next ? "\tIsNext\n" : "\tNotNext\n";
  }
  tools::print(rows);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Pairs of sentences for next sentence prediction, half of them true."};
  app.footer("nsp-pairs corpus.txt | shuf -n 5");
  std::vector<std::string> files;
  uint64_t seed = 1;
  Wanted wanted = Wanted::text;
  app.add({"FILE", "sentences, one per line, with an empty line between documents",
           tools::text("TEXT")},
          files)
      .may_be_empty();
  app.add({"--seed", "seed of the random choices (default: 1)", tools::whole()}, seed);
  tools::add_as_text(app, wanted);
  app.add({"-q,--quiet", "show no notices"}, [] { tools::set_quiet(true); }).same_rows();

  return tools::run(app, argc, argv, [&] {
    constexpr size_t kBlockBytes = 8 << 20;  // negative pairs come from documents of the same block
    tools::refuse_output(files);
    int status = 0;
    const auto skip = [&](const Error& error) {
      tools::complain(error.what());
      status = static_cast<int>(error.kind());
    };
    DocumentReader reader(files, kBlockBytes, skip, wanted);
    std::vector<DocumentReader::Document> block;
    for (uint64_t number = 0; reader.next(block); ++number) {
      write_block(block, mix(seed, number));
    }
    return status;
  });
}
