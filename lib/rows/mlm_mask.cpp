#include "rows/mlm_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "io/json.h"
#include "rows/spans.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

/// Steps of all matches in one record: some seconds.
constexpr uint64_t kMostSteps = uint64_t{1} << 28;

/// The place of a chosen token that the masked text has no more.
constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

/// A row of a chosen token.
struct ShownRow {
  size_t index = 0;
  std::string_view original = {}, corrupted = {}, kind = {};
  void cells(Cells& c) const {
    c.count("index", index).text("original", original).text("corrupted", corrupted);
    c.text("kind", kind);
  }
};

}  // namespace

std::vector<std::string> MlmMaskOptions::columns() const {
  if (show) return names_of<ShownRow>();
  if (labels) return {"text", "labels"};
  return {"text"};
}

MlmMaskWorker::MlmMaskWorker(const Tokenizer& tokenizer, const Masking& masking,
                             const MlmMaskOptions& mask, const TaskOptions& options)
    : MlmWorker(tokenizer, options, mask.tokens), masking_(masking), mask_(mask) {
  const std::string mask_token(tokenizer.mask_token());
  Encoding glued, apart;
  tokenizer.encode("a" + mask_token, {}, glued, scratch_);
  tokenizer.encode("a " + mask_token, {}, apart, scratch_);
  blank_is_free_ = apart.size() <= glued.size();
  if (mask.choice != MaskChoice::match) return;
  try {
    regex_.emplace(mask.pattern);
  } catch (const Error& error) {
    throw Error::of_field("pattern", fmt::format("'{}' {}", printable(mask.pattern), error.what()),
                          error.kind());
  }
}

void MlmMaskWorker::run(std::span<const Record> records, Rows& rows) {
  for (const Record& record : records) {
    tokenize(record, record.text, text_);
    if (mask_.words) find_words(record.text);
    if (mask_.choice == MaskChoice::each) {
      write_each(record, rows);
    } else {
      choose(record);
      write_masked(record, rows);
    }
  }
}

void MlmMaskWorker::find_words(std::string_view text) {
  const std::vector<Offset> words = words_between_blanks(text);
  for (size_t t = 0; t < text_.count(); ++t)
    text_.encoding.word_ids[text_.index(t)] = word_of(words, text, text_.offset(t));
}

void MlmMaskWorker::choose(const Record& record) {
  chosen_.clear();
  if (mask_.choice == MaskChoice::random) {
    masking_.choose(text_.encoding, fnv1a(mask_.keyed ? record.extra[0] : record.text), chosen_);
  } else if (mask_.choice == MaskChoice::match) {
    choose_match(record);
  } else {
    choose_spans(record);
  }
}

void MlmMaskWorker::hide_token(size_t position) {
  if (!masking_.eligible(text_.encoding, position)) return;
  if (!chosen_.empty() && chosen_.back().position >= position) return;
  chosen_.push_back(
      {position, MaskKind::mask, text_.encoding.input_ids[position], tokenizer_.mask_id()});
}

/// Where a token stands that something else is to stand for. The blank that its offset may include
/// stays, unless the vocabulary would make a token of it.
Offset MlmMaskWorker::place_of(std::string_view text, size_t token) const {
  Offset bytes = text_.encoding.offsets[token];
  if (tokens_ || bytes.begin == bytes.end) return bytes;
  if (blank_is_free_) return without_blank(text, bytes);
  const int32_t id = text_.encoding.input_ids[token];
  const bool marked = !tokenizer_.is_special(id) && !tokenizer_.continues_word(id);
  if (marked && bytes.begin > 0 && text[bytes.begin - 1] == ' ') --bytes.begin;
  return bytes;
}

/// Hides the tokens that share a byte with [begin, end). `from`: the first token to look at, which
/// moves on to the first that may share one with a later span.
void MlmMaskWorker::hide(std::string_view text, size_t begin, size_t end, size_t& from) {
  if (begin == end) return;
  const size_t last = text_.encoding.size() - text_.back;
  const std::vector<Offset>& offsets = text_.encoding.offsets;
  while (from < last && offsets[from].end <= begin) ++from;
  for (size_t i = from; i < last && offsets[i].begin < end; ++i) {
    if (begin < offsets[i].end && without_blank(text, offsets[i]).begin < end) hide_token(i);
  }
}

void MlmMaskWorker::choose_match(const Record& record) {
  const std::string_view text = record.text;
  size_t token = text_.front;
  matching_.steps = 0;
  try {
    for (size_t from = 0; from < text.size();) {
      const auto match = regex_->find(text, from, matching_, kMostSteps);
      if (!match) return;
      hide(text, match->first, match->second, token);
      from = std::max(match->second, match->first + 1);
    }
  } catch (const Error& error) {
    record.fail(error.kind(), error.what());
  }
}

void MlmMaskWorker::choose_spans(const Record& record) {
  std::vector<Offset> spans = parse_spans(record, record.extra[0]);
  std::sort(spans.begin(), spans.end(), [](Offset a, Offset b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t token = text_.front;
  for (const auto& [begin, end] : spans) hide(record.text, begin, end, token);
}

void MlmMaskWorker::write_each(const Record& record, Rows& rows) {
  const size_t end = text_.encoding.size() - text_.back;
  for (size_t i = text_.front; i < end;) {
    const int32_t word = text_.encoding.word_ids[i];
    chosen_.clear();
    hide_token(i++);
    while (i < end && word >= 0 && text_.encoding.word_ids[i] == word) hide_token(i++);
    if (!chosen_.empty()) write_masked(record, rows);
  }
}

/// Appends the text with the chosen tokens replaced; a view of it holds until `out` grows.
MlmMaskWorker::Masked MlmMaskWorker::append_masked(const Record& record, std::string& out) {
  Masked row;
  const size_t first = out.size();
  size_t done = 0;
  for (const MaskedToken& token : chosen_) {
    const Offset bytes = place_of(record.text, token.position);
    const size_t begin = std::max<size_t>(bytes.begin, done),
                 end = std::max<size_t>(bytes.end, begin);
    out += record.text.substr(done, begin - done);
    row.starts.push_back(out.size() - first);
    if (token.kind == MaskKind::keep) {
      out += record.text.substr(begin, end - begin);
    } else if (tokens_ || token.kind == MaskKind::mask) {
      out += tokenizer_.token(token.corrupted);
    } else {
      row.starts.back() = append_random(out, token, record.text.substr(end)) - first;
    }
    done = end;
  }
  out += record.text.substr(done);
  row.text = std::string_view(out).substr(first);
  return row;
}

/// Appends a random piece, with a blank where it would run into another word of the text. Returns
/// where the piece begins.
size_t MlmMaskWorker::append_random(std::string& text, const MaskedToken& token,
                                    std::string_view rest) const {
  const std::vector<int32_t>& words = text_.encoding.word_ids;
  const auto goes_on = [&](size_t i) {  // with the word of the token before
    return i > 0 && i < words.size() && words[i] >= 0 && words[i] == words[i - 1];
  };
  const std::string_view piece = tokenizer_.piece_text(token.corrupted);
  const size_t i = token.position;
  if (!goes_on(i) && words_meet(text, piece)) text += ' ';
  const size_t start = text.size();
  text += piece;
  mend_pieces(text, start);
  if (!goes_on(i + 1) && words_meet(text, rest)) text += ' ';
  return start;
}

/// Where the chosen tokens are among those of the masked text, as the next tool will read it: the
/// last that begins no later. Those that are cut off are nowhere, and of several in one place only
/// one is there.
void MlmMaskWorker::find_indices(Masked& row) {
  if (tokens_) {
    for (const MaskedToken& token : chosen_) row.indices.push_back(token.position);
    return;
  }
  const size_t added = text_.front + text_.back, limit = options_.encode.max_length;
  const size_t room = limit > 0 ? limit - added : SIZE_MAX;
  size_t seen = 0;
  bool cut = false;
  const auto find = [&](std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      while (row.indices.size() < row.starts.size() &&
             row.starts[row.indices.size()] < piece.offset.begin) {
        row.indices.push_back(text_.front + std::max<size_t>(seen, 1) - 1);
      }
      cut = seen == room;
      if (cut) return false;
      ++seen;
    }
    return row.indices.size() < row.starts.size();
  };
  tokenizer_.for_each_piece(row.text, false, scratch_, find);
  row.indices.resize(row.starts.size(),
                     cut ? kNowhere : text_.front + std::max<size_t>(seen, 1) - 1);
  keep_one_in_each_place(row.indices);
}

/// A blank that a mask takes away, or a random piece that joins its neighbour, leaves two chosen
/// tokens in the place of one: that of the mask, or else the first.
void MlmMaskWorker::keep_one_in_each_place(std::vector<size_t>& indices) const {
  for (size_t i = 1, kept = 0; i < indices.size(); ++i) {
    if (indices[i] == indices[kept] && indices[i] != kNowhere) {
      const bool later = chosen_[i].kind == MaskKind::mask;
      indices[later ? kept : i] = kNowhere;
      if (!later) continue;
    }
    kept = i;
  }
}

void MlmMaskWorker::write_masked(const Record& record, Rows& rows) {
  if (options_.json) {
    std::string text;
    Masked masked = append_masked(record, text);
    find_indices(masked);
    return write_json(record, masked, rows);
  }
  if (mask_.show) return write_shown(record, rows);
  Cells cells = begin(record, rows);
  rows.field("").raw().reserve(rows.bytes().size() + record.text.size() + 256);
  const size_t first = rows.bytes().size();
  Masked masked = append_masked(record, rows.raw());
  rows.close_field(first);
  if (mask_.labels) {
    find_indices(masked);
    std::string labels;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (masked.indices[i] == kNowhere) continue;
      fmt::format_to(std::back_inserter(labels), "{}{}:{}", labels.empty() ? "" : " ",
                     masked.indices[i], tokenizer_.token(chosen_[i].original));
    }
    cells.text("labels", labels);
  }
  end(record, rows);
}

void MlmMaskWorker::write_shown(const Record& record, Rows& rows) const {
  for (const MaskedToken& token : chosen_) {
    write(record,
          ShownRow{token.position, tokenizer_.token(token.original),
                   tokenizer_.token(token.corrupted), mask_kind_name(token.kind)},
          rows);
  }
}

void MlmMaskWorker::write_json(const Record& record, const Masked& masked, Rows& rows) const {
  begin(record, rows, Repeats::text).text("masked", masked.text);
  JsonRow json(rows.raw());
  json.list("labels");
  for (size_t i = 0; i < chosen_.size(); ++i) {
    if (masked.indices[i] == kNowhere) continue;
    const MaskedToken& token = chosen_[i];
    const Offset& bytes = text_.encoding.offsets[token.position];
    json.object().count("index", masked.indices[i]);
    json.text("token", tokenizer_.token(token.original)).count("id", token.original);
    json.text("kind", mask_kind_name(token.kind));
    json.text("corrupted", tokenizer_.token(token.corrupted));
    json.count("corrupted_id", token.corrupted);
    json.count("start", bytes.begin).count("end", bytes.end).end_object();
  }
  json.end_list();
  end(record, rows);
}

}  // namespace bert
