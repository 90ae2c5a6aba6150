#include "seq2seq/reading_decoder.h"

#include <utility>

#include "directory/file_names.h"
#include "io/json.h"
#include "model/config_keys.h"
#include "seq2seq/decoder_stack.h"
#include "seq2seq/halves.h"

namespace bert {
namespace {

class ReadingDecoder : public StatesReader {
 public:
  ReadingDecoder(Halves halves, Precision precision, int32_t start)
      : halves_(std::move(halves)),
        stack_(DecoderStack::load(halves_.config.decoder, *halves_.decoder, precision)),
        start_(start) {}

  void read(const PackedBatch& batch, Matrix states, Workspace& workspace) const override {
    PackedBatch targets;
    std::vector<int32_t> ids;
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const auto text = std::span(batch.input_ids).subspan(batch.begin(s), batch.length(s));
      ids.assign(text.begin(), text.end());
      if (!ids.empty()) {
        ids.pop_back();
        ids.insert(ids.begin(), start_);
      }
      targets.append(ids, std::vector<int32_t>(ids.size(), 0));
    }
    DecoderScratch scratch;
    scratch.linear.team = workspace.linear.team;
    const auto pairs = stack_.read(states, batch.cu_seq_lens, scratch.linear);
    stack_.teach(*pairs, targets, states, scratch);
  }

 private:
  const Halves halves_;
  const DecoderStack stack_;
  const int32_t start_;
};

}  // namespace

std::unique_ptr<const StatesReader> open_reading_decoder(const ModelDirectory& directory,
                                                         std::optional<Precision> precision) {
  const Json root = directory.document(file_names::kConfig).root();
  Halves halves = Halves::open(directory);
  const auto start = config_keys::find(root, {"decoder_start_token_id"});
  const size_t most = halves.config.decoder.vocab_size - 1;
  const auto first = start ? config_keys::size_of(*start, 0, most)
                           : static_cast<size_t>(halves.config.encoder.eos_token_id);
  const Precision own = precision.value_or(halves.decoder->precision());
  return std::make_unique<ReadingDecoder>(std::move(halves), own, static_cast<int32_t>(first));
}

}  // namespace bert
