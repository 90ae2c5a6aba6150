#include "trainers/pretraining_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "nn/loss.h"
#include "trainers/training_job.h"

namespace bert {

using training::TrainingBatch;

PretrainingStream::PretrainingStream(const Tokenizer& tokenizer, Options options)
    : tokenizer_(tokenizer), options_(std::move(options)), masking_(tokenizer, options_.masking) {
  for (const std::string& file : options_.files) {
    const auto type = file_type(file);
    const bool again = file != "-" && (type == std::filesystem::file_type::regular ||
                                       type == std::filesystem::file_type::not_found);
    if (!again && once_.empty()) once_ = file;
  }
}

std::map<std::string, std::string> PretrainingStream::Options::identity() const {
  return {{"text", hash_text(files_hash(files))},
          {"sequence", std::to_string(max_length)},
          {"next sentence", next_sentence ? "yes" : "no"},
          {"mlm probability", fmt::format("{}", masking.mlm_probability)},
          {"whole word", masking.whole_word ? "yes" : "no"}};
}

void PretrainingStream::gather(size_t document, size_t begin, size_t end, std::vector<int32_t>& ids,
                               std::vector<int32_t>& words) const {
  for (size_t s = begin; s < end; ++s) {
    const auto& from = ids_[document][s];
    const auto& from_words = words_[document][s];
    const int32_t base = words.empty() ? 0 : words.back() + 1;
    ids.insert(ids.end(), from.begin(), from.end());
    for (const int32_t word : from_words) words.push_back(base + word);
  }
}

void PretrainingStream::cut_singles() {
  const size_t room = options_.max_length - tokenizer_.added_tokens_single();
  Sequence sequence;
  for (size_t d = 0; d < ids_.size(); ++d) {
    for (size_t s = 0; s < ids_[d].size(); ++s) {
      const bool full = sequence.a.size() + ids_[d][s].size() > room;
      if (full && !sequence.a.empty()) {
        sequences_.push_back(std::move(sequence));
        sequence = {};
      }
      gather(d, s, s + 1, sequence.a, sequence.words_a);
    }
    if (!sequence.a.empty()) sequences_.push_back(std::move(sequence));
    sequence = {};
  }
  for (Sequence& s : sequences_) {
    s.a.resize(std::min(s.a.size(), room));
    s.words_a.resize(s.a.size());
  }
}

void PretrainingStream::cut_pairs() {
  const size_t room = options_.max_length - tokenizer_.added_tokens_pair();
  std::vector<std::vector<uint32_t>> lengths(ids_.size());
  for (size_t d = 0; d < ids_.size(); ++d) {
    for (const auto& sentence : ids_[d])
      lengths[d].push_back(static_cast<uint32_t>(sentence.size()));
  }
  const uint64_t key = mix(mix(options_.masking.seed, epoch_), block_);
  for (const SegmentPair& pair : make_pairs(lengths, texts_, room, true, key)) {
    Sequence s;
    s.is_next = pair.is_next;
    gather(pair.document_a, pair.begin_a, pair.end_a, s.a, s.words_a);
    gather(pair.document_b, pair.begin_b, pair.end_b, s.b, s.words_b);
    if (s.a.empty() || s.b.empty()) continue;  // sentences without tokens
    while (s.a.size() + s.b.size() > room) (s.a.size() > s.b.size() ? s.a : s.b).pop_back();
    s.words_a.resize(s.a.size());
    s.words_b.resize(s.b.size());
    sequences_.push_back(std::move(s));
  }
}

/// Returns false at the end of a text that cannot be read again.
bool PretrainingStream::read_block() {
  sequences_.clear();
  at_ = 0;
  while (sequences_.empty()) {
    if (!reader_) {
      reader_ = std::make_unique<DocumentReader>(options_.files, options_.block_bytes, nullptr,
                                                 options_.wanted);
    }
    if (!reader_->next(texts_)) {
      if (!found_) {  // in a whole pass
        throw Error(Error::Kind::data, options_.files.empty() ? "-" : options_.files.front(),
                    "has no text to learn from (sentences, one a line; documents, an empty line "
                    "between)");
      }
      if (!once_.empty()) return false;
      reader_.reset();
      ++epoch_;
      block_ = 0;
      found_ = false;
      continue;
    }
    ids_.assign(texts_.size(), {});
    words_.assign(texts_.size(), {});
    EncodeOptions encode;
    encode.add_special_tokens = false;
    encode.max_length = 4 * options_.max_length;  // no sentence needs more
    for (size_t d = 0; d < texts_.size(); ++d) {
      for (const std::string& sentence : texts_[d]) {
        hash_ = mix(hash_, xxh64(sentence));
        encoding_.clear();
        tokenizer_.encode(sentence, encode, encoding_, scratch_);
        if (epoch_ == 0) {
          counts_.add(encoding_, tokenizer_.unk_id());
          counts_.end_text();
        }
        ids_[d].push_back(encoding_.input_ids);
        words_[d].push_back(encoding_.word_ids);
      }
    }
    if (options_.next_sentence) {
      cut_pairs();
    } else {
      cut_singles();
    }
    const uint64_t key = mix(mix(options_.masking.seed, 77 + epoch_), block_);
    for (size_t i = sequences_.size(); i > 1; --i) {
      std::swap(sequences_[i - 1], sequences_[mix(key, i) % i]);
    }
    ++block_;
    found_ |= !sequences_.empty();
  }
  ids_.clear();
  words_.clear();
  texts_.clear();
  return true;
}

void PretrainingStream::append(const Sequence& s, uint64_t number, TrainingBatch& batch) {
  encoding_.clear();
  FramedText framed(s.b.empty() ? tokenizer_.frame() : tokenizer_.pair_frame(), encoding_);
  for (size_t i = 0; i < s.a.size(); ++i) framed.push(s.a[i], {}, s.words_a[i]);
  if (!s.b.empty()) {
    framed.next();
    const int32_t base = s.words_a.empty() ? 0 : s.words_a.back() + 1;
    for (size_t i = 0; i < s.b.size(); ++i) framed.push(s.b[i], {}, base + s.words_b[i]);
  }
  framed.finish();
  masking_.choose(encoding_, mix(options_.masking.seed, number), chosen_);
  Masking::corrupt(chosen_, encoding_.input_ids);
  const size_t begin = batch.token_labels.size();
  batch.token_labels.resize(begin + encoding_.size(), nn::kIgnored);
  for (const MaskedToken& token : chosen_) {
    batch.token_labels[begin + token.position] = token.original;
  }
  batch.batch.append(encoding_.input_ids, encoding_.token_type_ids);
  if (options_.next_sentence) batch.sequence_labels.push_back(s.is_next ? 0 : 1);
}

bool PretrainingStream::next(size_t count, TrainingBatch& batch) {
  batch.clear();
  for (size_t i = 0; i < count; ++i) {
    if (at_ == sequences_.size() && !read_block()) return false;
    append(sequences_[at_++], number_++, batch);
  }
  return true;
}

Error PretrainingStream::ended(uint64_t steps, uint64_t wanted, const std::string& output) const {
  return Error(Error::Kind::data, once_,
               fmt::format("can be read only once, and gave text for {} of {} steps{}", steps,
                           wanted, steps > 0 ? "; the model after them is in " + output : ""));
}

void PretrainingStream::skip(uint64_t count) {
  while (count > 0) {
    if (at_ == sequences_.size() && !read_block()) {
      throw Error(Error::Kind::data, once_, "ends before the text that the checkpoint has read");
    }
    const uint64_t n = std::min<uint64_t>(count, sequences_.size() - at_);
    at_ += n;
    number_ += n;
    count -= n;
  }
}

}  // namespace bert
