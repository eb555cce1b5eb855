// Which passes by the kernels for GPUs are one graph, and the bits of those that share none.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/error.h"
#include "model/weights/lora.h"
#include "tests/model/gpu/emulated_kernels.h"
#include "tests/model/gpu/kernel_models.h"

namespace predgen {
namespace {

constexpr int64_t kCapacity = 400;

class GpuPassKinds : public testing::Test {
 protected:
  GpuPassKinds() : model_(Transformer::initialize(config_of(Kind::kNormBefore), 1, at::kFloat)) {
    randomise(*model_);
    use_kernels(*model_);
  }
  void use_kernels(Transformer& model) {
    model.set_gpu_kernels(&emulated_kernels(ThreadOrder::kAscending),
                          [this](const PassWork& work) -> PassWork {
                            if (is_full_) {
                              throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full");
                            }
                            ++num_captures_;
                            return work;  // what a capture launches does not run
                          });
  }
  /// Logits of decoding, drafts and prompts as a conversation mixes them.
  at::Tensor converse() const {
    KvPool pool(model_->kv_layout());
    const auto cache = pool.make_state(kCapacity);
    std::vector<at::Tensor> logits;
    uint64_t seed = 0;
    for (const int64_t width : {11, 1, 6, 8, 1, 40, 3, 1, 2}) {
      const TokenIds tokens = kernel_tokens(width, ++seed);
      for (const int64_t num_logits : {int64_t{1}, width}) {
        logits.push_back(
            model_->forward({.state = cache.get(), .tokens = tokens, .num_logits = num_logits}));
        if (num_logits == 1) cache->return_to(cache->length() - width);
      }
    }
    return at::cat(logits);
  }

  std::unique_ptr<Transformer> model_;
  int num_captures_ = 0;
  bool is_full_ = false;
};

TEST_F(GpuPassKinds, DoNotDependOnTheContext) {
  KvPool pool(model_->kv_layout());
  const auto cache = pool.make_state(kCapacity);
  for (const int64_t width : {1, 64, 3, 64, 4, 64, 1, 2}) {
    const TokenIds tokens = kernel_tokens(width);
    model_->forward({.state = cache.get(), .tokens = tokens});
  }
  EXPECT_EQ(num_captures_, 4);  // 1, 2, 3 and 4, 64
}

/// A draft of 64 after a token is no pass of 128.
TEST_F(GpuPassKinds, ArePaddedToEights) {
  KvPool pool(model_->kv_layout());
  const auto cache = pool.make_state(kCapacity);
  GpuKernels counting = emulated_kernels(ThreadOrder::kAscending);
  static std::vector<int> widths;
  widths.clear();
  counting.embed = [](GpuType, const GpuEmbedding& embedding, void*) {
    widths.push_back(embedding.num_tokens);
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full");  // no need to go on
  };
  model_->set_gpu_kernels(&counting);
  for (const int64_t width : {3, 16, 17, 33, 65, 73}) {
    EXPECT_THROW(model_->forward({.state = cache.get(), .tokens = kernel_tokens(width)}),
                 c10::OutOfMemoryError);
  }
  EXPECT_EQ(widths, (std::vector{4, 16, 24, 40, 72, 128}));
}

/// A part of a prompt does not read the head.
TEST_F(GpuPassKinds, WithoutLogitsThereIsNoHead) {
  KvPool pool(model_->kv_layout());
  const auto first = pool.make_state(kCapacity), second = pool.make_state(kCapacity);
  const TokenIds prompt = kernel_tokens(20), next = kernel_tokens(3, 2);
  const auto launches = [&](SequenceState& cache, int64_t num_logits) {
    const int64_t before = num_emulated_launches();
    const at::Tensor logits =
        model_->forward({.state = &cache, .tokens = prompt, .num_logits = num_logits});
    EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{num_logits, kVocab}));
    return num_emulated_launches() - before;
  };
  const int64_t with = launches(*first, 1);
  EXPECT_LT(launches(*second, 0), with);  // without the last norm
  EXPECT_TRUE(model_->forward({.state = second.get(), .tokens = next, .num_logits = 3})
                  .equal(model_->forward({.state = first.get(), .tokens = next, .num_logits = 3})));
}

/// They come in every length: a graph of each would be one for a single use.
TEST_F(GpuPassKinds, LongPassesOfSeveralSequencesAreNoGraphs) {
  KvPool pool(model_->kv_layout());
  const auto first = pool.make_state(kCapacity), second = pool.make_state(kCapacity);
  const TokenIds tokens = kernel_tokens(70);
  const int64_t before = num_emulated_launches();
  EXPECT_EQ(model_
                ->forward(std::vector<SequenceStep>{{.state = first.get(), .tokens = tokens},
                                                    {.state = second.get(), .tokens = tokens}})
                .size(0),
            2);
  EXPECT_GT(num_emulated_launches(), before);
  EXPECT_EQ(num_captures_, 0);
}

TEST_F(GpuPassKinds, AConversationWaitsForNoneThatWasPrepared) {
  model_->prepare_passes();
  const int prepared = num_captures_;
  // 11 widths to 72, each with one and all logits and for trees, which are the same for one token;
  // and parts of prompts, which want no logits.
  EXPECT_EQ(prepared, 10 * 3 + 1 + 1);
  const at::Tensor found = converse();
  EXPECT_EQ(num_captures_, prepared);
  model_->set_gpu_kernels(&emulated_kernels(ThreadOrder::kAscending));
  EXPECT_TRUE(found.equal(converse()));  // as without graphs
  EXPECT_EQ(num_captures_, prepared);
}

/// What a graph has fixed tells it from others: that of an adapter, of its rank and scale.
TEST_F(GpuPassKinds, AnotherAdapterIsAnotherKind) {
  KvPool pool(model_->kv_layout());
  const auto cache = pool.make_state(kCapacity);
  const TokenIds tokens = kernel_tokens(3);
  const auto num_captured = [&] {
    const int before = num_captures_;
    model_->forward({.state = cache.get(), .tokens = tokens});
    return num_captures_ - before;
  };
  EXPECT_EQ(num_captured(), 1);
  LoraConfig lora;
  lora.rank = 3;
  attach_lora(*model_, lora, 2);
  EXPECT_EQ(num_captured(), 1);
  for (Linear* linear : model_->linears()) linear->lora_scaling *= 2;
  EXPECT_EQ(num_captured(), 1);
  Linear& first = *model_->linears().front();
  first.lora_A = first.lora_A.narrow(0, 0, 2);  // where they were
  first.lora_B = first.lora_B.narrow(1, 0, 2);
  EXPECT_EQ(num_captured(), 1);
  EXPECT_EQ(num_captured(), 0);
  model_->set_adapter_enabled(false);
  EXPECT_EQ(num_captured(), 0);  // as before there was one
}

TEST_F(GpuPassKinds, ALaunchThatIsRejectedIsNamed) {
  KvPool pool(model_->kv_layout());
  const auto cache = pool.make_state(kCapacity);
  const TokenIds tokens = kernel_tokens(3);
  GpuKernels failing = emulated_kernels(ThreadOrder::kAscending);
  failing.error = [] { return "planted"; };
  model_->set_gpu_kernels(&failing);
  try {
    model_->forward({.state = cache.get(), .tokens = tokens});
    ADD_FAILURE() << "a pass that was not launched";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the kernels of a pass cannot be launched: planted");
  }
  EXPECT_EQ(cache->length(), 0);
}

TEST_F(GpuPassKinds, WithoutMemoryForGraphsPassesAreTheSame) {
  const at::Tensor expected = converse();
  is_full_ = true;
  use_kernels(*model_);
  const int64_t before = num_emulated_launches();
  EXPECT_TRUE(converse().equal(expected));
  EXPECT_GT(num_emulated_launches(), before);
}

/// In bfloat16, with an adapter of some layers.
class GpuPassBits : public testing::Test {
 protected:
  GpuPassBits() : model_(Transformer::initialize(config_of(Kind::kNormBefore), 1, at::kBFloat16)) {
    randomise(*model_);
    LoraConfig lora;
    lora.rank = 3;
    lora.target_modules = {"k_proj", "down_proj"};
    attach_lora(*model_, lora, 2);
    for (Linear* linear : model_->linears()) {
      if (linear->has_adapter()) {
        linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.1);
      }
    }
    model_->join_products();
    model_->set_gpu_kernels(&emulated_kernels(ThreadOrder::kAscending));
    pool_.emplace(model_->kv_layout());
  }
  at::Tensor run(SequenceState& cache, TokenSpan tokens, const at::Tensor& tree_TT = {}) const {
    const int64_t before = num_emulated_launches();
    const at::Tensor logits = model_->forward({.state = &cache,
                                               .tokens = tokens,
                                               .num_logits = static_cast<int64_t>(tokens.size()),
                                               .tree_TT = tree_TT});
    EXPECT_GT(num_emulated_launches(), before);
    return logits;
  }

  std::unique_ptr<Transformer> model_;
  std::optional<KvPool> pool_;
};

TEST_F(GpuPassBits, PassesOfAnyWidthAndSeveralSequences) {
  const TokenIds tokens = kernel_tokens(150);
  const auto in_passes_of = [&](int64_t width, int64_t end) {
    const auto cache = pool_->make_state(kCapacity);
    std::vector<at::Tensor> logits;
    for (int64_t begin = 0; begin < end; begin += width) {
      const int64_t count = std::min(width, end - begin);
      logits.push_back(run(*cache, TokenSpan(tokens).subspan(static_cast<size_t>(begin),
                                                             static_cast<size_t>(count))));
    }
    EXPECT_EQ(cache->length(), end);
    return at::cat(logits);
  };
  const at::Tensor plain = in_passes_of(150, 150);                    // no graph
  EXPECT_FALSE(plain.to(at::kBFloat16).to(at::kFloat).equal(plain));  // the head gives float32
  for (const auto& [width, end] : {std::pair<int64_t, int64_t>{1, 24}, {5, 75}, {37, 150}}) {
    ASSERT_TRUE(in_passes_of(width, end).equal(plain.narrow(0, 0, end))) << width;
  }
  for (const int64_t width : {9, 77}) {  // a graph's pass, and a longer one
    const auto first = pool_->make_state(kCapacity), second = pool_->make_state(kCapacity);
    run(*first, TokenSpan(tokens).first(70));
    const std::vector<SequenceStep> steps{
        {.state = first.get(),
         .tokens = TokenSpan(tokens).subspan(70, static_cast<size_t>(width)),
         .num_logits = width},
        {.state = second.get(), .tokens = TokenSpan(tokens).first(80), .num_logits = 80}};
    const at::Tensor both = model_->forward(steps);
    EXPECT_TRUE(both.narrow(0, 0, width).equal(plain.narrow(0, 70, width)));
    EXPECT_TRUE(both.narrow(0, width, 80).equal(plain.narrow(0, 0, 80)));
  }
}

/// Parts have its bits.
TEST_F(GpuPassBits, WithoutMemoryForALongPass) {
  const TokenIds tokens = kernel_tokens(90);
  const auto both = [&] {
    const auto first = pool_->make_state(kCapacity), second = pool_->make_state(kCapacity);
    return model_->forward(std::vector<SequenceStep>{
        {.state = first.get(), .tokens = tokens, .num_logits = 90},
        {.state = second.get(), .tokens = TokenSpan(tokens).first(50), .num_logits = 50}});
  };
  const at::Tensor expected = both();
  GpuKernels small = emulated_kernels(ThreadOrder::kAscending);
  small.embed = [](GpuType type, const GpuEmbedding& embedding, void* stream) {
    if (embedding.num_tokens > kMaxGpuTokens) {
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full");
    }
    emulated_kernels(ThreadOrder::kAscending).embed(type, embedding, stream);
  };
  model_->set_gpu_kernels(&small);
  EXPECT_TRUE(both().equal(expected));
}

TEST_F(GpuPassBits, BranchesOfATree) {
  constexpr int64_t kNodes = 90;
  const TokenIds prompt = kernel_tokens(50), nodes = kernel_tokens(kNodes, 2);
  at::Tensor tree_TT = at::zeros({kNodes, kNodes}, at::kBool);
  auto sees = tree_TT.accessor<bool, 2>();
  for (int64_t i = 0; i < kNodes; ++i) {
    for (int64_t j = 0; j <= i; ++j) sees[i][j] = j == 0 || j % 2 == i % 2;
  }
  const auto cache = pool_->make_state(kCapacity);
  run(*cache, prompt);
  const auto before = cache->fork();
  const at::Tensor logits = run(*cache, nodes, tree_TT);
  for (const int64_t i : {1, 40, 67, 88, 89}) {
    TokenIds path;
    for (int64_t j = 0; j <= i; ++j) {
      if (sees[i][j]) path.push_back(nodes[static_cast<size_t>(j)]);
    }
    const auto alone = before->fork();
    EXPECT_TRUE(run(*alone, path)[-1].equal(logits[i])) << "node " << i;
  }
}

/// What fails half-way leaves the cache as it was.
TEST_F(GpuPassBits, PartsThatFailLeaveNothing) {
  KvPool small(model_->kv_layout(), 304);  // enough for the first part
  const auto cache = small.make_state(kCapacity);
  const TokenIds few = kernel_tokens(9), many = kernel_tokens(330);
  run(*cache, few);
  const int64_t before = num_emulated_launches();
  EXPECT_ANY_THROW(model_->forward({.state = cache.get(), .tokens = many}));
  EXPECT_GT(num_emulated_launches(), before);
  EXPECT_EQ(cache->length(), 9);
}

}  // namespace
}  // namespace predgen
