#include "model/model_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

Json version_4() {
  return parse_json(R"({
    "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02,
    "intermediate_size": 18944, "max_position_embeddings": 32768, "max_window_layers": 28,
    "model_type": "qwen2", "num_attention_heads": 28, "num_hidden_layers": 28,
    "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
    "sliding_window": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1", "use_cache": true, "use_sliding_window": false,
    "vocab_size": 152064})",
                    "test");
}

Json version_5() {
  Json json = version_4();
  for (const char* key : {"rope_theta", "torch_dtype", "sliding_window"}) json.erase(key);
  json["dtype"] = "bfloat16";
  json["sliding_window"] = nullptr;
  json["layer_types"] = Json::array();
  for (int i = 0; i < 28; ++i) json["layer_types"].push_back("full_attention");
  json["rope_parameters"] = {{"rope_theta", 1e6}, {"rope_type", "default"}};
  return json;
}

void check_qwen_7b(const ModelConfig& config) {
  EXPECT_EQ(config.architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.num_kv_heads, 4);
  EXPECT_EQ(config.max_positions, 32768);
  EXPECT_EQ(config.ropes.front().theta, 1e6);
  EXPECT_EQ(config.dtype, "bfloat16");
  EXPECT_TRUE(config.layer(0).attention.qkv_bias);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.num_parameters(), 7'615'616'512);
}

TEST(ModelConfig, ReadsBothSpellings) {
  check_qwen_7b(ModelConfig::from_json(version_4(), "test"));
  check_qwen_7b(ModelConfig::from_json(version_5(), "test"));
}

TEST(ModelConfig, WritesWhatItReads) {
  const ModelConfig config = ModelConfig::from_json(version_5(), "test");
  check_qwen_7b(ModelConfig::from_json(config.to_json(), "test"));
  EXPECT_EQ(config.to_json(), ModelConfig::from_json(config.to_json(), "test").to_json());
}

Json arch(const char* architecture, const char* model_type, const Json& more) {
  Json json = version_4();
  for (const char* key : {"sliding_window", "use_sliding_window", "max_window_layers"}) {
    json.erase(key);
  }
  json["architectures"] = {architecture};
  json["model_type"] = model_type;
  json.update(more);
  return json;
}

TEST(ModelConfig, EveryArchitectureWritesWhatItReads) {
  const Json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 20.0}, {"truncate", false}};
  const Json llama3{{"rope_type", "llama3"},
                    {"factor", 8.0},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", 8192}};
  const Json slides{{"use_sliding_window", true}, {"sliding_window", 99}, {"max_window_layers", 3}};
  for (const Json& json :
       {arch("LlamaForCausalLM", "llama", {{"attention_bias", true}, {"mlp_bias", true}}),
        arch("LlamaForCausalLM", "llama", {{"rope_scaling", llama3}}),
        arch("MistralForCausalLM", "mistral", {{"sliding_window", 4096}, {"head_dim", 64}}),
        arch("MistralForCausalLM", "mistral", {{"sliding_window", nullptr}}),
        arch("Olmo2ForCausalLM", "olmo2", Json::object()),
        arch("Olmo3ForCausalLM", "olmo3", {{"rope_scaling", yarn}, {"sliding_window", 9}}),
        arch("Ministral3ForCausalLM", "ministral3", {{"sliding_window", 77}, {"head_dim", 64}}),
        arch("Ministral3ForCausalLM", "ministral3",
             {{"rope_parameters", {{"rope_theta", 1e5}, {"llama_4_scaling_beta", 0.2}}}}),
        arch("Qwen3ForCausalLM", "qwen3", slides),
        arch("SmolLM3ForCausalLM", "smollm3", {{"no_rope_layer_interval", 3}}),
        arch("Qwen2ForCausalLM", "qwen2", {{"rope_scaling", yarn}})}) {
    const ModelConfig config = ModelConfig::from_json(json, "test");
    const ModelConfig again = ModelConfig::from_json(config.to_json(), "test");
    EXPECT_EQ(again.to_json(), config.to_json());
    for (int64_t i = 0; i < config.num_layers(); ++i) {
      const AttentionSpec &one = config.layer(i).attention, &other = again.layer(i).attention;
      EXPECT_EQ(other.window, one.window) << json.dump();
      EXPECT_EQ(other.rope, one.rope) << json.dump();
    }
    EXPECT_EQ(again.num_parameters(), config.num_parameters());
    EXPECT_TRUE(at::equal(again.inverse_frequencies(), config.inverse_frequencies()));
    EXPECT_EQ(again.ropes.front().attention_factor, config.ropes.front().attention_factor);
    for (const int64_t position : {0, 9, 20000, 100000}) {
      EXPECT_EQ(again.ropes.front().query_scale(position),
                config.ropes.front().query_scale(position));
    }
  }
}

/// google/gemma-3-1b-it's fields, as transformers 4 wrote them.
Json gemma() {
  Json json = arch("Gemma3ForCausalLM", "gemma3_text",
                   {{"attn_logit_softcapping", nullptr},
                    {"final_logit_softcapping", nullptr},
                    {"head_dim", 256},
                    {"hidden_activation", "gelu_pytorch_tanh"},
                    {"hidden_size", 1152},
                    {"intermediate_size", 6912},
                    {"num_attention_heads", 4},
                    {"num_hidden_layers", 26},
                    {"num_key_value_heads", 1},
                    {"query_pre_attn_scalar", 256},
                    {"rope_local_base_freq", 10000},
                    {"rope_scaling", nullptr},
                    {"rope_theta", 1000000},
                    {"sliding_window", 512},
                    {"sliding_window_pattern", 6},
                    {"vocab_size", 262144}});
  for (const char* key : {"hidden_act", "tie_word_embeddings"}) json.erase(key);
  return json;
}

TEST(ModelConfig, Gemma3) {
  const ModelConfig config = ModelConfig::from_json(gemma(), "test");
  EXPECT_EQ(config.num_parameters(), 999'885'952);  // as its card says: 1 B
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.embedding_scale, std::sqrt(1152.0));
  EXPECT_EQ(config.norm_offset, 1.0);
  for (int64_t i = 0; i < 26; ++i) {
    const bool is_full = i % 6 == 5;
    const AttentionSpec& attention = config.layer(i).attention;
    EXPECT_EQ(attention.window, is_full ? 0 : 512);
    EXPECT_EQ(config.ropes.at(static_cast<size_t>(attention.rope)).theta, is_full ? 1e6 : 1e4);
  }
  Json version_5 = gemma();
  for (const char* key : {"rope_theta", "rope_local_base_freq", "sliding_window_pattern"}) {
    version_5.erase(key);
  }
  version_5["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}}},
                                  {"sliding_attention", {{"rope_theta", 1e4}}}};
  EXPECT_EQ(ModelConfig::from_json(version_5, "test").to_json(), config.to_json());
  version_5["rope_parameters"]["sliding_attention"]["rope_theta"] = 500.0;
  version_5["rope_parameters"]["full_attention"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  version_5["final_logit_softcapping"] = 30.0;
  const ModelConfig other = ModelConfig::from_json(version_5, "test");
  EXPECT_EQ(other.ropes.at(1).theta, 500.0);
  EXPECT_EQ(other.ropes.front().theta, 1e6);
  EXPECT_EQ(other.ropes.front().factor, 8.0);
  EXPECT_EQ(other.logit_softcap, 30.0);
  const ModelConfig again = ModelConfig::from_json(other.to_json(), "test");
  EXPECT_EQ(again.to_json(), other.to_json());
  EXPECT_EQ(again.ropes.at(1).theta, 500.0);
}

TEST(ModelConfig, Gemma3RefusesByName) {
  const auto refused = [](const char* key, const Json& value, const std::string& part) {
    Json json = gemma();
    json[key] = value;
    expect_user_error([&] { ModelConfig::from_json(json, "config.json"); },
                      {"config.json", key, part});
  };
  refused("hidden_activation", "gelu", "gelu_pytorch_tanh");
  refused("hidden_act", "silu", "silu");
  refused("attn_logit_softcapping", 50.0, "not supported");
  refused("use_bidirectional_attention", true, "true");
  refused("sliding_window", nullptr, "sliding layers");
  refused("query_pre_attn_scalar", 0, "positive");
  refused("layer_types", Json::array({"full_attention"}), "each layer");
  refused("layer_types", Json(std::vector<std::string>(26, "chunked_attention")), "chunked");
  refused("rope_parameters", {{"rope_theta", 1e4}}, "rope_theta");
  Json json = gemma();
  json["rope_parameters"] = {{"sliding_attention", {{"rope_type", "linear"}, {"factor", 2.0}}}};
  expect_user_error([&] { ModelConfig::from_json(json, "config.json"); }, {"sliding_attention"});
  json["architectures"] = {"Gemma3ForConditionalGeneration"};
  expect_user_error([&] { ModelConfig::from_json(json, "config.json"); }, {"Gemma3ForCausalLM"});
}

TEST(ModelConfig, SomeLayersOfSmolLM3KnowNoPositions) {
  const auto read = [](const Json& more) {
    return ModelConfig::from_json(arch("SmolLM3ForCausalLM", "smollm3", more), "config.json");
  };
  const auto rope_of = [](const ModelConfig& config, int64_t layer) {
    return config.layer(layer).attention.rope;
  };
  const ModelConfig config = read(Json::object());
  for (int64_t i = 0; i < 28; ++i) EXPECT_EQ(rope_of(config, i), i % 4 == 3 ? 1 : 0);
  EXPECT_TRUE(at::equal(config.inverse_frequencies()[1], at::zeros({64})));
  std::vector<int> turned(28, 1);
  turned[0] = 0;
  const ModelConfig listed = read({{"no_rope_layers", turned}});
  EXPECT_EQ(rope_of(listed, 0), 1);
  EXPECT_EQ(rope_of(listed, 3), 0);
  const auto refused = [&](const Json& more, const std::string& part) {
    expect_user_error([&] { read(more); }, {"config.json", part});
  };
  refused({{"no_rope_layers", {1, 0}}}, "each layer");
  refused({{"no_rope_layers", std::vector<int>(28, 2)}}, "0 and 1");
  refused({{"use_sliding_window", true}}, "use_sliding_window");
  refused({{"layer_types", {"sliding_attention"}}}, "layer_types");
}

TEST(ModelConfig, ArchitecturesDifferWhereTheReferenceDoes) {
  const auto read = [](const Json& json) { return ModelConfig::from_json(json, "test"); };
  Json olmo2 = arch("Olmo2ForCausalLM", "olmo2", Json::object());
  olmo2.erase("rms_norm_eps");
  EXPECT_EQ(read(olmo2).rms_norm_eps, 1e-5);
  EXPECT_EQ(read(arch("Qwen3ForCausalLM", "qwen3", {{"hidden_size", 1792}})).head_dim, 128);
  // An absent window means 4096 to the reference, null means none.
  const auto window = [&](const Json& more) {
    return read(arch("MistralForCausalLM", "mistral", more)).layer(0).attention.window;
  };
  EXPECT_EQ(window(Json::object()), 4096);
  EXPECT_EQ(window({{"sliding_window", nullptr}}), 0);
}

TEST(ModelConfig, Olmo3HasPositionsByTypeOfLayer) {
  const auto read = [](const Json& more) {
    return ModelConfig::from_json(arch("Olmo3ForCausalLM", "olmo3", more), "config.json");
  };
  const Json yarn{{"rope_type", "yarn"}, {"factor", 8.0}};
  const ModelConfig config = read({{"rope_scaling", yarn}});
  for (int64_t i = 0; i < 8; ++i) {
    const bool is_full = i % 4 == 3;
    EXPECT_EQ(config.layer(i).attention.window, is_full ? 0 : 4096);
    EXPECT_EQ(config.layer(i).attention.rope, is_full ? 0 : 1);
  }
  EXPECT_EQ(config.ropes.front().kind, RopeKind::kYarn);
  EXPECT_EQ(config.ropes.front().theta, 1e6);  // as it says
  EXPECT_EQ(config.ropes.back().kind, RopeKind::kDefault);
  EXPECT_EQ(config.ropes.back().theta, 5e5);  // like the reference, the usual one
  const Json both{{"full_attention", {{"rope_theta", 1e5}}},
                  {"sliding_attention", {{"rope_theta", 1e3}}}};
  EXPECT_EQ(read({{"rope_parameters", both}}).ropes.front().theta, 1e5);
  EXPECT_EQ(read({{"rope_parameters", both}}).ropes.back().theta, 1e3);
  const auto refused = [&](const Json& more, const std::string& part) {
    expect_user_error([&] { read(more); }, {"config.json", part});
  };
  refused({{"layer_types", {"full_attention"}}}, "each layer");
  refused({{"layer_types", std::vector<std::string>(28, "chunked_attention")}},
          "sliding_attention");
  refused({{"sliding_window", nullptr}}, "sliding_window");
  refused({{"rope_parameters", {{"rope_type", "default"}}}}, "rope_type");
}

TEST(ModelConfig, Gemma4HasHeadsByTypeOfLayerAndSharesKeys) {
  const auto read = [](const Json& more) {
    Json json = arch("Gemma4ForCausalLM", "gemma4_text",
                     {{"head_dim", 128},
                      {"hidden_activation", "gelu_pytorch_tanh"},
                      {"vocab_size_per_layer_input", version_4().at("vocab_size")},
                      {"num_kv_shared_layers", 10},
                      {"use_double_wide_mlp", true}});
    for (const char* key : {"hidden_act", "rope_theta"}) json.erase(key);
    json.update(more);
    return ModelConfig::from_json(json, "config.json");
  };
  const ModelConfig config = read(Json::object());
  EXPECT_EQ(config.num_row_layers(), 18);
  EXPECT_EQ(config.num_states(), 0);
  const AttentionSpec &sliding = config.layer(0).attention, &full = config.layer(5).attention;
  EXPECT_EQ(sliding.window, 512);
  EXPECT_EQ(config.head_dim_of(sliding), 128);
  EXPECT_EQ(full.window, 0);
  EXPECT_EQ(config.head_dim_of(full), 512);
  EXPECT_EQ(config.layer(27).attention.window, 0);  // the last one, in any case
  EXPECT_EQ(config.layer(27).attention.shares, 17);
  EXPECT_EQ(config.layer(20).attention.shares, 16);
  EXPECT_EQ(config.place(20), 16);
  EXPECT_EQ(config.layer(27).feed_forward.width, 2 * config.intermediate_size);
  EXPECT_EQ(config.layer(17).feed_forward.width, 0);
  const at::Tensor turns = config.inverse_frequencies();
  EXPECT_EQ(turns.sizes(), (at::IntArrayRef{2, 256}));
  EXPECT_EQ(turns[0].count_nonzero().item<int64_t>(), 64);  // a quarter of 256 pairs
  EXPECT_EQ(turns[1].count_nonzero().item<int64_t>(), 64);  // all of 64
  const ModelConfig again = ModelConfig::from_json(config.to_json(), "test");
  EXPECT_EQ(again.to_json(), config.to_json());
  EXPECT_EQ(again.num_parameters(), config.num_parameters());
  EXPECT_TRUE(at::equal(again.inverse_frequencies(), turns));
  const auto refused = [&](const Json& more, const std::string& part) {
    expect_user_error([&] { read(more); }, {"config.json", part});
  };
  refused({{"enable_moe_block", true}, {"top_k_experts", 2}}, "num_experts");
  Json experts{{"enable_moe_block", true},
               {"num_experts", 8},
               {"top_k_experts", 2},
               {"moe_intermediate_size", 32}};
  EXPECT_TRUE(read(experts).layer(3).experts.beside_mlp);
  EXPECT_EQ(read(experts).to_json().at("top_k_experts"), 2);
  experts["top_k_experts"] = 9;
  refused(experts, "top_k_experts");
  refused({{"use_bidirectional_attention", "all"}}, "use_bidirectional_attention");
  refused({{"num_kv_shared_layers", 28}}, "num_kv_shared_layers");
  refused({{"num_kv_shared_layers", 24}}, "a layer of each type");
  refused({{"vocab_size_per_layer_input", 7}}, "vocab_size_per_layer_input");
  // Heads that are not by type of layer are written layer by layer.
  const Json own{{"head_dim", 512}, {"num_key_value_heads", 1}};
  Json by_layer{{"2", {{"num_key_value_heads", 1}}}, {"8", {{"num_key_value_heads", 1}}}};
  for (const int i : {5, 11, 17, 23, 27}) by_layer[std::to_string(i)] = own;
  by_layer["5"]["num_key_value_heads"] = 2;
  const ModelConfig mixed = read({{"per_layer_config", by_layer}, {"num_kv_shared_layers", 0}});
  const ModelConfig same = ModelConfig::from_json(mixed.to_json(), "test");
  for (int64_t i = 0; i < 28; ++i) {
    const AttentionSpec &read_first = mixed.layer(i).attention, &kept = same.layer(i).attention;
    EXPECT_EQ(same.num_kv_heads_of(kept), mixed.num_kv_heads_of(read_first)) << i;
    EXPECT_EQ(same.head_dim_of(kept), mixed.head_dim_of(read_first)) << i;
  }
  EXPECT_EQ(mixed.num_kv_heads_of(mixed.layer(8).attention), 1);
  EXPECT_FALSE(mixed.to_json().contains("global_head_dim"));
  EXPECT_FALSE(config.to_json().contains("per_layer_config"));
  refused({{"per_layer_config", {{"5", {{"head_dim", 7}}}}}}, "head_dim");
  refused({{"per_layer_config", {{"05", {{"head_dim", 7}}}}}}, "head_dim");
  refused({{"per_layer_config", {{"x", Json::object()}}}}, "numbers of layers");
  refused({{"per_layer_config", {{"5", {{"head_dim", 64}}}}}}, "heads of one size");
  refused({{"per_layer_config", {{"5", {{"rope_theta", 64}}}}}}, "rope_theta");
}

TEST(ModelConfig, Ministral3ScalesQueriesByTheirPosition) {
  const auto read = [](const Json& more) {
    Json json = arch("Ministral3ForCausalLM", "ministral3", more);
    json.erase("rope_theta");
    return ModelConfig::from_json(json, "config.json");
  };
  const RopeConfig usual = read(Json::object()).ropes.front();
  EXPECT_EQ(usual.kind, RopeKind::kYarn);
  EXPECT_EQ(usual.theta, 1e6);
  EXPECT_EQ(usual.attention_factor, 1.0);
  EXPECT_EQ(usual.query_scale(16383), 1.0);
  EXPECT_DOUBLE_EQ(usual.query_scale(16384), 1.0 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(usual.query_scale(65535), 1.0 + 0.1 * std::log(4.0));
  const Json plain{{"rope_theta", 1e4}};
  EXPECT_EQ(read({{"rope_parameters", plain}}).ropes.front().query_scale(1 << 20), 1.0);
  const Json negative{{"rope_theta", 1e4}, {"llama_4_scaling_beta", -1}};
  expect_user_error([&] { read({{"rope_parameters", negative}}); }, {"llama_4_scaling_beta"});
  expect_user_error([&] { read({{"layer_types", {"full_attention"}}}); }, {"layer_types"});
}

TEST(ModelConfig, RopeScalingStretchesTheContext) {
  const auto context = [](const Json& rope) {
    Json json = version_4();
    json["rope_scaling"] = rope;
    return ModelConfig::from_json(json, "test").context_length();
  };
  EXPECT_EQ(
      context({{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}),
      131072);
  EXPECT_EQ(context({{"type", "linear"}, {"factor", 2.0}}), 65536);
  EXPECT_EQ(context({{"type", "dynamic"}, {"factor", 2.0}}), 32768);
}

TEST(ModelConfig, CountsParameters) {
  int64_t count = 0;
  for (const auto& [name, tensor] : small_model()->named_weights()) count += tensor.numel();
  EXPECT_EQ(small_config().num_parameters(), count);
}

TEST(ModelConfig, FollowsTheReferenceWhereFieldsDisagree) {
  Json json = version_4();
  json["rope_parameters"] = {{"rope_theta", 5e5}, {"rope_type", "default"}};
  EXPECT_EQ(ModelConfig::from_json(json, "test").ropes.front().theta, 5e5);
  json["rope_scaling"] = {{"type", "default"}};
  EXPECT_EQ(ModelConfig::from_json(json, "test").ropes.front().theta, 1e6);
  json["num_key_value_heads"] = nullptr;
  EXPECT_EQ(ModelConfig::from_json(json, "test").num_kv_heads, 28);
  json["head_dim"] = 64;
  EXPECT_EQ(ModelConfig::from_json(json, "test").head_dim, 64);
}

TEST(ModelConfig, RefusesByName) {
  const auto refused = [](const char* key, const Json& value, const std::string& part) {
    Json json = version_4();
    json[key] = value;
    expect_user_error([&] { ModelConfig::from_json(json, "config.json"); },
                      {"config.json", key, part});
  };
  refused("architectures", Json::array({"GPT2LMHeadModel"}),
          "known: Qwen2ForCausalLM, Qwen3ForCausalLM");
  refused("architectures", Json::array({"Qwen2Model"}), "Qwen2Model");
  refused("architectures", Json::array({"MambaForCausalLM"}), "LlamaForCausalLM");
  refused("rope_scaling", {{"rope_type", "longrope"}, {"factor", 4.0}}, "llama3");
  refused("rope_scaling", {{"rope_type", "yarn"}}, "factor");
  refused("rope_scaling", {{"type", "linear"}, {"factor", -4.0}}, "positive");
  refused("rope_parameters", {{"rope_type", "llama3"}, {"factor", 8.0}}, "low_freq_factor");
  refused("rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}, "full_attention");
  refused("partial_rotary_factor", 0.5, "0.5");
  refused("hidden_act", "gelu", "gelu");
  refused("layer_types", Json::array({"full_attention"}), "each layer");
  refused("quantization_config", {{"bits", 4}}, "not supported");
  refused("hidden_size", 3585, "multiple");
  refused("num_key_value_heads", 5, "multiple");
  refused("head_dim", 127, "even");
  refused("vocab_size", 0, "positive");
  refused("vocab_size", "many", "positive");
  refused("num_hidden_layers", -1, "positive");
  refused("rms_norm_eps", 0.0, "positive");
  refused("torch_dtype", "int8", "int8");
  Json json = version_5();
  json["layer_types"][27] = "sliding_attention";
  expect_user_error([&] { ModelConfig::from_json(json, "config.json"); },
                    {"layer_types", "sliding_attention"});
  json = version_4();
  json["architectures"] = {"LlamaForCausalLM"};
  expect_user_error([&] { ModelConfig::from_json(json, "config.json"); }, {"model_type", "qwen2"});
  json["model_type"] = "llama";
  json["rope_scaling"] = nullptr;
  expect_user_error([&] { ModelConfig::from_json(json, "config.json"); }, {"sliding_window"});
}

TEST(ModelConfig, KnowsWhatIsStoredInFourBits) {
  const auto type_of = [](const Json& quantization) {
    Json json = version_4();
    json["quantization_config"] = quantization;
    ModelConfig::from_json(json, "config.json");
    return stored_type({json, "config.json"});
  };
  const auto of_bitsandbytes = [](const char* type) {
    return Json{
        {"quant_method", "bitsandbytes"}, {"load_in_4bit", true}, {"bnb_4bit_quant_type", type}};
  };
  EXPECT_EQ(type_of(nullptr), "");
  EXPECT_EQ(type_of(of_bitsandbytes("nf4")), "nf4");
  EXPECT_EQ(type_of({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}), "fp4");
  EXPECT_EQ(type_of({{"quant_method", "mxfp4"}}), "mxfp4");
  for (const Json& other :
       {of_bitsandbytes("int3"), Json{{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}},
        Json{{"quant_method", "gptq"}, {"bits", 4}}, Json("nf4")}) {
    expect_user_error([&] { type_of(other); }, {"config.json", "quantization_config", "nf4"});
  }
}

/// tests/model/transformers_parity.py compares every architecture's with the reference.
TEST(ModelConfig, WhatIsNotSaidIsAsInTheReference) {
  const Json bare{{"architectures", {"LlamaForCausalLM"}}, {"num_attention_heads", 16}};
  const ModelConfig llama = ModelConfig::from_json(bare, "test");
  EXPECT_EQ(llama.num_kv_heads, 16);
  EXPECT_EQ(llama.max_positions, 2048);
  EXPECT_EQ(llama.vocab_size, 32000);
  Json json = version_4();
  for (const char* key : {"num_key_value_heads", "num_attention_heads"}) json.erase(key);
  EXPECT_EQ(ModelConfig::from_json(json, "test").num_kv_heads, 32);
  const Json smollm3{{"model_type", "smollm3"}};
  EXPECT_EQ(ModelConfig::from_json(smollm3, "test").ropes.front().theta, 2e6);
}

TEST(ModelConfig, NamesTheFolder) {
  const TemporaryFolder folder;
  expect_user_error([&] { ModelConfig::load(folder.path()); }, {"config.json"});
  expect_user_error([&] { ModelConfig::load(folder / "none"); }, {"not a model folder"});
  write_file(folder / "config.json", "{\"a\": }");
  expect_user_error([&] { ModelConfig::load(folder.path()); }, {"config.json", "not valid JSON"});
}

}  // namespace
}  // namespace predgen
