// Models whose matrices are stored in few bits, run so.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/load_model.h"
#include "core/error.h"
#include "model/weights/adapter.h"
#include "tests/fakes/code_books.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr CodeLayout k4Bits{32, 0, 15, true}, k6Bits{16, -32, 31, false},
    k8Bits{32, -128, 127, false};
constexpr int64_t kPromptLength = 40;

/// Logits of all tokens, in passes of `width`.
at::Tensor run_prompt(Transformer& model, int64_t width = kPromptLength, bool by_kernels = true) {
  model.set_kernels(by_kernels);
  return logits_in_passes(model, some_tokens(kPromptLength), width);
}

class StoredModel : public testing::TestWithParam<bool> {
 protected:
  StoredModel() {
    config_ = small_config();
    config_.tie_word_embeddings = GetParam();
    config_.hidden_size = 96;
    config_.intermediate_size = 160;
    config_.head_dim = 16;
    config_.initializer_range = 0.1;
    const auto model = Transformer::initialize(config_, 3, at::kFloat);
    std::map<std::string, at::Tensor> tensors = model->named_weights();
    MemoryCheckpoint::CodedMatrices coded;
    // As in files of GGUF's "Q4_K_M": not even what shares an input is all of one type.
    for (const auto& [name, tensor] : tensors) {
      if (tensor.dim() != 2 || name.ends_with("layers.0.mlp.up_proj.weight")) continue;
      const bool is_large = name.ends_with("v_proj.weight") || name.ends_with("down_proj.weight");
      const bool is_outside = !name.ends_with("_proj.weight");
      coded.emplace(name, CodedMatrix(tensor, is_large ? k6Bits : is_outside ? k8Bits : k4Bits));
    }
    checkpoint_ = std::make_unique<MemoryCheckpoint>(config_, tensors, coded);
  }
  std::unique_ptr<Transformer> load(const LoadOptions& options = {.device = "cpu"}) const {
    return load_model(*checkpoint_, {}, options);
  }

  ModelConfig config_;
  std::unique_ptr<MemoryCheckpoint> checkpoint_;
};
INSTANTIATE_TEST_SUITE_P(Tied, StoredModel, testing::Bool());

TEST_P(StoredModel, IsNearTheSameWeightsInFloat32) {
  const at::Tensor exact = run_prompt(*load({.device = "cpu", .dtype = "fp32"}));
  const double rounded = relative(run_prompt(*load({.device = "cpu", .dtype = "bf16"})), exact);
  const auto stored = load();
  EXPECT_EQ(stored->dtype(), at::kBFloat16);
  EXPECT_GT(rounded, 1e-4);
  EXPECT_LT(relative(run_prompt(*stored), exact), rounded);
  EXPECT_LT(relative(run_prompt(*stored, kPromptLength, /*by_kernels=*/false), exact), 2 * rounded);
}

TEST_P(StoredModel, KeepsMatricesInTheirBits) {
  const auto stored = load();
  for (const Linear* linear : stored->linears()) {
    const bool is_whole = linear->name.ends_with("layers.0.mlp.up_proj");
    EXPECT_EQ(linear->quantized == nullptr, is_whole) << linear->name;
    if (is_whole) {
      EXPECT_EQ(linear->weight.scalar_type(), at::kBFloat16);
      continue;
    }
    const bool is_large = linear->name.ends_with("v_proj") || linear->name.ends_with("down_proj");
    EXPECT_EQ(linear->quantized->bits(), is_large ? 8 : 4) << linear->name;
    EXPECT_LT(linear->quantized->relative_error(), 5e-4) << linear->name;
  }
  ASSERT_NE(stored->head().quantized, nullptr);
  EXPECT_EQ(stored->head().quantized->bits(), 8);
  EXPECT_ANY_THROW(stored->named_weights());
}

TEST_P(StoredModel, LoadingTellsHowFarItIs) {
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8}) {
    for (const char* dtype : {"auto", "fp32"}) {
      std::vector<double> shares;
      load(
          {.device = "cpu", .dtype = dtype, .quantization = kind, .on_progress = [&](double share) {
             shares.push_back(share);
           }});
      EXPECT_GT(shares.size(), 10u);
      EXPECT_TRUE(std::ranges::is_sorted(shares));
      EXPECT_EQ(shares.back(), 1.0) << dtype;
    }
  }
}

TEST_P(StoredModel, OneThatTheMemoryHasNoRoomForIsRefused) {
  const auto bytes = [&](const LoadOptions& options) {
    int64_t fits = 1 << 30, refused = 1;
    while (fits - refused > 1) {
      const int64_t middle = (fits + refused) / 2;
      LoadOptions bounded = options;
      bounded.most_bytes = middle;
      try {
        load(bounded);
        fits = middle;
      } catch (const UserError&) {
        refused = middle;
      }
    }
    return static_cast<double>(fits);
  };
  expect_user_error([&] { load({.device = "cpu", .most_bytes = 1}); }, {"GiB", "cpu", "smaller"});
  const double wide = bytes({.device = "cpu", .dtype = "fp32"});
  EXPECT_EQ(wide, 4.0 * static_cast<double>(config_.num_parameters()));
  EXPECT_LT(bytes({.device = "cpu"}), 0.4 * wide);
}

TEST_P(StoredModel, EmbeddingsAreRowsOfWhatIsStored) {
  const auto stored = load(), exact = load({.device = "cpu", .dtype = "fp32"});
  const at::Tensor ids = at::arange(61).unsqueeze(0);
  const auto embedded = [&](const Transformer& model) {
    return model.embed(model.read_rows(ids, {}, {}));
  };
  EXPECT_LT(relative(embedded(*stored), embedded(*exact)), 3e-3);
}

TEST_P(StoredModel, PassesOfAnyWidthHaveTheSameBits) {
  const auto stored = load();
  const at::Tensor plain = run_prompt(*stored, 1);
  for (const int64_t width : {2, 5, 17, 40})
    EXPECT_TRUE(at::equal(run_prompt(*stored, width), plain));
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(run_prompt(*stored, 5), plain));
  at::set_num_threads(before);
}

TEST_P(StoredModel, AdaptersAreAdded) {
  const auto exact = load({.device = "cpu", .dtype = "fp32"});
  LoraConfig lora;
  lora.rank = 5;
  attach_lora(*exact, lora, 2);
  for (Linear* linear : exact->linears()) {
    linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.1);
  }
  const TemporaryFolder folder;
  save_adapter(*exact, lora, folder.path());
  const auto stored = load_model(*checkpoint_, folder.path(), {.device = "cpu"});
  EXPECT_NE(stored->linears().front()->quantized, nullptr);
  EXPECT_GT(relative(run_prompt(*load()), run_prompt(*exact)), 0.1);
  EXPECT_LT(relative(run_prompt(*stored), run_prompt(*exact)), 0.03);
  EXPECT_LT(relative(run_prompt(*stored, kPromptLength, /*by_kernels=*/false), run_prompt(*exact)),
            0.03);
  stored->set_adapter_enabled(false);
  EXPECT_TRUE(at::equal(run_prompt(*stored), run_prompt(*load())));
}

TEST_P(StoredModel, ATypeThatIsAskedForUnpacks) {
  for (const char* dtype : {"fp32", "bf16"}) {
    const auto model = load({.device = "cpu", .dtype = dtype});
    for (const Linear* linear : model->linears()) EXPECT_EQ(linear->quantized, nullptr);
    EXPECT_EQ(model->dtype(), parse_dtype(dtype));
  }
  const auto stored =
      load({.device = "cpu", .dtype = "fp32", .quantization = Quantization::kStored});
  EXPECT_EQ(stored->dtype(), at::kFloat);
  EXPECT_NE(stored->linears().front()->quantized, nullptr);
  EXPECT_LT(relative(run_prompt(*stored), run_prompt(*load({.device = "cpu", .dtype = "fp32"}))),
            0.01);
}

TEST_P(StoredModel, CanBeQuantisedFurther) {
  const auto model = load({.device = "cpu", .quantization = Quantization::kInt8});
  for (const Linear* linear : model->linears()) EXPECT_EQ(linear->quantized->bits(), 8);
  const auto exact = load({.device = "cpu", .dtype = "bf16"});
  exact->quantize(Quantization::kInt8);
  EXPECT_LT(relative(run_prompt(*model), run_prompt(*exact)), 0.03);
}

TEST_P(StoredModel, ATokenThatIsNone) {
  const auto stored = load();
  KvPool pool(stored->kv_layout());
  const auto cache = pool.make_state(8);
  const TokenId beyond = 61;
  EXPECT_THROW(stored->forward({.state = cache.get(), .tokens = TokenSpan(&beyond, 1)}), Error);
}

/// A model whose linears and embeddings are stored with a code book.
struct BookModel {
  explicit BookModel(const CodeLayout& layout) : config(small_config()) {
    config.hidden_size = 128;
    config.intermediate_size = 192;
    config.head_dim = 32;
    config.initializer_range = 0.1;
    std::map<std::string, at::Tensor> tensors =
        Transformer::initialize(config, 3, at::kFloat)->named_weights();
    MemoryCheckpoint::CodedMatrices coded;
    for (const auto& [name, tensor] : tensors) {
      if (tensor.dim() == 2) coded.emplace(name, CodedMatrix(tensor, layout));
    }
    checkpoint = std::make_unique<MemoryCheckpoint>(config, tensors, coded);
  }
  std::unique_ptr<Transformer> load(const LoadOptions& options = {.device = "cpu"}) const {
    return load_model(*checkpoint, {}, options);
  }

  ModelConfig config;
  std::unique_ptr<MemoryCheckpoint> checkpoint;
};

struct Book {
  const char* name;
  CodeLayout layout;
};
class CodeBookModel : public testing::TestWithParam<Book> {};
INSTANTIATE_TEST_SUITE_P(Of, CodeBookModel,
                         testing::Values(Book{"IQ4_NL", {32, 0, 15, false, kIq4Values}},
                                         Book{"MXFP4", {32, 0, 15, false, kDoubledFp4}},
                                         Book{"NF4", {64, 0, 15, false, kNf4Values}}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(CodeBookModel, RunsInFourBitsNearTheSameWeightsInFloat32) {
  const BookModel model(GetParam().layout);
  const auto stored = model.load();
  const at::Tensor exact = run_prompt(*model.load({.device = "cpu", .dtype = "fp32"}));
  const at::Tensor rounded = run_prompt(*model.load({.device = "cpu", .dtype = "bf16"}));
  EXPECT_LT(relative(run_prompt(*stored), exact), relative(rounded, exact));
  const at::Tensor plain = run_prompt(*stored, 1);
  for (const int64_t width : {3, 17}) EXPECT_TRUE(at::equal(run_prompt(*stored, width), plain));
}

TEST_P(CodeBookModel, TakesFourBitsAndAScaleOfSixteenPerGroup) {
  const BookModel model(GetParam().layout);
  const auto stored = model.load();
  int64_t num_values = 0, num_bytes = 0;
  for (const Linear* linear : stored->linears()) {
    EXPECT_EQ(linear->quantized->bits(), 4) << linear->name;
    num_values += linear->quantized->out() * linear->quantized->in();
    num_bytes += linear->quantized->num_bytes();
  }
  EXPECT_EQ(num_bytes, num_values / 2 + 2 * num_values / GetParam().layout.group);
  EXPECT_EQ(stored->head().quantized->bits(), 4);
}

TEST(LoadAsStored, IsRefusedWhereThereIsNothingOfTheKind) {
  const auto model = small_model();
  const MemoryCheckpoint plain(model->config(), model->named_weights());
  expect_user_error(
      [&] { load_model(plain, {}, {.device = "cpu", .quantization = Quantization::kStored}); },
      {"in memory", "int8 or int4"});
  EXPECT_EQ(load_model(plain, {}, {.device = "cpu"})->dtype(), at::kFloat);
}

TEST(LoadAsStored, AMatrixThatWouldLoseMuchIsRefused) {
  const auto model = small_model();
  std::map<std::string, at::Tensor> tensors = model->named_weights();
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  // Scales below what float16 can tell apart.
  const MemoryCheckpoint tiny(model->config(), tensors,
                              {{name, CodedMatrix(tensors[name] * 1e-6, k4Bits)}});
  expect_user_error([&] { load_model(tiny, {}, {.device = "cpu"}); }, {name, "bf16"});
  EXPECT_NO_THROW(load_model(tiny, {}, {.device = "cpu", .dtype = "bf16"}));
}

}  // namespace
}  // namespace predgen
