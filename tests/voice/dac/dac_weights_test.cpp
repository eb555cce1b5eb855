#include "voice/dac/dac_weights.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_dac.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/dac/dac_codec.h"

namespace predgen {
namespace {

class DacWeightsTest : public testing::Test {
 protected:
  void set(const char* key, const Json& value) {
    Json json = dac_config_json(small_dac_config());
    json[key] = value;
    write_file(folder_ / "config.json", json.dump());
  }
  void expect_refused(const char* key, const Json& value,
                      const std::vector<std::string>& parts = {}) {
    set(key, value);
    std::vector<std::string> all{"config.json", std::string("\"") + key + "\""};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_user_error([&] { DacConfig::load(folder_.path()); }, all);
  }
  /// Changes the tensors of a good folder.
  void change(const std::function<void(std::map<std::string, at::Tensor>&)>& apply) {
    write_dac(folder_.path(), small_dac_config());
    std::map<std::string, at::Tensor> tensors =
        random_tensors(dac_weight_layout(small_dac_config()), 1);
    apply(tensors);
    write_safetensors(folder_ / "model.safetensors", tensors);
  }
  void expect_refused_weights(const std::vector<std::string>& parts) {
    expect_user_error([&] { DacWeights weights(folder_.path()); }, parts);
  }

  TemporaryFolder folder_;
};

TEST_F(DacWeightsTest, OtherModelsAreCalledWhatTheyAre) {
  set("attention_dropout", 0.0);
  Json json = read_json(folder_ / "config.json");
  json["model_type"] = "llama";
  write_file(folder_ / "config.json", json.dump());
  expect_user_error([&] { DacConfig::load(folder_.path()); }, {"model_type", "llama"});
  // descript/dac_24khz
  expect_refused("downsampling_ratios", {2, 4, 5, 8}, {"not 5", "descript/dac_44khz"});
}

TEST_F(DacWeightsTest, ReadsSizes) {
  DacConfig config;
  config.encoder_size = 3;
  config.strides = {4, 2};
  config.decoder_size = 20;
  config.num_codebooks = 5;
  config.codebook_size = 11;
  config.codebook_dim = 7;
  config.sample_rate = 24000;
  write_file(folder_ / "config.json", dac_config_json(config).dump());
  const DacConfig read = DacConfig::load(folder_.path());
  EXPECT_EQ(read.encoder_size, 3);
  EXPECT_EQ(read.strides, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(read.decoder_size, 20);
  EXPECT_EQ(read.num_codebooks, 5);
  EXPECT_EQ(read.codebook_size, 11);
  EXPECT_EQ(read.codebook_dim, 7);
  EXPECT_EQ(read.sample_rate, 24000);
  EXPECT_EQ(read.hop(), 8);
  EXPECT_EQ(read.latent_size(), 12);
}

TEST_F(DacWeightsTest, DefaultsAreThoseOfTransformers) {
  write_file(folder_ / "config.json", R"({"model_type": "dac", "hidden_size": 1024,
    "hop_length": 512, "upsampling_ratios": [8, 8, 4, 2], "torch_dtype": "float32"})");
  const DacConfig config = DacConfig::load(folder_.path());
  EXPECT_EQ(config.sample_rate, 16000);
  const std::vector<WeightSpec> layout = dac_weight_layout(config);
  EXPECT_EQ(layout.size(), 223u);
  int64_t num_parameters = 0;
  for (const WeightSpec& weight : layout) num_parameters += c10::multiply_integers(weight.shape);
  EXPECT_EQ(num_parameters / 100'000, 766);  // of the released codec: 76.6 million
}

TEST_F(DacWeightsTest, RefusesConfigurations) {
  expect_refused("model_type", "encodec", {"dac"});
  expect_refused("encoder_hidden_size", 0);
  expect_refused("decoder_hidden_size", 24, {"multiple of 2^4"});
  expect_refused("decoder_hidden_size", "64");
  expect_refused("n_codebooks", 1 << 20, {"1024"});
  expect_refused("codebook_dim", 1.5);
  expect_refused("sampling_rate", -1);
  expect_refused("downsampling_ratios", {2, 4, 5, 8}, {"even", "5"});
  expect_refused("downsampling_ratios", Json::array());
  expect_refused("downsampling_ratios", "2");
  expect_refused("upsampling_ratios", {2, 4, 8, 8}, {"[8,8,4,2]"});
  expect_refused("hop_length", 256, {"512"});
  expect_refused("hidden_size", 1024, {"32"});
  expect_refused("quantization_config", {{"bits", 4}});
  expect_refused("use_causal_conv", true);
  write_file(folder_ / "config.json", "[]");
  expect_user_error([&] { DacConfig::load(folder_.path()); }, {"config.json", "object"});
}

TEST_F(DacWeightsTest, RefusesTensors) {
  const std::string name = "decoder.block.1.conv_t1.weight";
  change([&](auto& tensors) { tensors.erase(name); });
  expect_refused_weights({folder_.path().string(), name, "missing"});
  change([&](auto& tensors) { tensors["encoder.extra"] = at::ones({1}); });
  expect_refused_weights({"encoder.extra", "no part"});
  change([&](auto& tensors) { tensors[name] = tensors[name].transpose(0, 1).contiguous(); });
  expect_refused_weights({name, "[16, 32, 16]", "[32, 16, 16]"});
  change([&](auto& tensors) { tensors[name] = tensors[name].to(at::kChar); });
  expect_refused_weights({name, "Char"});
  change([](auto&) {});
  write_file(folder_ / "model.safetensors", "x");
  expect_refused_weights({"model.safetensors"});
  std::filesystem::remove(folder_ / "model.safetensors");
  expect_refused_weights({"model.safetensors"});
  std::filesystem::remove(folder_ / "config.json");
  expect_refused_weights({"config.json"});
}

TEST_F(DacWeightsTest, ComputesInFloat32WhateverIsStored) {
  change([](auto& tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.to(at::kBFloat16);
  });
  const DacDecoder narrow{DacWeights(folder_.path())};
  const at::Tensor found = narrow.decode(random_codes(narrow.config(), 3));
  change([](auto& tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.to(at::kBFloat16).to(at::kFloat);
  });
  const DacDecoder wide{DacWeights(folder_.path())};
  EXPECT_TRUE(at::equal(found, wide.decode(random_codes(wide.config(), 3))));
}

}  // namespace
}  // namespace predgen
