#include "predict/sequences.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bert {

Reading Reading::of(const Encoding& encoding, int32_t unk_id, Offset own) {
  Reading reading;
  reading.dropped = encoding.dropped;
  reading.replaced_bytes = encoding.replaced_bytes;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.is_added(i)) continue;
    if (encoding.offsets[i].end <= own.begin || encoding.offsets[i].begin >= own.end) continue;
    const auto text = static_cast<size_t>(encoding.sequence_ids[i]);
    ++reading.tokens[text];
    reading.unknown[text] += encoding.input_ids[i] == unk_id;
  }
  return reading;
}

PairText PairText::open(PairTemplate form, const Tokenizer& tokenizer,
                        const std::string& instruction) {
  // The end that texts of other words have in common.
  const auto ids_of = [&](std::string_view words) {
    Tokenizer::Scratch scratch;
    Encoding encoding;
    tokenizer.encode(form.text(words, words, instruction), {.add_special_tokens = false}, encoding,
                     scratch);
    return encoding.input_ids;
  };
  const std::vector<int32_t> one = ids_of("alpha"), other = ids_of("!");
  const auto end = std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first;
  return {std::move(form), {end.base(), one.end()}};
}

void Sequences::clear() {
  count_ = 0;
  texts_.clear();
}

Encoding& Sequences::add(size_t text) {
  if (count_ == encodings_.size()) encodings_.emplace_back();
  texts_.push_back(text);
  Encoding& encoding = encodings_[count_++];
  encoding.clear();
  return encoding;
}

size_t Sequences::end_of_text(size_t first) const {
  size_t end = first;
  while (end < count_ && texts_[end] == texts_[first]) ++end;
  return end;
}

Reading TextReader::read(const Text& given, size_t number, Sequences& to) {
  Text text = given;
  if (options_.pairs) {
    prompted_ = options_.pairs->form.text(text.text, text.pair.value_or(""), options_.prompt);
    text = {prompted_};
  } else if (!options_.prompt.empty()) {
    prompted_.assign(options_.prompt).append(text.text);
    text.text = prompted_;
  }
  const size_t whole = text.text.size();
  if (options_.fixed) text.text = options_.fixed->cut(text.text, options_.encode.max_length);

  Encoding& encoding = to.add(number);
  encode(text, encoding);
  if (options_.pairs && encoding.dropped > 0) {
    const std::vector<int32_t>& suffix = options_.pairs->suffix;
    const size_t kept = std::min(suffix.size(), encoding.size());
    std::copy_n(suffix.end() - static_cast<ptrdiff_t>(kept), kept,
                encoding.input_ids.end() - static_cast<ptrdiff_t>(kept));
  }
  const Offset own{static_cast<uint32_t>(options_.prompt.size()), UINT32_MAX};
  Reading reading = Reading::of(encoding, tokenizer_.unk_id(), own);
  reading.cut = text.text.size() < whole;
  if (encoding.dropped == 0 || options_.overflow != Overflow::window) return reading;

  try {
    cut_windows(text, options_.stride);
    to.drop();
    add_windows(number, to);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::usage) throw;
    reading.no_room = error.what();
  }
  return reading;
}

Reading TextReader::read_windows(const Text& text, size_t stride, size_t number, Sequences& to) {
  const size_t first = to.size();
  cut_windows(text, stride);
  add_windows(number, to);
  return Reading::of(to[first], tokenizer_.unk_id());
}

void TextReader::encode(const Text& text, Encoding& out) {
  if (text.pair) {
    tokenizer_.encode_pair(text.text, *text.pair, options_.encode, out, scratch_);
  } else {
    tokenizer_.encode(text.text, options_.encode, out, scratch_);
  }
}

/// windows_ of the text.
void TextReader::cut_windows(const Text& text, size_t stride) {
  if (text.pair) {
    tokenizer_.encode_pair_windows(text.text, *text.pair, options_.encode, stride, windows_,
                                   scratch_);
  } else {
    tokenizer_.encode_windows(text.text, options_.encode, stride, windows_, scratch_);
  }
}

void TextReader::add_windows(size_t number, Sequences& to) {
  for (Encoding& window : windows_) std::swap(to.add(number), window);
}

}  // namespace bert
