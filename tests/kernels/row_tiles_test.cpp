#include "kernels/row_tiles.h"

#include <gtest/gtest.h>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

TEST(RowTiles, EveryCallHasTheSameShape) {
  const at::Tensor x = normal({1, 7, 3}, 1);
  int calls = 0;
  const at::Tensor y = in_row_tiles(x, 4, [&](const at::Tensor& rows) {
    EXPECT_EQ(rows.sizes(), (at::IntArrayRef{4, 3}));
    ++calls;
    return rows.narrow(1, 0, 2) * 2;
  });
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(at::equal(y, x.narrow(2, 0, 2) * 2));
}

}  // namespace
}  // namespace predgen
