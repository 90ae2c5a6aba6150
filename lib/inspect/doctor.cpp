#include "inspect/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/stored_turns.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/pair_template.h"
#include "directory/readers.h"
#include "directory/router.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "heads/classification.h"
#include "heads/entity_head.h"
#include "heads/masked_lm.h"
#include "heads/question_answering.h"
#include "heads/token_classification.h"
#include "inspect/bert_info.h"
#include "inspect/findings.h"
#include "inspect/pooling_words.h"
#include "inspect/seq2seq_doctor.h"
#include "inspect/static_info.h"
#include "inspect/token_layers.h"
#include "inspect/unread.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "model/names.h"
#include "model/schema.h"
#include "seq2seq/reading_decoder.h"
#include "tokenizer/tokenizer.h"

namespace bert {
namespace {

/// What a directory holds. A config.json with a fault is told by the checks of an encoder.
ModelDirectory::Kind kind_or_encoder(const ModelDirectory& directory) {
  try {
    return directory.kind();
  } catch (const Error& error) {
    if (!error.of_content()) throw;
    return ModelDirectory::Kind::encoder;
  }
}

/// Checks one directory and writes what it finds. If a check fails, the others run without what it
/// would have given them.
class Doctor : Findings {
 public:
  Doctor(const ModelDirectory& directory, Rows& rows, std::string_view name)
      : Findings(rows, name), directory_(directory) {}

  size_t run() {
    look("config", [&] { look_at_config(); });
    look("weights", [&] { look_at_weights(); });
    look("vocabulary", [&] { look_at_vocabulary_file(); });
    look("tokenizer", [&] { look_at_tokenizer(); });
    look("pooling", [&] { look_at_modules(); });
    return errors();
  }

 private:
  void look_at_config();
  void look_at_architectures();
  void look_at_labels();
  void look_at_unread();
  void look_at_weights();
  void look_at_heads();
  void look_at_named_heads();
  bool opens(const std::string& head, std::optional<HeadKind> kind = {});
  void look_at_outputs(const HeadConfig& head, const std::string& prefix);
  void look_at_vocabulary_file();
  void look_at_tokenizer();
  void look_at_case(const Tokenizer& tokenizer);
  void look_at_rows(const Tokenizer& tokenizer);
  void look_at_length(const Tokenizer& tokenizer);
  void look_at_modules();

  const ModelDirectory& directory_;
  bool trunk_opens_ = false;  ///< else no head would, for the same reason
  std::optional<Config> config_;
  std::optional<Weights> weights_;
  std::optional<bool> lowercases_;  ///< the tokenizer
};

void Doctor::look_at_config() {
  config_ = directory_.config();
  say("ok", "config",
      fmt::format("{} of {} layers, {} wide{}", config_->family->model_type,
                  config_->num_hidden_layers, config_->hidden_size,
                  directory_.gliner() ? ", in a GLiNER model" : ""));
  if (directory_.adapter()) say("ok", "adapter", directory_.adapter()->summary());
  look_at_architectures();
  look_at_labels();
}

void Doctor::look_at_architectures() {
  for (const std::string& name : unknown_classes(directory_, *config_)) {
    say("warning", "config",
        fmt::format("{} is an architecture that no tool knows: what it has beside the encoder is "
                    "not computed",
                    printable(name)));
  }
}

void Doctor::look_at_unread() {
  const std::vector<std::string> unread = unread_tensors(directory_, *config_, *weights_);
  if (unread.empty()) return;
  std::string examples;
  for (size_t i = 0; i < std::min<size_t>(unread.size(), 3); ++i) {
    examples += (i > 0 ? ", " : "") + printable(unread[i]);
  }
  say("warning", "weights",
      fmt::format("{} tensors that no tool reads: {}{}", unread.size(), examples,
                  unread.size() > 3 ? " .." : ""));
}

void Doctor::look_at_labels() {
  const std::string architecture = config_->architectures.empty() ? "" : config_->architectures[0];
  if (architecture.find("Classification") == std::string::npos) return;
  const bool generic =
      std::all_of(config_->labels.begin(), config_->labels.end(),
                  [](const std::string& label) { return label.starts_with("LABEL_"); });
  if (generic) {
    say("warning", "labels",
        fmt::format("{} labels without names; id2label of config.json names them",
                    config_->labels.size()));
  } else {
    say("ok", "labels", printable(fmt::format("{}", fmt::join(config_->labels, " ")), 200));
  }
  const auto map = directory_.document(file_names::kConfig).root().find("label2id");
  if (!map || !map->is_object()) return;
  map->for_each_member([&](std::string_view label, Json value) {
    const auto id = value.try_int();
    if (id && *id >= 0 && static_cast<size_t>(*id) < config_->labels.size() &&
        config_->labels[static_cast<size_t>(*id)] == label) {
      return;
    }
    say("warning", "labels",
        fmt::format("label2id has \"{}\": {}, and id2label another name", printable(label),
                    value.describe()));
  });
}

void Doctor::look_at_weights() {
  if (!config_) return;
  weights_ = open_weights(directory_, *config_);
  for (const TensorSpec& tensor : encoder_tensors(*config_)) {
    if (!tensor.required && !weights_->find(tensor.name)) continue;
    try {
      weights_->require(tensor);
    } catch (const Error& error) {
      say("error", "weights", error.what());
    }
  }
  try {
    take_stored_turns(*config_, *weights_);
  } catch (const Error& error) {
    say("error", "weights", error.what());
  }
  const auto non_finite = weights_->non_finite();
  for (const NonFinite& tensor : non_finite) say("error", "weights", tensor.text());
  if (errors() == 0) {
    say("ok", "weights",
        fmt::format("{} tensors in {}", weights_->tensors().size(), weights_->path()));
  }
  look_at_unread();
  look_at_heads();
}

void Doctor::look_at_heads() {
  const auto heads = heads_of(*weights_, *config_);
  say("ok", "heads",
      heads.empty() ? "none: " + tools_that_read(directory_, *config_, *weights_)
                    : fmt::format("{}", fmt::join(heads, " ")));
  for (const std::string& architecture : config_->architectures) {
    const Family* family = family_of_class(architecture);
    for (const HeadSpec& promised : head_specs()) {
      const bool pretrain = promised.kind == HeadKind::pretrain;
      if (promised.kind == HeadKind::vectors || promised.class_suffix.empty() ||
          !architecture.ends_with(promised.class_suffix) ||
          (pretrain && family && family->discriminator)) {
        continue;
      }
      const HeadSpec& head = pretrain ? head_spec(HeadKind::masked_lm) : promised;
      if (std::find(heads.begin(), heads.end(), head.info) == heads.end()) {
        say("warning", "heads",
            fmt::format("config.json says {}, but there is no {} head", printable(architecture),
                        head.info));
      }
    }
  }
  look_at_outputs(*config_, "");
  trunk_opens_ = errors() == 0 && opens("");
  for (const HeadSpec& head : head_specs()) {
    if (head.tools.empty() || !trunk_opens_) continue;
    if (has_plain_head(*config_, *weights_, head.kind)) opens("", head.kind);
  }
  look_at_named_heads();
}

/// Opens the model and a head, "" is the plain one, as the tools do, which ask for every tensor of
/// it.
bool Doctor::opens(const std::string& head, std::optional<HeadKind> kind) {
  try {
    Model model = Model::open(directory_, {}, {head, head.empty() ? std::nullopt : kind});
    if (kind == HeadKind::classify && model.config().text_input == TextInput::last_end) {
      model.read_with(open_reading_decoder(directory_, {}));
    }
    if (kind == HeadKind::masked_lm) MaskedLM::open(model);
    if (kind == HeadKind::next_sentence) Classifier::open_next_sentence(model);
    if (kind == HeadKind::classify) Classifier::open(model);
    if (kind == HeadKind::tokens) TokenClassifier::open(model);
    if (kind == HeadKind::spans) QuestionAnswering::open(model);
    if (kind == HeadKind::open_entities) EntityHead::open(model);
    return true;
  } catch (const Error& error) {
    say("error", head.empty() ? "heads" : "head " + head, error.what());
    return false;
  }
}

void Doctor::look_at_outputs(const HeadConfig& head, const std::string& prefix) {
  for (const Role role : {Role::classifier, Role::classifier_output, Role::pooling_classifier,
                          Role::bilstm_classifier}) {
    const TensorView* tensor = weights_->find(prefix + tensor_name(role));
    if (tensor && tensor->shape.size() == 2 && tensor->shape[0] != head.labels.size()) {
      say("error", "labels",
          fmt::format("{} labels in config.json, but {} outputs of {}", head.labels.size(),
                      tensor->shape[0], printable(tensor->name)));
    }
  }
}

void Doctor::look_at_named_heads() {
  std::map<std::string, size_t, std::less<>> counts;  // tensors of each head in the file
  for (const TensorView* tensor : weights_->tensors()) {
    const std::string_view head = head_name(tensor->name);
    if (!head.empty()) ++counts[std::string(head)];
  }
  for (const NamedHead& head : config_->heads) {
    const HeadSpec* spec = head_of_task(head.task);
    const auto kind = spec ? std::optional(spec->kind) : std::nullopt;
    const size_t count = counts[head.name];
    if (count == 0) {
      say("error", "head " + head.name, "config.json names it, but it has no tensors");
    } else if (!trunk_opens_ || opens(head.name, kind)) {
      say("ok", "head " + head.name, fmt::format("{}, {} tensors", printable(head.task), count));
    }
    look_at_outputs(head, prefix_of_head(head.name));
    counts.erase(head.name);
  }
  for (const auto& [name, count] : counts) {
    say("warning", "heads",
        fmt::format("{} tensors of a head '{}' that config.json does not name", count,
                    printable(name)));
  }
}

/// What a line of vocab.txt must not be.
void Doctor::look_at_vocabulary_file() {
  if (!directory_.has(file_names::kVocabTxt)) return;
  const MappedFile file = MappedFile::open(directory_.file(file_names::kVocabTxt), 256u << 20);
  std::string_view text = file.text();
  if (text.starts_with("\xEF\xBB\xBF")) {
    say("warning", "vocabulary",
        "vocab.txt begins with a byte order mark, which other readers take as a token");
    text.remove_prefix(3);
  }
  std::unordered_map<std::string_view, size_t> first;
  size_t line = 0, returns = 0, blank = 0, repeated = 0;
  std::string example;
  for (; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view token = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    returns += token.ends_with('\r');
    if (token.ends_with('\r')) token.remove_suffix(1);
    blank += token.empty();
    const auto [entry, is_new] = first.try_emplace(token, line);
    if (is_new) continue;
    if (repeated++ == 0) {
      example =
          fmt::format("\"{}\" in lines {} and {}", printable(token), entry->second + 1, line + 1);
    }
  }
  if (returns > 0) {
    say("warning", "vocabulary",
        fmt::format("{} of {} lines of vocab.txt end with CR LF", returns, line));
  }
  if (blank > 0) say("warning", "vocabulary", fmt::format("{} blank lines in vocab.txt", blank));
  if (repeated > 0) {
    say("warning", "vocabulary",
        fmt::format("{} tokens stand twice in vocab.txt, {}; the last one counts", repeated,
                    example));
  }
}

void Doctor::look_at_tokenizer() {
  const Tokenizer tokenizer = Tokenizer::open(directory_);
  for (const std::string& warning : tokenizer.warnings()) say("warning", "tokenizer", warning);
  look_at_rows(tokenizer);
  look_at_case(tokenizer);
  lowercases_ = tokenizer.lowercase();
  if (tokenizer.mask_id() < 0)
    say("warning", "vocabulary", "no mask token: mlm-fill will not work");
  if (config_) look_at_length(tokenizer);
}

void Doctor::look_at_rows(const Tokenizer& tokenizer) {
  size_t missing = 0;
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    missing += tokenizer.token(static_cast<int32_t>(id)).empty();
  }
  if (missing > 0) say("warning", "vocabulary", fmt::format("{} ids have no token", missing));
  if (!config_) return;
  const size_t tokens = tokenizer.vocab_size(), rows = config_->vocab_size;
  if (tokens > rows) {
    say("error", "vocabulary",
        fmt::format("{} tokens, but the embeddings have {} rows", tokens, rows));
  } else if (tokens < rows) {
    say("warning", "vocabulary",
        fmt::format("{} tokens for {} rows of embeddings; {} rows are never used", tokens, rows,
                    rows - tokens));
  } else {
    say("ok", "vocabulary", fmt::format("{} tokens, as many as rows of embeddings", tokens));
  }
}

void Doctor::look_at_case(const Tokenizer& tokenizer) {
  if (!tokenizer.case_fault().empty()) return;  // one of the tokenizer's warnings
  say("ok", "case",
      tokenizer.lowercase() ? "lower-cased, as the vocabulary" : "cased, as the vocabulary");
}

void Doctor::look_at_length(const Tokenizer& tokenizer) {
  const size_t positions = config_->max_tokens();
  const auto length = tokenizer.model_max_length();
  if (config_->any_length) {
    say("ok", "length",
        length ? fmt::format("at most {} tokens, which the tokenizer sets", *length)
               : "the tokenizer sets no limit, and the model has none");
  } else if (!length) {
    say("ok", "length",
        fmt::format("the tokenizer sets no limit, the model has {} positions", positions));
  } else if (*length > positions) {
    say("warning", "length",
        fmt::format("model_max_length {} is more than the {} positions of the model; {} holds",
                    *length, positions, positions));
  } else {
    say("ok", "length", fmt::format("at most {} tokens, {} positions", *length, positions));
  }
}

void Doctor::look_at_modules() {
  const SentenceModules modules = SentenceModules::open(directory_);
  if (const Router* router = directory_.router()) {
    say("ok", "routes",
        fmt::format("{}; this is {}", fmt::join(router->names(), " "), directory_.path()));
  }
  const PoolingWords words = pooling_words(modules, config_);
  say(words.level, "pooling", words.text);
  if (config_)
    for (const std::string& line : token_layers(directory_, *config_)) say("ok", "layers", line);
  if (lowercases_) look("case", [&] { modules.check_case(*lowercases_); });
  if (modules.logit_score) look("template", [&] { PairTemplate::open(directory_); });
  look("length", [&] { modules.check_length(2); });
  if (!config_) return;
  const TransformerSettings& settings = modules.settings;
  if (settings.max_length.value_or(0) > config_->max_tokens()) {
    say("warning", "length",
        fmt::format("{} {} is more than the {} positions of the model", settings.max_length_key,
                    *settings.max_length, config_->max_tokens()));
  }
  if (modules.of_tokens || !modules.pooling_modes.empty())
    modules.check_widths(config_->hidden_size);
}

}  // namespace

size_t check_model(const ModelDirectory& directory, Rows& rows, std::string_view name) {
  const ModelDirectory::Kind kind = kind_or_encoder(directory);
  if (kind == ModelDirectory::Kind::static_vectors) {
    return check_static_model(directory, *directory.static_files(), rows, name);
  }
  if (kind != ModelDirectory::Kind::encoder) return check_seq2seq_model(directory, rows, name);
  return Doctor(directory, rows, name).run();
}

}  // namespace bert
