#include "tokenizer/files/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "directory/file_names.h"
#include "tokenizer/files/tokenizer_draft.h"

namespace bert {
namespace {

[[noreturn]] void no_token(const std::string& where, const std::string& name) {
  throw Error(Error::Kind::data, where, fmt::format("has no token {}", printable(name)));
}

/// Whether a special token that the vocabulary has is an added token because of its name alone.
bool adds_name(const TokenizerFacts& facts, const EngineParts& engine, Special name) {
  if (facts.alone()) return false;
  const bool composed = std::holds_alternative<TokenizerParts>(engine);
  const bool all = composed ? !facts.bare && facts.row().own_tokens
                            : std::holds_alternative<WordPieceOptions>(engine);
  return all || facts.said[name].has_value();
}

/// The wanted tokens, and behind them those that have a name.
std::vector<WantedToken> with_names(const TokenizerDraft& draft, const TokenizerFacts& facts) {
  const TokenizerParts* parts = draft.files.parts();
  const bool needs_unk = !parts || parts->model.kind == SubwordPart::Kind::wordpiece;
  std::vector<WantedToken> tokens = draft.wanted;
  std::vector<Special> named(std::begin(kNamedTokens), std::end(kNamedTokens));
  if (facts.named && (facts.named->rebuild || facts.named->languages)) {
    named.insert(named.end(), {Special::bos, Special::eos});
  }
  for (const Special s : named) {
    const std::string& name = draft.files.names[s];
    const auto is_it = [&](const WantedToken& w) { return w.token.content == name; };
    const bool known = draft.files.vocab.find(name) >= 0 ||
                       (!name.empty() && std::any_of(tokens.begin(), tokens.end(), is_it));
    if (!known && s == Special::unk && needs_unk) no_token(draft.source, name);
    if (!known || !adds_name(facts, draft.files.engine, s)) continue;
    AddedToken token;
    token.content = name;
    token.special = true;
    token.normalized = false;
    token.lstrip = draft.mask_lstrip && s == Special::mask;
    tokens.push_back({std::move(token), std::nullopt, draft.source});
  }
  return tokens;
}

/// Added tokens with their ids: those that the vocabulary does not have get the next ones. Of equal
/// ones the first counts, but each may say that it is special.
std::vector<AddedToken> number(std::vector<WantedToken> wanted, Vocab& vocab,
                               std::vector<std::string>& warnings) {
  std::vector<AddedToken> tokens;
  std::unordered_map<std::string, size_t> index;
  for (auto& [token, id, where] : wanted) {
    if (token.content.empty()) continue;
    const auto [known, is_new] = index.try_emplace(token.content, tokens.size());
    if (!is_new) {
      tokens[known->second].special |= token.special;
      continue;
    }
    token.id = vocab.find(token.content);
    if (token.id < 0) {
      token.id = static_cast<int32_t>(vocab.size());
      vocab.add(token.content);
    }
    if (id && *id != token.id) {
      warnings.push_back(fmt::format("{}: the token {} is said to have the id {} but has {}", where,
                                     printable(token.content), *id, token.id));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Frames number(Frames frames, const Vocab& vocab, const std::string& where) {
  frames.for_each([&](FrameToken& token) {
    const int32_t id = vocab.find(token.token);
    if (id < 0) no_token(where, token.token);
    if (token.id >= 0 && token.id != id) {
      throw Error(Error::Kind::unsupported, where,
                  fmt::format("post_processor gives {} the id {}, the vocabulary {}",
                              printable(token.token), token.id, id));
    }
    token.id = id;
  });
  return frames;
}

/// How lower-casing contradicts the vocabulary; "": it does not. Capitals in pieces tell what the
/// vocabulary was made for; special tokens are always in capitals.
std::string case_fault(const Vocab& vocab, bool lowercase) {
  size_t capitals = 0, letters = 0;
  for (size_t id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.text(static_cast<int32_t>(id));
    if (token.starts_with('[') && token.ends_with(']')) continue;
    const auto has = [&](char from, char to) {
      return std::any_of(token.begin(), token.end(), [=](char c) { return c >= from && c <= to; });
    };
    const bool capital = has('A', 'Z');
    capitals += capital;
    letters += capital || has('a', 'z');
  }
  // A few pieces of an uncased vocabulary may have capitals by chance.
  const bool fault = lowercase ? capitals * 10 > letters : capitals * 100 <= letters;
  if (letters == 0 || !fault) return {};
  return lowercase ? fmt::format(
                         "text is lower-cased, but {} pieces of the vocabulary have capitals and "
                         "are never used; is do_lower_case meant to be false?",
                         capitals)
                   : "text keeps its capitals, but the vocabulary has none: words with capitals "
                     "become [UNK]; is do_lower_case meant to be true?";
}

/// Whether a token looks as LanguageRules::like says.
bool looks_like(std::string_view token, std::string_view like) {
  const auto kind = [](char c) {
    return c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : c >= '0' && c <= '9' ? '0' : c;
  };
  return std::equal(token.begin(), token.end(), like.begin(), like.end(),
                    [&](char a, char b) { return kind(a) == kind(b); });
}

/// The languages that the vocabulary has tokens of.
Languages find_languages(const TokenizerFacts& facts, const TokenizerFiles& files) {
  Languages found;
  const TokenizerClass* row = language_class(facts);
  if (!row) return found;
  const LanguageRules& rules = *row->languages;
  found.behind = facts.flags.legacy_behaviour.value_or(rules.behind);
  for (const std::string& name : language_names(rules, facts.language_codes)) {
    const int32_t id = files.vocab.find(language_token(rules, name));
    if (id >= 0) found.list.push_back({name, id});
  }
  for (const AddedToken& token : files.added_tokens) {
    const bool is = token.special && !rules.like.empty() && looks_like(token.content, rules.like);
    if (is && !found.find(token.content)) found.list.push_back({token.content, token.id});
  }
  std::sort(found.list.begin(), found.list.end(),
            [](const Language& a, const Language& b) { return a.id < b.id; });
  const auto id_of = [&](const std::string& name) {
    const Language* language = name.empty() ? nullptr : found.find(name);
    if (language || name.empty() || found.list.empty()) return language ? language->id : -1;
    throw Error(Error::Kind::data, facts.path(file_names::kTokenizerConfig),
                fmt::format("the language {} has no token", printable(name)));
  };
  const bool said = !facts.source_language.empty();
  found.source = id_of(said ? facts.source_language : std::string(rules.source));
  found.target = id_of(facts.target_language);
  return found;
}

/// Gives the tokens of a draft their ids.
TokenizerFiles assemble(TokenizerDraft draft, const TokenizerFacts& facts) {
  std::vector<WantedToken> wanted = with_names(draft, facts);
  TokenizerFiles files = std::move(draft.files);
  files.added_tokens = number(std::move(wanted), files.vocab, files.warnings);
  files.unk_id = files.vocab.find(files.names[Special::unk]);
  files.frames = number(std::move(files.frames), files.vocab, draft.source);
  files.languages = find_languages(facts, files);
  if (const auto* options = std::get_if<WordPieceOptions>(&files.engine)) {
    files.case_fault = case_fault(files.vocab, options->normalizer.lowercase);
    if (!files.case_fault.empty()) {
      files.warnings.push_back(facts.directory.path() + ": " + files.case_fault);
    }
  }
  return files;
}

}  // namespace

TokenizerFiles read_tokenizer_files(const ModelDirectory& directory, TokenizerSide side) {
  const TokenizerFacts facts = read_tokenizer_facts(directory, side);
  return assemble(draft_tokenizer(facts), facts);
}

}  // namespace bert
