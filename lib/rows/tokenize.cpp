#include "rows/tokenize.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "io/json.h"

namespace bert {
namespace {

struct OffsetRow {
  size_t index = 0, start = 0, end = 0;
  int32_t id = 0;
  std::string_view token = {};
  void cells(Cells& c) const {
    c.count("index", index).count("start", start).count("end", end).count("id", id);
    c.text("token", token);
  }
};

struct CountRow {
  size_t count = 0;
  void cells(Cells& c) const { c.count("count", count); }
};

struct DecodedRow {
  std::string_view text = {};
  void cells(Cells& c) const { c.text(c.members() ? "decoded" : "text", text); }
};

}  // namespace

std::vector<std::string> TokenizeOptions::columns() const {
  switch (output) {
    case TokenizeOutput::tokens:
      return {"tokens"};
    case TokenizeOutput::ids:
      return {"ids"};
    case TokenizeOutput::offsets:
      return names_of<OffsetRow>();
    case TokenizeOutput::count:
      return names_of<CountRow>();
    case TokenizeOutput::decoded:
      return names_of<DecodedRow>();
    case TokenizeOutput::none:
      break;
  }
  return {"name", "value"};  // of the totals
}

std::string TokenizeTotals::report() const {
  const auto ratio = [](uint64_t a, uint64_t b) {
    return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  };
  return fmt::format(
      "records\t{}\nbytes\t{}\nwords\t{}\ntokens\t{}\ntokens_per_word\t{:.6g}\nunknown\t{}\n"
      "unknown_rate\t{:.6g}\n",
      records.load(), bytes.load(), words.load(), tokens.load(), ratio(tokens, words),
      unknown.load(), ratio(unknown, tokens));
}

size_t TokenizeWorker::CharCounter::before(size_t byte) {
  const auto begins_char = [&](size_t i) { return (text_[i] & 0xC0) != 0x80; };
  for (; byte_ < byte; ++byte_) chars_ += begins_char(byte_) ? 1 : 0;
  for (; byte_ > byte; --byte_) chars_ -= begins_char(byte_ - 1) ? 1 : 0;
  return chars_;
}

void TokenizeWorker::run(std::span<const Record> records, Rows& rows) {
  const bool plain = !options_.encode.add_special_tokens && options_.encode.max_length == 0 &&
                     !tokenize_.pair && !options_.json;
  for (const Record& record : records) {
    if (tokenize_.output == TokenizeOutput::decoded) {
      decode(record, rows);
    } else if (plain) {
      stream(record, rows);
    } else {
      whole(record, rows);
    }
  }
}

std::string_view TokenizeWorker::spelling(const Record& record, int32_t id, Offset offset) const {
  if (!tokenize_.as_written) return tokenizer_.token(id);
  return std::string_view(record.text).substr(offset.begin, offset.end - offset.begin);
}

/// Their texts, a blank after each.
void TokenizeWorker::append_tokens(const Record& record, std::span<const Piece> pieces,
                                   std::string& out) const {
  if (!tokenize_.as_written) return tokenizer_.append_tokens(pieces, out);
  for (const Piece& piece : pieces) {
    out.append(spelling(record, piece.id, piece.offset)).push_back(' ');
  }
}

/// Their ids, a blank after each.
void TokenizeWorker::append_ids(std::span<const Piece> pieces, std::string& out) {
  for (const Piece& piece : pieces) {
    const fmt::format_int digits(piece.id);
    out.append(digits.data(), digits.size()).push_back(' ');
  }
}

void TokenizeWorker::stream(const Record& record, Rows& rows) {
  const TokenizeOutput output = tokenize_.output;
  const bool list = output == TokenizeOutput::tokens || output == TokenizeOutput::ids;
  if (list) {
    begin(record, rows);
    rows.field("");
  }
  const size_t first = rows.bytes().size();
  CharCounter counter(record.text);
  CharCounter* chars = options_.chars ? &counter : nullptr;
  uint64_t tokens = 0;
  uint64_t unknown = 0;
  uint64_t words = 0;
  Encoding found;  // what note() asks for
  found.replaced_bytes = tokenizer_.for_each_piece(
      record.text, options_.encode.literal, scratch_, [&](std::span<const Piece> pieces) {
        if (output == TokenizeOutput::tokens) {
          append_tokens(record, pieces, rows.raw());
        } else if (output == TokenizeOutput::ids) {
          append_ids(pieces, rows.raw());
        } else if (output == TokenizeOutput::offsets) {
          size_t index = tokens + tokenizer_.frame().before.size();
          for (const Piece& piece : pieces) {
            write_offset(record, index++, piece.id, piece.offset, chars, rows);
          }
        }
        tokens += pieces.size();
        words = static_cast<uint64_t>(pieces.back().word) + 1;
        unknown += static_cast<uint64_t>(
            std::count_if(pieces.begin(), pieces.end(),
                          [&](const Piece& piece) { return piece.id == tokenizer_.unk_id(); }));
        return true;
      });
  note(record, found);
  note_unknown(record, unknown, tokens);
  if (list) end_list(record, first, rows);
  if (output == TokenizeOutput::count) write(record, CountRow{tokens}, rows);
  add_to_totals(record, words, tokens, unknown);
}

/// Ends a row whose list begins at byte `first`.
void TokenizeWorker::end_list(const Record& record, size_t first, Rows& rows) const {
  if (rows.bytes().size() > first) rows.raw().pop_back();  // the last blank
  rows.close_field(first);
  end(record, rows);
}

/// The way of what needs all tokens at once: a frame, a pair, a limit, JSON.
void TokenizeWorker::whole(const Record& record, Rows& rows) {
  clear_texts();
  try {
    read(record, tokenize_.pair, 0);
  } catch (
      const Error& error) {  // only_first or only_second, and this text is too short to give way
    if (error.kind() != Error::Kind::usage) throw;
    record.fail(Error::Kind::data, error.what());
  }
  uint64_t tokens = 0;
  uint64_t unknown = 0;
  uint64_t words = 0;
  for (const Encoding& encoding : sequences_.encodings()) {
    write_encoding(record, encoding, rows);
    for (size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.is_added(i)) continue;
      const bool same_word =
          i > 0 && !encoding.is_added(i - 1) && encoding.word_ids[i] == encoding.word_ids[i - 1];
      words += same_word ? 0 : 1;
      unknown += encoding.input_ids[i] == tokenizer_.unk_id() ? 1 : 0;
      ++tokens;
    }
  }
  add_to_totals(record, words, tokens, unknown);
}

void TokenizeWorker::add_to_totals(const Record& record, uint64_t words, uint64_t tokens,
                                   uint64_t unknown) {
  if (totals_ == nullptr) return;
  once(record, [&] {
    totals_->records += 1;
    totals_->bytes += record.text.size() + record.text_pair.size();
    totals_->words += words;
    totals_->tokens += tokens;
    totals_->unknown += unknown;
  });
}

void TokenizeWorker::write_offset(const Record& record, size_t index, int32_t id, Offset offset,
                                  CharCounter* chars, Rows& rows) {
  const size_t begin = chars != nullptr ? chars->before(offset.begin) : offset.begin;
  const size_t end = chars != nullptr ? chars->before(offset.end) : offset.end;
  write(record, OffsetRow{index, begin, end, id, spelling(record, id, offset)}, rows);
}

void TokenizeWorker::write_encoding(const Record& record, const Encoding& encoding, Rows& rows) {
  const TokenizeOutput output = tokenize_.output;
  if (options_.json) return write_json(record, encoding, rows);
  if (output == TokenizeOutput::count) return write(record, CountRow{encoding.size()}, rows);
  if (output == TokenizeOutput::tokens || output == TokenizeOutput::ids) {
    return write_list(record, encoding, rows);
  }
  if (output != TokenizeOutput::offsets) return;
  CharCounter first(record.text);
  CharCounter second(record.text_pair);
  for (size_t i = 0; i < encoding.size(); ++i) {
    CharCounter* chars = &(encoding.sequence_ids[i] == 1 ? second : first);
    write_offset(record, encoding.index(i), encoding.input_ids[i], encoding.offsets[i],
                 options_.chars ? chars : nullptr, rows);
  }
}

void TokenizeWorker::write_list(const Record& record, const Encoding& encoding, Rows& rows) const {
  begin(record, rows);
  rows.field("");
  const size_t first = rows.bytes().size();
  for (size_t i = 0; i < encoding.size(); ++i) {
    const int32_t id = encoding.input_ids[i];
    if (i > 0) rows.raw().push_back(' ');
    if (tokenize_.output == TokenizeOutput::ids) {
      const fmt::format_int digits(id);
      rows.raw().append(digits.data(), digits.size());
    } else {
      rows.raw().append(spelling(record, id, encoding.offsets[i]));
    }
  }
  rows.close_field(first);
  end(record, rows);
}

void TokenizeWorker::write_json(const Record& record, const Encoding& encoding, Rows& rows) {
  begin(record, rows, tokenize_.pair ? Repeats::pair : Repeats::text);
  JsonRow json(rows.raw());
  const auto list = [&](std::string_view name, auto add) {
    json.list(name);
    for (size_t i = 0; i < encoding.size(); ++i) add(i);
    json.end_list();
  };
  list("tokens", [&](size_t i) {
    json.text("", spelling(record, encoding.input_ids[i], encoding.offsets[i]));
  });
  list("ids", [&](size_t i) { json.count("", encoding.input_ids[i]); });
  list("type_ids", [&](size_t i) { json.count("", encoding.token_type_ids[i]); });
  list("special", [&](size_t i) { json.raw("", encoding.is_added(i) ? "1" : "0"); });
  list("words", [&](size_t i) {
    const int32_t word = encoding.word_ids[i];
    word < 0 ? json.null("") : json.count("", word);
  });
  CharCounter first(record.text);
  CharCounter second(record.text_pair);
  list("offsets", [&](size_t i) {
    size_t begin = encoding.offsets[i].begin;
    size_t end = encoding.offsets[i].end;
    if (options_.chars) {
      CharCounter& chars = encoding.sequence_ids[i] == 1 ? second : first;
      begin = chars.before(begin);
      end = chars.before(end);
    }
    json.list().count("", begin).count("", end).end_list();
  });
  json.flag("cut", encoding.dropped > 0);
  end(record, rows);
}

/// The record holds ids separated by blanks.
void TokenizeWorker::decode(const Record& record, Rows& rows) {
  ids_.clear();
  const std::string_view text = record.text;
  constexpr std::string_view kBlanks = " \t,";
  for (size_t i = text.find_first_not_of(kBlanks); i != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, i), text.size());
    const auto id = to_number<int32_t>(text.substr(i, end - i));
    if (!id || *id < 0 || static_cast<size_t>(*id) >= tokenizer_.vocab_size()) {
      record.fail(Error::Kind::data,
                  fmt::format("found '{}', wants a token id from 0 to {}",
                              printable(text.substr(i, end - i)), tokenizer_.vocab_size() - 1));
    }
    ids_.push_back(*id);
    i = text.find_first_not_of(kBlanks, end);
  }
  const std::string decoded = tokenizer_.decode(ids_, !options_.encode.add_special_tokens);
  write(record, DecodedRow{decoded}, rows, Repeats::text);
}

}  // namespace bert
