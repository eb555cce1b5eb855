#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "evaluate/model_speed.h"
#include "model/memory_estimate.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/small_models.h"

namespace predgen::evaluate {
namespace {

// Sizes that can be packed into 4 bits too.
ModelConfig wide_config(bool tied) {
  ModelConfig config = small_config();
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.head_dim = 16;
  config.tie_word_embeddings = tied;
  return config;
}

constexpr const char* kEmbedding = "model.embed_tokens.weight";

/// Of all weights but those of linear layers and, if it is only looked up in, the embedding.
int64_t other_bytes(const Transformer& model, bool tied) {
  size_t total = 0;
  for (const auto& [name, tensor] : model.named_weights()) {
    if (name.ends_with("_proj.weight") || (name == kEmbedding && !tied)) continue;
    total += tensor.nbytes();
  }
  return static_cast<int64_t>(total);
}

TEST(DecodeBytes, AreThoseOfTheTensors) {
  for (const bool tied : {true, false}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const auto model = Transformer::initialize(wide_config(tied), 1, type);
      int64_t linear = 0;
      for (const Linear* layer : model->linears()) {
        linear += static_cast<int64_t>(layer->weight.nbytes());
      }
      EXPECT_EQ(decode_bytes(*model, Quantization::kNone).weights,
                linear + other_bytes(*model, tied))
          << tied << type;
    }
  }
}

TEST(DecodeBytes, OfQuantisedLayersAreThoseOfTheirPackedForm) {
  for (const Quantization kind : {Quantization::kInt8, Quantization::kInt4}) {
    const auto model = Transformer::initialize(wide_config(true), 1, at::kBFloat16);
    const int64_t others = other_bytes(*model, false);  // the head becomes a copy
    model->quantize(kind);
    const ModelConfig& config = model->config();
    int64_t packed = quantized_bytes(config.vocab_size, config.hidden_size, Quantization::kInt8);
    for (const Linear* layer : model->linears()) packed += layer->quantized->num_bytes();
    EXPECT_EQ(decode_bytes(*model, kind).weights, packed + others);
  }
}

TEST(DecodeBytes, OfWhatRunsAsStoredAreThoseOfTheStoredForm) {
  for (const bool tied : {true, false}) {
    const auto plain = Transformer::initialize(wide_config(tied), 1, at::kBFloat16);
    MemoryCheckpoint::CodedMatrices coded;
    for (const auto& [name, tensor] : plain->named_weights()) {
      if (tensor.dim() == 2) coded.emplace(name, CodedMatrix(tensor, {32, -8, 7, false}));
    }
    const MemoryCheckpoint checkpoint(plain->config(), plain->named_weights(), coded);
    const auto model = load_model(checkpoint, {}, {.device = "cpu"});
    int64_t packed = model->head().quantized->num_bytes();
    for (const Linear* layer : model->linears()) packed += layer->quantized->num_bytes();
    int64_t norms = other_bytes(*plain, false);
    if (!tied) norms -= static_cast<int64_t>(plain->head().weight.nbytes());
    for (const Quantization kind : {Quantization::kNone, Quantization::kStored}) {
      EXPECT_EQ(decode_bytes(*model, kind).weights, packed + norms) << tied;
    }
  }
}

/// Of two experts of four, half of what all have is read.
TEST(DecodeBytes, AreOfTheExpertsThatATokenChooses) {
  ModelConfig config = wide_config(true);
  config.layers.front().experts = {.count = 4, .chosen = 2, .width = 32};
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt4}) {
    const auto model = Transformer::initialize(config, 1, at::kBFloat16);
    const int64_t others = other_bytes(*model, kind == Quantization::kNone);
    if (kind != Quantization::kNone) model->quantize(kind);
    int64_t experts = 0, linears = 0;
    for (const Linear* layer : model->linears()) {
      const int64_t bytes = layer->quantized ? layer->quantized->num_bytes()
                                             : static_cast<int64_t>(layer->weight.nbytes());
      (layer->is_module ? linears : experts) += bytes;
    }
    const int64_t head = kind == Quantization::kNone ? 0 : model->head().quantized->num_bytes();
    const DecodeBytes bytes = decode_bytes(*model, kind);
    EXPECT_GT(experts, 0);
    EXPECT_EQ(bytes.idle, experts / 2);
    EXPECT_EQ(bytes.weights, linears + experts / 2 + others + head);
    EXPECT_LT(config.num_active_parameters(), config.num_parameters());
  }
}

/// Four layers of as many keys, two of which read those of the others.
TEST(DecodeBytes, KeysThatLayersShareAreReadByEach) {
  const auto model = Transformer::initialize(gemma4_config(), 1, at::kFloat);
  EXPECT_EQ(decode_bytes(*model, Quantization::kNone).kv_per_position, 4 * 2 * 8 * 2 * 4);
  EXPECT_EQ(kv_bytes_per_token(model->config(), 4), 2 * 2 * 8 * 2 * 4);
}

TEST(DecodeBytes, CountKeysValuesAndTheAdapter) {
  const auto model = small_model();
  DecodeBytes bytes = decode_bytes(*model, Quantization::kNone);
  // 2 layers, 2 heads of 8, keys and values, float32.
  EXPECT_EQ(bytes.kv_per_position, 2 * 2 * 8 * 2 * 4);
  EXPECT_EQ(bytes.adapter, 0);
  EXPECT_DOUBLE_EQ(bytes.per_token(10.5), static_cast<double>(bytes.weights) + 10.5 * 256);
  Linear& layer = *model->linears().front();
  layer.lora_A = at::zeros({4, 32});
  layer.lora_B = at::zeros({32, 4});
  bytes = decode_bytes(*model, Quantization::kNone);
  EXPECT_EQ(bytes.adapter, 2 * 4 * 32 * 4);
  EXPECT_DOUBLE_EQ(bytes.per_token(0), static_cast<double>(bytes.weights + bytes.adapter));
}

}  // namespace
}  // namespace predgen::evaluate
