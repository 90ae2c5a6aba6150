#include "directory/checkpoint.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/pickle.h"
#include "directory/find_model.h"
#include "directory/model_directory.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "model/config.h"
#include "model/head_tensors.h"
#include "model/names.h"
#include "model/schema.h"
#include "temporary.h"

using namespace bert;
namespace fs = std::filesystem;

namespace {

std::string golden(const std::string& name) { return BERT_TESTS_DIR "/golden/" + name; }

std::string config_error(const std::string& json, Error::Kind wanted = Error::Kind::unsupported) {
  try {
    Config::parse(json, "f");
  } catch (const Error& error) {
    CHECK(error.kind() == wanted);
    return error.what();
  }
  return "";
}

uint64_t total(const std::string& json) {
  return count_parameters(encoder_tensors(Config::parse(json, "f")));
}

/// Sets an environment variable and puts the old value back.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    had_ = std::getenv(name) != nullptr;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_;
};

using test::TemporaryDirectory;

}  // namespace

TEST_CASE("Config: the reference's defaults for keys that are absent") {
  const Config bert = Config::parse(R"({"model_type":"bert"})", "f");
  CHECK(bert.vocab_size == 30522);
  CHECK(bert.hidden_size == 768);
  CHECK(bert.num_hidden_layers == 12);
  CHECK(bert.intermediate_size == 3072);
  CHECK(bert.type_vocab_size == 2);
  CHECK(bert.layer_norm_eps == 1e-12f);
  CHECK(bert.head_size() == 64);
  CHECK(bert.labels == std::vector<std::string>{"LABEL_0", "LABEL_1"});
  CHECK_FALSE(bert.labels_named);
  const Config distil = Config::parse(R"({"model_type":"distilbert"})", "f");
  CHECK(distil.num_hidden_layers == 6);
  CHECK(distil.type_vocab_size == 0);
  CHECK(distil.family->text_head_act == Activation::relu);
  const Config electra = Config::parse(R"({"model_type":"electra"})", "f");
  CHECK(electra.hidden_size == 256);
  CHECK(electra.embedding_size == 128);
  CHECK(electra.num_attention_heads == 4);
}

TEST_CASE("Config: DistilBERT's names, labels in id order, activations") {
  const Config config = Config::parse(
      R"({"model_type":"distilbert","dim":12,"n_layers":3,"n_heads":4,"hidden_dim":20,"activation":"gelu_new",
          "id2label":{"1":"yes","0":"no","2":"maybe"}})",
      "f");
  CHECK(config.hidden_size == 12);
  CHECK(config.num_hidden_layers == 3);
  CHECK(config.intermediate_size == 20);
  CHECK(config.hidden_act == Activation::gelu_tanh);
  CHECK(config.labels == std::vector<std::string>{"no", "yes", "maybe"});
  CHECK(config.labels_named);
  const std::pair<std::string, Activation> kNames[] = {{"gelu", Activation::gelu},
                                                       {"gelu_python", Activation::gelu},
                                                       {"gelu_fast", Activation::gelu_tanh},
                                                       {"quick_gelu", Activation::gelu_quick},
                                                       {"relu", Activation::relu},
                                                       {"swish", Activation::silu},
                                                       {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                       {"tanh", Activation::tanh}};
  for (const auto& [name, activation] : kNames) {
    CHECK(Config::parse(R"({"model_type":"bert","hidden_act":")" + name + "\"}", "f").hidden_act ==
          activation);
  }
}

TEST_CASE("Config: an old file without model_type") {
  CHECK(Config::parse(R"({"architectures":["DistilBertModel"]})", "f").family->model_type ==
        "distilbert");
  CHECK(Config::parse(R"({"hidden_size":8,"num_attention_heads":2})", "f").family->model_type ==
        "bert");
  CHECK(config_error("{}").find("no model_type") != std::string::npos);
}

TEST_CASE("Config: what is refused names key, value and rule") {
  CHECK(
      config_error(R"({"model_type":"gpt2"})") ==
      "f: model_type: \"gpt2\" is not supported, wants bert, distilbert, electra, mpnet, "
      "roberta-prelayernorm, roberta, camembert, xlm-roberta-xl, xlm-roberta, albert, "
      "deberta-v2, deberta, modernbert, nomic_bert, gte, new, data2vec-text, ernie, megatron-bert, "
      "rembert, dpr, mobilebert, roformer, esm, jina_embeddings_v3, eurobert, qwen3, gemma3_text "
      "or ibert");
  CHECK(config_error(
            R"({"model_type":"bert","hidden_size":768,"num_attention_heads":5,"num_hidden_layers":1,
                "intermediate_size":8,"vocab_size":9,"max_position_embeddings":9})") ==
        "f: hidden_size 768, wants a multiple of num_attention_heads 5");
  const std::string missing = R"({"model_type":"distilbert","dim":12,"n_heads":5,"vocab_size":9})";
  CHECK(config_error(missing, Error::Kind::data) ==
        "f: has no max_position_embeddings, n_layers, hidden_dim, wants all sizes of the model");
  const Config bare = Config::parse(R"({"model_type":"bert"})", "f");
  CHECK(bare.missing_sizes.size() == 6);
  CHECK_THROWS_AS(bare.require_sizes(), Error);
  CHECK(config_error(R"({"model_type":"bert","hidden_size":null})") ==
        "f: hidden_size: found null, wants a whole number from 1 to 1048576");
  CHECK(config_error(R"({"model_type":"bert","num_hidden_layers":-1})").find("from 0 to 1000") !=
        std::string::npos);
  CHECK(config_error(R"({"model_type":"bert","layer_norm_eps":1e-120})").find("layer_norm_eps") !=
        std::string::npos);
  CHECK(config_error(R"({"model_type":"bert","id2label":{"0":"a","00":"b"}})") != "");
  CHECK(config_error(R"({"model_type":"bert","is_decoder":true})").find("decoders") !=
        std::string::npos);
  CHECK(config_error(R"({"model_type":"bert",)", Error::Kind::data).find("byte 21") !=
        std::string::npos);
}

TEST_CASE("Parameters: the totals of the published models, from their configs alone") {
  CHECK(total(R"({"model_type":"bert"})") == 109'482'240);
  CHECK(total(R"({"model_type":"bert","vocab_size":21128})") == 102'267'648);
  CHECK(total(R"({"model_type":"bert","vocab_size":28996})") == 108'310'272);
  CHECK(
      total(
          R"({"model_type":"bert","hidden_size":1024,"num_hidden_layers":24,"num_attention_heads":16,
                  "intermediate_size":4096})") == 335'141'888);
  CHECK(total(R"({"model_type":"distilbert"})") == 66'362'880);
  CHECK(total(R"({"model_type":"electra"})") == 13'483'008);
  const std::string roberta = R"("max_position_embeddings":514,"type_vocab_size":1})";
  CHECK(total(R"({"model_type":"roberta",)" + roberta) == 124'645'632);
  CHECK(total(R"({"model_type":"xlm-roberta","vocab_size":250002,)" + roberta) == 278'043'648);
  CHECK(total(R"({"model_type":"camembert","vocab_size":32005,)" + roberta) == 110'621'952);
  CHECK(total(R"({"model_type":"albert","hidden_size":768,"num_attention_heads":12,
                  "intermediate_size":3072})") == 11'683'584);
  CHECK(total(R"({"model_type":"mpnet","max_position_embeddings":514})") == 109'486'464);
  const std::string deberta =
      R"("relative_attention":true,"position_biased_input":false,"pos_att_type":"p2c|c2p",
         "position_buckets":256,"norm_rel_ebd":"layer_norm","share_att_key":true})";
  CHECK(total(R"({"model_type":"deberta-v2","hidden_size":768,"num_hidden_layers":12,
                  "num_attention_heads":12,"intermediate_size":3072,)" +
              deberta) == 183'831'552);
  CHECK(total(R"({"model_type":"deberta-v2","conv_kernel_size":3,)" + deberta) == 884'593'152);
  CHECK(total(R"({"model_type":"modernbert"})") == 149'014'272);
  CHECK(total(R"({"model_type":"nomic_bert"})") == 136'731'648);
  CHECK(total(R"({"model_type":"gte"})") == 305'368'320);
}

TEST_CASE("Parameters: those of a model are in its file, in their shapes") {
  for (const std::string name : {"tiny-bert", "odd", "distilbert-no-prefix", "electra-qa",
                                 "sharded", "pickle", "pickle-old", "gamma-beta"}) {
    CAPTURE(name);
    const Config config = ModelDirectory(golden(name)).config();
    const Weights weights = open_weights(golden(name), config);
    for (const TensorSpec& parameter : encoder_tensors(config)) {
      if (parameter.name.starts_with("pooler.") && !weights.find(parameter.name)) continue;
      CHECK_NOTHROW(weights.require(parameter.name, parameter.shape));
    }
    CHECK(weights.non_finite().empty());
  }
}

TEST_CASE("Names: every spelling is found under BERT's") {
  const NameRules bert{.family = find_family("bert")},
      distil{.family = find_family("distilbert"),
             .companions = {"pre_classifier.weight", "heads.a.pre_classifier.weight"}},
      plain_distil{.family = find_family("distilbert")}, electra{.family = find_family("electra")};
  CHECK(canonical_name("bert.encoder.layer.0.output.LayerNorm.gamma", bert) ==
        "encoder.layer.0.output.LayerNorm.weight");
  CHECK(canonical_name("embeddings.LayerNorm.beta", bert) == "embeddings.LayerNorm.bias");
  CHECK(canonical_name("cls.predictions.bias", bert) == "cls.predictions.bias");
  CHECK(canonical_name("distilbert.transformer.layer.11.attention.q_lin.weight", distil) ==
        "encoder.layer.11.attention.self.query.weight");
  CHECK(canonical_name("transformer.layer.2.output_layer_norm.bias", distil) ==
        "encoder.layer.2.output.LayerNorm.bias");
  CHECK(canonical_name("vocab_projector.bias", distil) == "cls.predictions.bias");
  CHECK(canonical_name("classifier.weight", distil) == "classifier.out_proj.weight");
  CHECK(canonical_name("classifier.weight", plain_distil) == "classifier.weight");
  CHECK(canonical_name("pre_classifier.bias", distil) == "classifier.dense.bias");
  CHECK(canonical_name("electra.embeddings_project.weight", electra) ==
        "embeddings_project.weight");
  CHECK(canonical_name("generator_lm_head.bias", electra) == "cls.predictions.bias");
  CHECK(canonical_name("transformer.layer.", distil) == "transformer.layer.");
  CHECK(canonical_name("heads.a.bert.pooler.dense.weight", bert) == "heads.a.pooler.dense.weight");
  CHECK(canonical_name("heads.a.classifier.bias", distil) == "heads.a.classifier.out_proj.bias");
  CHECK(canonical_name("heads.b.classifier.bias", distil) == "heads.b.classifier.bias");
  CHECK(canonical_name("heads.", bert) == "heads.");
}

TEST_CASE("Config: named heads are read, and refused by what is wrong with them") {
  const auto config = [](const std::string& heads) {
    return Config::parse(R"({"model_type":"bert","bertutils_heads":)" + heads + "}", "c");
  };
  const Config good = config(R"({"b":{"task":"text-classification","id2label":{"0":"x","1":"y"}},
                                 "a":{"task":"question-answering"}})");
  REQUIRE(good.heads.size() == 2);
  CHECK(good.heads[0].name == "b");
  CHECK(good.find_head("b")->labels == std::vector<std::string>{"x", "y"});
  CHECK(good.find_head("a")->task == "question-answering");
  CHECK(good.find_head("c") == nullptr);
  CHECK(config("null").heads.empty());
  for (const char* bad :
       {"[]", "1", R"({"a":1})", R"({"a":{}})", R"({"a.b":{"task":"t"}})", R"({"":{"task":"t"}})",
        R"({"a":{"task":1}})", R"({"a":{"task":"t","id2label":{"1":"x"}}})",
        R"({"a":{"task":"t","problem_type":"x"}})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(config(bad), Error);
  }
}

TEST_CASE("Names: what a family saves is found again, and every tensor's role by its name") {
  for (const Family& family : families()) {
    CAPTURE(family.model_type);
    const Config config =
        Config::parse(fmt::format(R"({{"model_type":"{}"}})", family.model_type), "f");
    for (const HeadSpec& head : head_specs()) {
      if (head.kind == HeadKind::open_entities) continue;  // its tensors have no roles
      std::vector<TensorSpec> specs = encoder_tensors(config);
      for (TensorSpec& spec : head_tensors(config, head.kind)) specs.push_back(std::move(spec));
      const NameRules quantized{.family = &family, .class_name = class_name(head.kind, family)};
      NameRules rules = quantized;
      const auto saved_name = [&](const TensorSpec& spec) {
        const std::string joined = joined_file_name(spec.name, config);
        return joined.empty() ? file_name(spec.name, config) : joined;
      };
      for (const TensorSpec& spec : specs) rules.note(saved_name(spec));
      for (const TensorSpec& spec : specs) {
        CAPTURE(spec.name);
        const std::string read = canonical_name(saved_name(spec), rules);
        const std::vector<std::string> parts = joined_parts(read);
        CHECK((parts.empty() ? read == spec.name
                             : std::find(parts.begin(), parts.end(), spec.name) != parts.end()));
        CHECK(canonical_name(spec.name, quantized) == spec.name);
        CHECK(role_of(spec.name) == spec.role);
      }
    }
  }
  CHECK_FALSE(role_of("encoder.layer.0.attention.self.queries.weight"));
  CHECK_FALSE(role_of("attention.self.query.weight"));  // of no layer
  CHECK_FALSE(role_of("encoder.layer."));
  CHECK_FALSE(role_of(""));
}

TEST_CASE("Schema: a matrix of query, key and value is named after them, and they after it") {
  const std::string whole = "heads.a.encoder.layer.3.attention.self.query_key_value.weight";
  const std::vector<std::string> parts = joined_parts(whole);
  REQUIRE(parts.size() == std::size(kQueryKeyValue));
  const Config bert = Config::parse(R"({"model_type":"bert"})", "f");
  for (size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i] == "heads.a." + tensor_name(kQueryKeyValue[i], Part::weight, 3));
    CHECK(joined_whole(parts[i], bert) == whole);
  }
  CHECK(joined_parts(parts[0]).empty());
  CHECK(joined_whole("pooler.dense.weight", bert).empty());
}

TEST_CASE("Checkpoint: a head is chosen by name, else the plain one, else the first for the task") {
  const auto head = [](const std::string& model, HeadChoice choice) {
    return Checkpoint::open(golden(model), choice).head;
  };
  CHECK(head("tiny-heads", {"", {}}) == "");
  CHECK(head("tiny-heads", {"", HeadKind::masked_lm}) == "");
  CHECK(head("tiny-heads", {"", HeadKind::classify}) == "sentiment");
  CHECK(head("tiny-heads", {"", HeadKind::tokens}) == "ner");
  CHECK(head("tiny-heads", {"", HeadKind::spans}) == "qa");
  CHECK(head("tiny-heads", {"topic", HeadKind::classify}) == "topic");
  CHECK(head("tiny-heads", {"qa", {}}) == "qa");
  CHECK(head("tiny-classifier", {"", HeadKind::classify}) == "");
  CHECK_THROWS_AS(head("tiny-heads", {"ner", HeadKind::classify}), Error);
  CHECK_THROWS_AS(head("tiny-heads", {"topics", {}}), Error);
  CHECK_THROWS_AS(head("tiny-classifier", {"a", {}}), Error);

  const Checkpoint qa = Checkpoint::open(golden("tiny-heads"), {"qa", {}});
  CHECK(qa.config.architectures == std::vector<std::string>{"BertForQuestionAnswering"});
  CHECK(qa.weights.find("encoder.layer.1.output.dense.weight")->name ==
        "heads.qa.encoder.layer.1.output.dense.weight");
  CHECK(qa.weights.find("encoder.layer.0.output.dense.weight")->name ==
        "bert.encoder.layer.0.output.dense.weight");
  CHECK(qa.weights.find("classifier.weight") == nullptr);
}

TEST_CASE("Weights: a wrong shape is named with the right one") {
  const Config config = ModelDirectory(golden("tiny-bert")).config();
  const Weights weights = open_weights(golden("tiny-bert"), config);
  const auto message = [&](const std::string& name,
                           std::initializer_list<size_t> shape) -> std::string {
    try {
      weights.require(name, shape);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("pooler.dense.bias", {config.hidden_size}) == "");
  CHECK(message("pooler.dense.bias", {7}).ends_with("bert.pooler.dense.bias is [32], wants [7]"));
  CHECK(message("no.such.tensor", {7, 8}).ends_with("no.such.tensor is missing, wants [7, 8]"));
  CHECK(weights.find("cls.predictions.decoder.weight") == nullptr);  // tied
}

TEST_CASE("Weights: a decoder of its own is found, a tied one is not") {
  const Config config = ModelDirectory(golden("untied")).config();
  CHECK(open_weights(golden("untied"), config).find("cls.predictions.decoder.weight") != nullptr);
}

TEST_CASE("Pickle: no opcode sequence of two bytes does more than fail") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::byte pickle[] = {std::byte(first), std::byte(second), std::byte('.')};
      size_t tensors = 0;
      Error::Kind kind = Error::Kind::data;
      try {
        tensors = read_state_dict(pickle, "f").size();
      } catch (const Error& error) {
        kind = error.kind();
      }
      REQUIRE(tensors == 0);
      REQUIRE(kind == Error::Kind::data);
    }
  }
}

TEST_CASE("resolve_model: directories, installed names, the Hugging Face cache") {
  const TemporaryDirectory root;
  const Environment path("BERT_MODEL_PATH", "/nowhere:" + root.path() + "/models");
  const Environment cache("HF_HUB_CACHE", root.path() + "/hub");
  root.add("models/mine/config.json");
  root.add("hub/models--org--net/refs/main", "abc123");
  root.add("hub/models--org--net/snapshots/abc123/config.json");
  root.add("hub/models--org--net/snapshots/old/config.json");
  root.add("hub/models--a--twin/snapshots/1/config.json");
  root.add("hub/models--b--twin/snapshots/1/config.json");
  const auto error = [](const std::string& name) -> std::string {
    try {
      return "found " + resolve_model(name);
    } catch (const Error& error) {
      CHECK(error.kind() == Error::Kind::no_input);
      return error.what();
    }
  };
  CHECK(resolve_model(root.path()) == root.path());
  CHECK(resolve_model(root.path() + "//") == root.path());
  CHECK(resolve_model("mine") == root.path() + "/models/mine");
  CHECK(resolve_model("org/net") == root.path() + "/hub/models--org--net/snapshots/abc123");
  CHECK(resolve_model("net") == root.path() + "/hub/models--org--net/snapshots/abc123");
  CHECK(error("twin") == "twin: several models have this name: a/twin, b/twin");
  CHECK(error("nothing").find("no such model") != std::string::npos);
  CHECK(error("../models/mine").find("no such model") != std::string::npos);
  CHECK(error(root.path() + "/models/mine/config.json").find("not a directory") !=
        std::string::npos);
  const Environment home("XDG_DATA_HOME", root.path() + "/none");
  std::vector<std::string> names;
  for (const InstalledModel& model : installed_models()) {
    if (!model.directory.empty()) names.push_back(model.name);
  }
  // Those of this source tree, if they are there.
  std::erase_if(names,
                [](const std::string& name) { return name == "default" || name == "chinese"; });
  CHECK(names == std::vector<std::string>{"a/twin", "b/twin", "mine", "org/net"});
  for (const std::string& name : names) CHECK(error(name).starts_with("found "));
  const Environment model("BERT_MODEL", "mine");
  CHECK(resolve_model("") == root.path() + "/models/mine");
}

TEST_CASE("SentenceModules: defaults, order, what is not supported") {
  const TemporaryDirectory directory;
  CHECK(SentenceModules::open(directory.path()).pooling_modes == std::vector<std::string>{"mean"});
  const auto modules = [&](const std::string& list) {
    directory.add("modules.json", list);
    return SentenceModules::open(directory.path());
  };
  const std::string transformer =
      R"({"path":"","type":"sentence_transformers.models.Transformer"})";
  const std::string pooling =
      R"({"path":"1_Pooling","type":"sentence_transformers.models.Pooling"})";
  const std::string normalize =
      R"({"path":"2","type":"sentence_transformers.sentence_transformer.modules.Normalize"})";
  directory.add("1_Pooling/config.json",
                R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":true})");
  directory.add("sentence_bert_config.json", R"({"max_seq_length":77,"do_lower_case":null})");
  directory.add("config_sentence_transformers.json",
                R"({"prompts":{"query":"q: "},"default_prompt_name":"query"})");
  const SentenceModules all = modules("[" + transformer + "," + pooling + "," + normalize + "]");
  CHECK(all.present);
  CHECK(all.pooling_modes == std::vector<std::string>{"cls", "mean"});
  CHECK(all.normalize);
  CHECK(all.settings.max_length == 77);
  CHECK_FALSE(all.settings.do_lower_case.has_value());
  CHECK(all.prompts.at("query") == "q: ");
  CHECK(all.settings.max_length_source() ==
        "max_seq_length of " + directory.path() + "/sentence_bert_config.json");
  CHECK_THROWS_AS(modules("[" + pooling + "," + transformer + "]"), Error);
  CHECK_THROWS_AS(modules("[" + transformer + "," + normalize + "," + pooling + "]"), Error);
  CHECK_THROWS_AS(modules(R"([{"path":"","type":"x.CNN"}])"), Error);
  CHECK_THROWS_AS(modules("[" + transformer + "," + normalize + "]"), Error);
  all.check_widths(32);  // no layer, any width
  CHECK_THROWS_AS(modules(R"([{"path":"../x","type":"x.Pooling"}])"), Error);
  const SentenceModules dense = SentenceModules::open(golden("st-dense"));
  REQUIRE(dense.dense.size() == 1);
  CHECK(dense.dense[0].load().out_features() == dense.dense[0].out_features);
  dense.check_widths(16);
  CHECK_THROWS_AS(dense.check_widths(32), Error);
}
