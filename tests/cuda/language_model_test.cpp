// The language model on a device against the CPU in float32: passes, generation, quantised weights.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "checkpoint/load_model.h"
#include "checkpoint/save_model.h"
#include "model/quantized_weight.h"
#include "model/weights/lora.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/verifier.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int64_t kVocab = 400, kCapacity = 256;
const GenerationConfig kConfig{.max_new_tokens = 60, .stop_tokens = {}};

/// Wide enough for every kernel, with a head of its own.
ModelConfig model_config() {
  ModelConfig config = small_config();
  config.vocab_size = kVocab;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.head_dim = 32;
  config.max_positions = kCapacity;
  config.initializer_range = 0.1;
  config.tie_word_embeddings = false;
  return config;
}

TokenIds token_ids(int64_t count, uint64_t seed) {
  const at::Tensor ids = random_ids(kVocab, {count}, seed);
  return TokenIds(ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + count);
}

class LanguageModelOnDevice : public OnDevice {
 protected:
  LanguageModelOnDevice() {
    save_model(*Transformer::initialize(model_config(), 1, at::kFloat), folder_.path(), {}, "fp32");
  }
  std::unique_ptr<Transformer> load(const std::string& device, const std::string& dtype,
                                    Quantization quantization = Quantization::kNone) const {
    return load_model(*open_checkpoint(folder_.path()), {}, {device, dtype, quantization});
  }

  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, LanguageModelOnDevice, devices(), device_name);

/// Logits [N,V] on the CPU of a prefill, of single tokens, and of a block after a shorter prefix,
/// as a verification has it; then of as many tokens as fill the cache.
at::Tensor logits_of_all_passes(const Transformer& model) {
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(kCapacity);
  std::vector<at::Tensor> logits;
  const auto run = [&](int64_t count, uint64_t seed) {
    const TokenIds tokens = token_ids(count, seed);
    logits.push_back(
        model.forward({.state = cache.get(), .tokens = tokens, .num_logits = count}).cpu());
  };
  run(20, 1);
  for (uint64_t seed = 2; seed < 6; ++seed) run(1, seed);
  cache->return_to(13);
  run(16, 6);
  cache->return_to(27);
  run(kCapacity - 27, 7);
  return at::cat(logits);
}

TEST_P(LanguageModelOnDevice, LogitsAreNearThoseOfTheCpu) {
  const at::Tensor exact = logits_of_all_passes(*load("cpu", "fp32"));
  ASSERT_GT(exact.std().item<double>(), 0.5);
  const auto full = load(GetParam(), "fp32"), half = load(GetParam(), "bf16");
  EXPECT_EQ(full->device().type(), device().type());
  EXPECT_LE(largest(logits_of_all_passes(*full) - exact), 1e-3);
  const double rounded = relative(logits_of_all_passes(*half), exact);
  EXPECT_LT(rounded, 0.04);
  EXPECT_GT(rounded, 1e-4);
}

/// Passes of one kind, which a graph holds, with other tokens, caches and adapters each time; then
/// one that is too long for a graph.
TEST_P(LanguageModelOnDevice, KernelsGiveWhatOperatorsGive) {
  const auto model = load(GetParam(), "fp32");
  model->join_products();
  LoraConfig lora;
  lora.rank = 4;
  attach_lora(*model, lora, 2);
  for (Linear* linear : model->linears()) linear->lora_B.detach_().fill_(0.02);
  at::Tensor tree_TT = at::eye(6, at::kLong).to(at::kBool);
  tree_TT.select(1, 0).fill_(true);
  const auto all_logits = [&](bool by_kernels) {
    model->set_kernels(by_kernels);
    KvPool pool(model->kv_layout());
    std::vector<at::Tensor> logits;
    for (const bool is_adapted : {true, false, true}) {
      model->set_adapter_enabled(is_adapted);
      const auto first = pool.make_state(kCapacity), second = pool.make_state(kCapacity);
      for (uint64_t seed = 1; seed < 4; ++seed) {
        const TokenIds five = token_ids(5, seed), six = token_ids(6, seed);
        const std::vector<SequenceStep> steps{
            {.state = first.get(), .tokens = five, .num_logits = 5},
            {.state = second.get(), .tokens = six, .num_logits = 6, .tree_TT = tree_TT}};
        logits.push_back(model->forward(steps).cpu());
        logits.push_back(model->forward({.state = first.get(), .tokens = six}).cpu());
      }
      const TokenIds many = token_ids(70, 4);
      const std::vector<SequenceStep> steps{
          {.state = first.get(), .tokens = many, .num_logits = 70},
          {.state = second.get(), .tokens = many, .num_logits = 70}};
      logits.push_back(model->forward(steps).cpu());
    }
    return at::cat(logits);
  };
  const at::Tensor exact = all_logits(false);
  EXPECT_LE(largest(all_logits(true) - exact), 1e-3);
  EXPECT_GT(largest(exact.narrow(0, 0, 36) - exact.narrow(0, 176, 36)), 0.05);  // the adapter
}

/// What a pass reads is not written over by the next one that is asked for meanwhile.
TEST_P(LanguageModelOnDevice, PassesNeedNotBeWaitedFor) {
  const auto model = load(GetParam(), "fp32");
  const TokenIds tokens = token_ids(60, 3);
  const auto run = [&](bool waits) {
    KvPool pool(model->kv_layout());
    const auto cache = pool.make_state(kCapacity);
    std::vector<at::Tensor> logits;
    for (const TokenId& token : tokens) {
      logits.push_back(model->forward({.state = cache.get(), .tokens = TokenSpan(&token, 1)}));
      if (waits) logits.back() = logits.back().cpu();
    }
    return at::cat(logits).cpu();
  };
  EXPECT_TRUE(run(false).equal(run(true)));
}

TEST_P(LanguageModelOnDevice, WidthsShareTheirBits) {
  for (const auto& [dtype, quantization] : {std::pair{"fp32", Quantization::kNone},
                                            {"bf16", Quantization::kNone},
                                            {"bf16", Quantization::kInt8},
                                            {"bf16", Quantization::kInt4}}) {
    const auto model = load(GetParam(), dtype, quantization);
    if (quantization == Quantization::kNone) {
      LoraConfig lora;
      lora.rank = 4;
      attach_lora(*model, lora, 2);
      for (Linear* linear : model->linears()) linear->lora_B.detach_().fill_(0.02);
    }
    const TokenIds tokens = token_ids(200, 4);
    const auto run = [&](int64_t width) {
      KvPool pool(model->kv_layout());
      const auto cache = pool.make_state(kCapacity);
      std::vector<at::Tensor> logits;
      for (int64_t begin = 0; begin < 200; begin += width) {
        const int64_t count = std::min<int64_t>(width, 200 - begin);
        logits.push_back(
            model->forward({.state = cache.get(),
                            .tokens = TokenSpan(tokens).subspan(static_cast<size_t>(begin),
                                                                static_cast<size_t>(count)),
                            .num_logits = count}));
      }
      return at::cat(logits).cpu();
    };
    const at::Tensor one_by_one = run(1);
    for (const int64_t width : {2, 7, 17, 64, 72, 100, 200}) {
      EXPECT_TRUE(run(width).equal(one_by_one)) << dtype << ", " << width;
    }
  }
}

TEST_P(LanguageModelOnDevice, QuantisedModelsLoadAndGenerate) {
  const at::Tensor exact = logits_of_all_passes(*load("cpu", "fp32"));
  for (const auto& [kind, bound] :
       {std::pair{Quantization::kInt8, 0.06}, {Quantization::kInt4, 0.6}}) {
    const auto model = load(GetParam(), "auto", kind);
    const double error = relative(logits_of_all_passes(*model), exact);
    EXPECT_LT(error, bound);
    EXPECT_GT(error, 1e-3);
    Engine engine = borrowing_engine(*model);
    Sequence sequence = sequence_of(engine, token_ids(9, 1), kCapacity);
    const GenerationResult result =
        AutoregressiveGenerator(engine).generate(sequence, {}, kConfig, {});
    EXPECT_EQ(result.num_new_tokens, kConfig.max_new_tokens);
    EXPECT_GT(std::set<TokenId>(sequence.tokens().begin() + 9, sequence.tokens().end()).size(), 5u);
  }
}

TokenIds answer(Engine& engine, Generator& generator, const TokenIds& prompt) {
  Sequence sequence = sequence_of(engine, prompt, kCapacity);
  generator.generate(sequence, {}, kConfig, {});
  return TokenIds(sequence.tokens().begin() + static_cast<int64_t>(prompt.size()),
                  sequence.tokens().end());
}

/// The smallest distance between the two likeliest tokens along an answer.
double margin_of(const Transformer& model, const TokenIds& prompt, const TokenIds& answer) {
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(kCapacity);
  TokenIds tokens = prompt;
  tokens.insert(tokens.end(), answer.begin(), answer.end() - 1);
  const at::Tensor best_N2 =
      std::get<0>(model
                      .forward({.state = cache.get(),
                                .tokens = tokens,
                                .num_logits = static_cast<int64_t>(answer.size())})
                      .topk(2));
  return (best_N2.select(1, 0) - best_N2.select(1, 1)).min().item<double>();
}

TEST_P(LanguageModelOnDevice, EveryWayOfGeneratingGivesOneText) {
  const auto reference = load("cpu", "fp32"), model = load(GetParam(), "fp32");
  Engine cpu_engine = borrowing_engine(*reference), engine = borrowing_engine(*model);
  AutoregressiveGenerator on_cpu(cpu_engine), plain(engine);
  JacobiGenerator jacobi(engine, 8);
  GreedyVerifier verifier;
  int64_t num_accepted = 0, num_drafted = 0;
  int num_texts = 0;
  for (uint64_t seed = 1; num_texts < 8; ++seed) {
    ASSERT_LE(seed, 60u) << "texts with a margin are rare";
    const TokenIds prompt = token_ids(24, seed);
    const TokenIds expected = answer(cpu_engine, on_cpu, prompt);
    ASSERT_EQ(expected.size(), 60u);
    if (margin_of(*reference, prompt, expected) < kMargin) continue;
    ++num_texts;
    EXPECT_EQ(answer(engine, plain, prompt), expected) << seed;
    EXPECT_EQ(answer(engine, jacobi, prompt), expected) << seed;
    for (Generator* generator :
         {static_cast<Generator*>(&plain), static_cast<Generator*>(&jacobi)}) {
      InputTimeSpeculator speculator(engine, verifier, *generator, kCapacity);
      // The prompt arrives from its end, so that drafts are partly right: its last tokens say most.
      for (const size_t heard : {12, 18, 23, 24}) {
        TokenIds partial(prompt.begin() + 24 - static_cast<int64_t>(heard), prompt.end());
        if (heard == 23) partial = prompt, partial[0] = (partial[0] + 1) % kVocab;
        const SpeculationStep step = speculator.update(partial, "", kConfig, {});
        num_accepted += step.num_accepted;
        num_drafted += step.num_drafted;
      }
      EXPECT_EQ(TokenIds(speculator.answer().begin(), speculator.answer().end()), expected) << seed;
    }
  }
  EXPECT_GT(num_accepted, 0);
  EXPECT_LT(num_accepted, num_drafted);
}

class QuantizedWeightOnDevice : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(, QuantizedWeightOnDevice, devices(), device_name);

/// `weights` on the device times inputs of a decoding step, a block and a prefill, against the
/// product with the full matrix.
void expect_near_the_full_product(Quantization kind, double bound, at::Device device,
                                  const std::vector<std::pair<int64_t, int64_t>>& shapes) {
  for (const auto& [out, in] : shapes) {
    SCOPED_TRACE(fmt::format("{} x {}", out, in));
    const at::Tensor weight = normal({out, in}, 1);
    const QuantizedWeight quantized(weight, kind, device, "w"), on_cpu(weight, kind, at::kCPU, "w");
    EXPECT_NEAR(quantized.relative_error(), on_cpu.relative_error(), 1e-4);
    const bool is_filled_up = device.is_cuda() && (out % 16 != 0 || in % 64 != 0);
    if (!is_filled_up) {
      EXPECT_EQ(quantized.num_bytes(), on_cpu.num_bytes());
    }
    for (const int64_t rows : {1, 2, 16, 17, 130}) {
      const at::Tensor input = normal({rows, in}, 2).to(at::kBFloat16);
      const at::Tensor found = quantized(input.to(device));
      EXPECT_EQ(found.device().type(), device.type());
      EXPECT_LT(relative(found, at::linear(input.to(at::kFloat), weight)), bound) << rows;
      // The same arithmetic as on the CPU, but for roundings to bfloat16.
      EXPECT_LT(relative(found, on_cpu(input).to(at::kFloat)), 0.01) << rows;
    }
  }
}

TEST_P(QuantizedWeightOnDevice, EightBits) {
  expect_near_the_full_product(Quantization::kInt8, 0.015, device(),
                               {{48, 256}, {61, 112}, {1536, 896}, {896, 4864}});
}

TEST_P(QuantizedWeightOnDevice, FourBitsInGroupsOf128) {
  expect_near_the_full_product(Quantization::kInt4, 0.13, device(),
                               {{48, 256}, {1536, 896}, {896, 4864}});
}

TEST_P(QuantizedWeightOnDevice, FourBitsInSmallerGroups) {
  expect_near_the_full_product(Quantization::kInt4, 0.13, device(),
                               {{64, 96}, {16, 704}, {48, 64}});
}

}  // namespace
}  // namespace predgen
