#include "voice/zonos/zonos_config.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos_transformer.h"

namespace predgen {
namespace {

TEST(ZonosConfig, ReadsTheFieldsThatMatter) {
  const ZonosConfig config = ZonosConfig::read(small_zonos_config(), "config.json");
  EXPECT_EQ(config.width, 32);
  EXPECT_EQ(config.mlp_width, 48);
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.num_heads, 4);
  EXPECT_EQ(config.num_kv_heads, 2);
  EXPECT_EQ(config.head_width(), 8);
  ASSERT_EQ(config.conditioners.size(), 5u);
  EXPECT_EQ(config.conditioners[3].name, "fmax");
  EXPECT_EQ(config.conditioners[3].max, 24000);
  EXPECT_FALSE(config.conditioners[0].has_unconditional);
  EXPECT_TRUE(config.conditioners[4].has_unconditional);
}

TEST(ZonosConfig, TheReleasedModelHasAllItsTensors) {
  Json json = small_zonos_config();
  json["backbone"]["d_model"] = 2048;
  json["backbone"]["attn_mlp_d_intermediate"] = 8192;
  json["backbone"]["n_layer"] = 26;
  for (int i = 2; i < 26; ++i) json["backbone"]["attn_layer_idx"].push_back(i);
  Json& attention = json["backbone"]["attn_cfg"];
  attention["num_heads"] = 16;
  attention["num_heads_kv"] = 4;
  attention["rotary_emb_dim"] = 128;
  Json& parts = json["prefix_conditioner"]["conditioners"];
  const Json language = parts[4];
  for (const char* name : {"pitch_std", "speaking_rate"}) {
    Json part = parts[3];
    part["name"] = name;
    parts.push_back(part);
  }
  parts.erase(4);
  parts.push_back(language);
  const std::vector<WeightSpec> layout = ZonosConfig::read(json, "config.json").weight_layout();
  EXPECT_EQ(layout.size(), 246u);
  int64_t parameters = 0;
  for (const WeightSpec& weight : layout) parameters += c10::multiply_integers(weight.shape);
  EXPECT_EQ(parameters, 1624411136);
}

TEST(ZonosConfig, RefusesWhatItDoesNotHonour) {
  struct Case {
    const char* pointer;
    const char* value;  // JSON; empty: the field is taken out
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases{
      {"/backbone/ssm_cfg", R"({"layer": "Mamba2"})", {"ssm_cfg", "Zyphra/Zonos-v0.1-transformer"}},
      {"/backbone/attn_layer_idx", "[0]", {"layer 1", "Zyphra/Zonos-v0.1-transformer"}},
      {"/backbone/attn_layer_idx", "[0, 1, 2]", {"attn_layer_idx", "0..1"}},
      {"/backbone/attn_layer_idx", "[\"a\"]", {"attn_layer_idx", "integers"}},
      {"/backbone/rms_norm", "true", {"rms_norm"}},
      {"/backbone/residual_in_fp32", "true", {"residual_in_fp32"}},
      {"/backbone/dropout", "0.1", {"dropout"}},
      {"/backbone/d_model", "-1", {"d_model"}},
      {"/backbone/n_layer", "\"2\"", {"n_layer"}},
      {"/backbone/norm_epsilon", "0", {"norm_epsilon"}},
      {"/backbone/attn_mlp_d_intermediate", "", {"attn_mlp_d_intermediate"}},
      {"/backbone/attn_cfg/causal", "false", {"causal"}},
      {"/backbone/attn_cfg/num_heads", "3", {"num_heads", "32"}},
      {"/backbone/attn_cfg/num_heads_kv", "3", {"num_heads_kv", "4"}},
      {"/backbone/attn_cfg/rotary_emb_dim", "4", {"rotary_emb_dim", "8"}},
      {"/backbone/attn_cfg/rotary_emb_interleaved", "false", {"rotary_emb_interleaved"}},
      {"/backbone/attn_cfg/qkv_proj_bias", "true", {"qkv_proj_bias"}},
      {"/backbone/attn_cfg/out_proj_bias", "true", {"out_proj_bias"}},
      {"/backbone/attn_cfg/softmax_scale", "0.5", {"softmax_scale"}},
      {"/eos_token_id", "1023", {"eos_token_id", "1024"}},
      {"/masked_token_id", "1026", {"masked_token_id", "1025"}},
      {"/model_type", "\"zonos\"", {"model_type"}},
      {"/backbone", "", {"backbone", "missing"}},
      {"/prefix_conditioner", "", {"prefix_conditioner", "missing"}},
      {"/prefix_conditioner/projection", "", {"projection", "missing"}},
      {"/prefix_conditioner/projection", "\"conv\"", {"projection", "conv"}},
      {"/prefix_conditioner/conditioners", "{}", {"conditioners"}},
      {"/prefix_conditioner/conditioners/0/type", "\"FourierConditioner\"", {"espeak"}},
      {"/prefix_conditioner/conditioners/0/name", "\"text\"", {"text", "not supported"}},
      {"/prefix_conditioner/conditioners/1/cond_dim", "64", {"cond_dim", "128"}},
      {"/prefix_conditioner/conditioners/1/projection", "\"none\"", {"cond_dim", "32"}},
      {"/prefix_conditioner/conditioners/2/input_dim", "1", {"input_dim", "emotion"}},
      {"/prefix_conditioner/conditioners/2/name", "\"vqscore_8\"", {"vqscore_8"}},
      {"/prefix_conditioner/conditioners/3/max_val", "0", {"max_val"}},
      {"/prefix_conditioner/conditioners/3/name", "\"emotion\"", {"input_dim"}},
      {"/prefix_conditioner/conditioners/3/uncond_type", "\"zero\"", {"uncond_type"}},
      {"/prefix_conditioner/conditioners/3/cond_dim", "8", {"cond_dim", "32"}},
      {"/prefix_conditioner/conditioners/3/bias", "true", {"bias"}},
      {"/prefix_conditioner/conditioners/4/max_val", "3.5", {"max_val", "integers"}},
      {"/prefix_conditioner/conditioners/4/type", "\"OrdinalConditioner\"", {"OrdinalConditioner"}},
  };
  for (const Case& item : cases) {
    Json json = small_zonos_config();
    const Json::json_pointer place(item.pointer);
    if (*item.value == '\0') {
      json.at(place.parent_pointer()).erase(place.back());
    } else {
      json[place] = parse_json(item.value, "value");
    }
    SCOPED_TRACE(item.pointer);
    std::vector<std::string> parts{"config.json"};
    parts.insert(parts.end(), item.parts.begin(), item.parts.end());
    expect_user_error([&] { ZonosConfig::read(json, "config.json"); }, parts);
  }
}

TEST(ZonosConfig, AnotherModelIsCalledWhatItIs) {
  const auto refused = [](const Json& json, const std::vector<std::string>& parts) {
    expect_user_error([&] { ZonosConfig::read(json, "config.json"); }, parts);
  };
  refused({{"architectures", {"LlamaForCausalLM"}}, {"hidden_size", 64}}, {"not a Zonos voice"});
  Json hybrid = small_zonos_config();
  hybrid["backbone"]["ssm_cfg"] = {{"layer", "Mamba2"}};
  hybrid["backbone"]["residual_in_fp32"] = true;
  hybrid["backbone"].erase("attn_mlp_d_intermediate");
  refused(hybrid, {"hybrid", "Zyphra/Zonos-v0.1-transformer"});
}

TEST(ZonosConfig, TextMustBeThereAndNothingTwice) {
  Json json = small_zonos_config();
  Json& parts = json["prefix_conditioner"]["conditioners"];
  parts.push_back(parts[0]);
  expect_user_error([&] { ZonosConfig::read(json, "config.json"); }, {"espeak", "twice"});
  parts.erase(5);
  parts.erase(0);
  expect_user_error([&] { ZonosConfig::read(json, "config.json"); }, {"espeak", "lacks"});
}

}  // namespace
}  // namespace predgen
