#include <doctest/doctest.h>

#include "base/error.h"
#include "directory/adapter.h"

using namespace bert;

namespace {

AdapterConfig read(const std::string& members) {
  return AdapterConfig::read(
      JsonDocument::parse(R"({"peft_type": "LORA", )" + members + "}", "f").root());
}

}  // namespace

TEST_CASE("AdapterConfig: the scale of a module is of the first pattern that its end matches") {
  CHECK(read(R"("lora_alpha": 16)").scale("a.query", 4) == 4);
  CHECK(read(R"("lora_alpha": 16, "use_rslora": true)").scale("a.query", 4) == 8);
  const AdapterConfig config = read(
      R"x("lora_alpha": 8,
          "alpha_pattern": {"layer.0.*.key": 2, "key": 4, "layers?\\.\\d+\\.(?:x|y)": 6})x");
  CHECK(config.scale("bert.layer.0.self.key", 2) == 1);
  CHECK(config.scale("bert.layer.1.self.key", 2) == 2);
  CHECK(config.scale("bert.layer.1.self.monkey", 2) == 4);  // a name ends behind a dot
  CHECK(config.scale("key.dense", 2) == 4);
  CHECK(config.scale("layer.10.y", 2) == 3);
  CHECK(config.scale("layers.3.x", 2) == 3);
  CHECK(config.scale("layers.3.z", 2) == 4);
}

TEST_CASE("AdapterConfig: other kinds, and settings that change the sum, are refused by name") {
  const auto message = [](const std::string& members) -> std::string {
    try {
      read(members);
    } catch (const Error& error) {
      CHECK(error.kind() == Error::Kind::unsupported);
      return error.what();
    }
    return "";
  };
  CHECK(message(R"("use_dora": true)").starts_with("f: use_dora: DoRA is not supported"));
  CHECK(message(R"("layer_replication": [[0, 1]])").find("stand twice") != std::string::npos);
  CHECK(message(R"("init_lora_weights": "pissa_niter_4")").find("the base, too") !=
        std::string::npos);
  CHECK(message(R"("init_lora_weights": "gaussian")") == "");
  CHECK(message(R"("use_dora": false, "layer_replication": [], "eva_config": null)") == "");
  CHECK(message(R"("alpha_pattern": {"(?<=a)b": 1})").find("is not supported") !=
        std::string::npos);
}
