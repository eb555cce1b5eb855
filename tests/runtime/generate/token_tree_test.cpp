#include "runtime/generate/token_tree.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using Path = std::vector<int64_t>;

TEST(TokenTree, StoresASharedBeginningOnce) {
  TokenTree tree;
  EXPECT_EQ(tree.add(TokenIds{5, 6, 7}), (Path{0, 1, 2}));
  EXPECT_FALSE(tree.mask_GG().defined());  // one path
  EXPECT_EQ(tree.add(TokenIds{5, 8}), (Path{0, 3}));
  EXPECT_EQ(tree.add(TokenIds{5, 6}), (Path{0, 1}));
  EXPECT_EQ(tree.add(TokenIds{6}), (Path{4}));
  EXPECT_EQ(tree.size(), 5);
  EXPECT_EQ(TokenTree().depth(), 0);
  const at::Tensor expected = at::tensor({1, 0, 0, 0, 0,  //
                                          1, 1, 0, 0, 0,  //
                                          1, 1, 1, 0, 0,  //
                                          1, 0, 0, 1, 0,  //
                                          0, 0, 0, 0, 1})
                                  .view({5, 5})
                                  .to(at::kBool);
  EXPECT_TRUE(at::equal(tree.mask_GG(), expected));
  EXPECT_EQ(tree.add(TokenIds{5, 6, 7, 1, 2}, 6), (Path{0, 1, 2, 5}));  // one token more
  EXPECT_EQ(tree.add(TokenIds{5, 6, 4}, 6), (Path{0, 1}));
  EXPECT_EQ(tree.depth(), 4);
}

TEST(TokenTree, FindsWhatComesAfterAToken) {
  TokenTree tree;
  tree.add(TokenIds{5, 6, 7});
  tree.add(TokenIds{5, 8, 9});
  EXPECT_EQ(tree.find(-1, 5), 0);
  EXPECT_EQ(tree.find(0, 8), 3);
  EXPECT_EQ(tree.find(0, 9), std::nullopt);
  EXPECT_EQ(tree.find(4, 1), std::nullopt);
  EXPECT_EQ(tree.num_known(TokenIds{5, 8, 9, 1}), 3);
  EXPECT_EQ(tree.num_known(TokenIds{5, 9}), 1);
  EXPECT_EQ(tree.num_known(TokenIds{8}), 0);
}

}  // namespace
}  // namespace predgen
