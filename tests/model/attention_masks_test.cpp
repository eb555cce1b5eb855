#include "model/attention_masks.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

/// What attention on CUDA asks of a mask's strides; it copies others in each layer.
TEST(AttentionMasks, RowsBeginAtMultiplesOfEight) {
  for (const int64_t past : {0, 3, 11, 13}) {
    for (const int64_t num_folded : {1, 7}) {
      constexpr int64_t kNew = 5;
      AttentionMasks masks({}, {}, kNew, past, num_folded, at::kBFloat16);
      const at::Tensor& mask = masks(/*window=*/4);
      ASSERT_EQ(mask.sizes(), (at::IntArrayRef{num_folded * kNew, past + kNew}));
      EXPECT_EQ(mask.stride(0) % 8, 0) << past;
      EXPECT_EQ(mask.stride(1), 1);
      for (int64_t i = 0; i < kNew; ++i) {
        for (int64_t key = 0; key < past + kNew; ++key) {
          const bool is_seen = key <= past + i && key > past + i - 4;
          EXPECT_EQ(mask[i][key].item<float>() == 0.0f, is_seen) << i << ", " << key;
        }
      }
    }
  }
  const at::Tensor given = at::ones({2, 1, 6, 6}, at::kBool).tril();
  AttentionMasks masks(given, at::arange(6).expand({2, 6}), 6, 0, 1, at::kFloat);
  const at::Tensor& mask = masks(/*window=*/0);
  ASSERT_EQ(mask.sizes(), given.sizes());
  for (const int64_t dimension : {0, 1, 2}) EXPECT_EQ(mask.stride(dimension) % 8, 0);
}

}  // namespace
}  // namespace predgen
