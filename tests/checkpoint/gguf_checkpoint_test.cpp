#include "checkpoint/gguf_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/fakes/block_scales.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/gguf_writer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr uint32_t kVocabulary = 3, kWidth = 8;

/// A Llama of one layer, without tokenizer and without most of its tensors.
GgufWriter small_llama(const std::string& architecture = "llama", uint32_t num_layers = 1) {
  GgufWriter writer;
  writer.add("general.architecture", architecture);
  const std::pair<const char*, uint32_t> sizes[] = {{"context_length", 64},
                                                    {"embedding_length", kWidth},
                                                    {"block_count", num_layers},
                                                    {"feed_forward_length", 16},
                                                    {"attention.head_count", 2}};
  for (const auto& [key, size] : sizes) writer.add(architecture + "." + key, size);
  writer.add(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
  return writer;
}

class GgufCheckpointTest : public testing::Test {
 protected:
  GgufCheckpoint open(GgufWriter writer) {
    writer.tensor("token_embd.weight", "F32", {kVocabulary, kWidth},
                  std::vector<float>(kVocabulary * kWidth, 0.5f));
    writer.write(folder_ / "a.gguf");
    return GgufCheckpoint(folder_ / "a.gguf");
  }
  void expect_refused(const GgufWriter& writer, std::vector<std::string> parts) {
    const GgufCheckpoint checkpoint = open(writer);
    parts.emplace_back("a.gguf");
    expect_user_error([&] { checkpoint.read_config(); }, parts);
  }

  const TemporaryFolder folder_;
};

TEST_F(GgufCheckpointTest, ReadsAConfiguration) {
  const ModelConfig config = open(small_llama()).read_config();
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.vocab_size, kVocabulary);
  EXPECT_EQ(config.num_kv_heads, 2);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);  // not the float32 that is stored
  EXPECT_EQ(config.ropes.front().theta, 10000.0);
  EXPECT_TRUE(config.tie_word_embeddings);
  const ModelConfig mistral =
      open(small_llama().add("llama.attention.sliding_window", 16u)).read_config();
  EXPECT_EQ(mistral.architecture, "MistralForCausalLM");
  EXPECT_EQ(mistral.layer(0).attention.window, 16);
}

/// Llama's queries are in another order there.
TEST_F(GgufCheckpointTest, ScalesOfBlocksGoWithTheirRows) {
  for (const auto& [type, size] : {std::pair{"Q4_K", 144}, {"Q6_K", 210}}) {
    GgufWriter writer = small_llama().add("llama.attention.key_length", 128u);
    std::string blocks(static_cast<size_t>(256 * size), '\0');
    for (size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = static_cast<char>((i * 37 + i / 256) % 0x70);
    }
    const GgufCheckpoint checkpoint =
        open(writer.tensor("blk.0.attn_q.weight", type, {256, 256}, blocks));
    const auto tensors = checkpoint.open_tensors();
    const char* name = "model.layers.0.self_attn.q_proj.weight";
    const CodeLayout layout = tensors->code_layout(name).value();
    ASSERT_NE(layout.blocks, BlockScales::kNone);
    const CodedRows rows = tensors->read_codes(name, 3, 200);
    EXPECT_FALSE(at::equal(rows.scales[1], rows.scales[2]));
    const auto [scales, offsets] = scales_of_blocks(rows, layout);
    EXPECT_TRUE(at::equal(scales, rows.scales)) << type;
    EXPECT_TRUE(at::equal(offsets, rows.offsets)) << type;
  }
}

TEST_F(GgufCheckpointTest, RefusesWhatWouldChangeTheResult) {
  expect_refused(small_llama("mamba"), {"\"mamba\"", "llama", "gemma3"});
  expect_refused(small_llama().add("llama.expert_count", 8u), {"llama.expert_count"});
  expect_refused(small_llama().add("llama.rope.scaling.type", "longrope"), {"longrope", "yarn"});
  expect_refused(small_llama().add("llama.attention.causal", false), {"llama.attention.causal"});
  expect_refused(small_llama().add("llama.rope.scaling.attn_factor", 3.0f),
                 {"scaling.attn_factor"});
  expect_refused(small_llama().add("llama.rope.scaling.yarn_ext_factor", 0.5f),
                 {"yarn_ext_factor"});
  expect_refused(small_llama().add("llama.attention.key_length_swa", 8u), {"key_length_swa"});
  expect_refused(small_llama().add("llama.final_logit_softcapping", 30.0f), {"softcapping"});
  expect_refused(small_llama().add("llama.never_heard_of", "x"), {"llama.never_heard_of"});
  expect_refused(small_llama().add("llama.rope.dimension_count", 2u), {"rope.dimension_count"});
  expect_refused(small_llama().add("llama.attention.value_length", 2u), {"value_length"});
  expect_refused(small_llama().add("llama.attention.head_count_kv", "two"), {"head_count_kv"});
  expect_refused(small_llama("qwen2").add("qwen2.attention.sliding_window", 4u),
                 {"qwen2.attention.sliding_window"});
  expect_refused(small_llama().tensor("rope_freqs.weight", "F32", {2}, std::vector<float>{3, 77}),
                 {"rope_freqs.weight", "Llama 3"});
  const float infinite = std::numeric_limits<float>::infinity();
  expect_refused(small_llama().add("llama.rope.freq_base", infinite), {"freq_base", "finite"});
  expect_refused(small_llama().add("llama.rope.scaling.factor", infinite), {"factor", "finite"});
  GgufWriter bare;
  bare.add("general.architecture", "llama");
  expect_refused(bare, {"llama.block_count", "missing"});
}

/// Layers that predict further tokens are left out; more than the file says to have are a mistake.
TEST_F(GgufCheckpointTest, OnlyLayersOfTheFileMayBeLeftOut) {
  const ModelConfig one_layer = open(small_llama()).read_config();
  const auto names = [&](uint32_t num_layers) {
    GgufWriter writer = small_llama("llama", num_layers);
    for (const char* name : {"blk.1.attn_norm.weight", "blk.2.attn_norm.weight"}) {
      writer.tensor(name, "F32", {kWidth}, std::vector<float>(kWidth));
    }
    open(writer);
    return GgufTensors(std::make_shared<const GgufFile>(folder_ / "a.gguf"), one_layer, "llama")
        .names();
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& name) {
    return std::ranges::find(all, name) != all.end();
  };
  EXPECT_TRUE(has(names(2), "mtp.blk.1.attn_norm.weight"));
  EXPECT_TRUE(has(names(2), "blk.2.attn_norm.weight"));
  EXPECT_TRUE(has(names(1), "blk.1.attn_norm.weight"));
}

TEST_F(GgufCheckpointTest, TakesWhatChangesNothing) {
  GgufWriter writer = small_llama();
  writer.add("llama.expert_count", 0u).add("llama.logit_scale", 1.0f).add("llama.vocab_size", 7u);
  writer.add("llama.attention.causal", true).add("llama.attention.key_length_swa", 4u);
  writer.add("llama.rope.scaling.attn_factor", 1.0f).add("llama.vision.block_count", 3u);
  EXPECT_EQ(open(writer).read_config_json(), open(small_llama()).read_config_json());
}

TEST_F(GgufCheckpointTest, ScalesPositionsAsLlamaCpp) {
  const auto rope = [&](auto... added) {
    GgufWriter writer = small_llama();
    (writer.add(std::string("llama.rope.") + added.first, added.second), ...);
    return open(writer).read_config().ropes.front();
  };
  const auto factor = std::pair("scaling.factor", 8.0f), older = std::pair("scale_linear", 4.0f);
  EXPECT_EQ(rope(factor).kind, RopeKind::kLinear);
  EXPECT_EQ(rope(factor).factor, 8.0);
  EXPECT_EQ(rope(older).factor, 4.0);
  EXPECT_EQ(rope(factor, older).factor, 8.0);
  EXPECT_EQ(rope(factor, std::pair("scaling.type", "none")).kind, RopeKind::kDefault);
  const auto yarn = std::pair("scaling.type", "yarn");
  EXPECT_EQ(rope(factor, yarn).original_positions, 64);
  const double usual = yarn_attention_factor(8.0);
  EXPECT_EQ(rope(factor, yarn).attention_factor, usual);
  EXPECT_EQ(rope(factor, yarn, std::pair("scaling.yarn_attn_factor", 2.0f)).attention_factor, 2.0);
  EXPECT_EQ(rope(factor, yarn, std::pair("scaling.attn_factor", 2.0f)).attention_factor, 2 * usual);
}

TEST_F(GgufCheckpointTest, SaysWhatIsMissing) {
  const GgufCheckpoint checkpoint = open(small_llama());
  EXPECT_FALSE(checkpoint.has_tokenizer());
  bool is_missing = false;
  for (const CheckpointFile& file : checkpoint.check_files()) is_missing |= file.is_missing;
  EXPECT_TRUE(is_missing);
  expect_user_error([&] { checkpoint.read_tokenizer({}); }, {"a.gguf", "tokenizer.ggml.model"});
  EXPECT_TRUE(checkpoint.read_generation().stop_tokens.empty());
  EXPECT_EQ(checkpoint.weight_files().size(), 1u);
}

TEST_F(GgufCheckpointTest, RecommendsHowToSample) {
  EXPECT_TRUE(open(small_llama()).read_generation().fields.is_null());
  GgufWriter writer = small_llama();
  writer.add("general.sampling.temp", 0.7f).add("general.sampling.top_k", 20u);
  writer.add("general.sampling.penalty_repeat", 1.05f).add("general.sampling.mirostat", 2);
  EXPECT_EQ(
      open(writer).read_generation().fields,
      Json({{"temperature", 0.7}, {"top_k", 20}, {"mirostat", 2.0}, {"repetition_penalty", 1.05}}));
  const GgufCheckpoint wrong = open(small_llama().add("general.sampling.temp", "warm"));
  expect_user_error([&] { wrong.read_generation(); }, {"a.gguf", "general.sampling.temp"});
}

TEST_F(GgufCheckpointTest, HasALabel) {
  const CheckpointLabel label =
      open(small_llama().add("general.name", "Small").add("general.license", "mit")).read_label();
  EXPECT_EQ(label.architecture, "llama");
  EXPECT_EQ(label.name, "Small");
  EXPECT_EQ(label.licence, "mit");
  EXPECT_EQ(label.type, "F32");
  EXPECT_EQ(label.num_parameters, kVocabulary * kWidth);
  EXPECT_EQ(label.context, 64);
}

TEST_F(GgufCheckpointTest, IsToldByItsFirstBytes) {
  open(small_llama());
  std::filesystem::rename(folder_ / "a.gguf", folder_ / "model.bin");
  EXPECT_TRUE(GgufCheckpoint::is_at(folder_ / "model.bin"));
  EXPECT_FALSE(GgufCheckpoint::is_at(folder_.path()));
  EXPECT_FALSE(GgufCheckpoint::is_at(folder_ / "none.gguf"));
}

}  // namespace
}  // namespace predgen
