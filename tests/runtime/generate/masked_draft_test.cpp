#include "runtime/generate/masked_draft.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using Path = std::vector<int64_t>;

constexpr TokenId kNear = 100, kFar = 101;

/// 5 6 7 and 5 8.
TokenTree branching_tree() {
  TokenTree tree;
  tree.add(TokenIds{5, 6, 7});
  tree.add(TokenIds{5, 8});
  return tree;
}

/// After the token before a draft of `size` and after each of it: its row's number.
at::Tensor numbered_rows(int64_t size) { return at::eye(size + 1, at::kFloat); }

TEST(MaskedDraft, MasksSeeTheirTokensPathAndThoseBeforeThem) {
  const MaskedDraft draft(branching_tree(), {0, 1, 2}, TokenIds{kNear, kFar}, 5);
  EXPECT_EQ(TokenIds(draft.tokens().begin(), draft.tokens().end()),
            (TokenIds{5, 6, 7, 8, kNear, kFar, kNear, kFar}));
  EXPECT_EQ(draft.num_masks(), 4);
  const at::Tensor expected = at::tensor({1, 0, 0, 0, 0, 0, 0, 0,  //
                                          1, 1, 0, 0, 0, 0, 0, 0,  //
                                          1, 1, 1, 0, 0, 0, 0, 0,  //
                                          1, 0, 0, 1, 0, 0, 0, 0,  //
                                          0, 0, 0, 0, 1, 0, 0, 0,  // behind the token before it
                                          0, 0, 0, 0, 1, 1, 0, 0,  //
                                          1, 0, 0, 0, 0, 0, 1, 0,  // behind the 5
                                          1, 0, 0, 0, 0, 0, 1, 1})
                                  .view({8, 8})
                                  .to(at::kBool);
  EXPECT_TRUE(at::equal(draft.sees_DD(), expected));
}

TEST(MaskedDraft, AloneOrBehindOnePathIsATreeToo) {
  const MaskedDraft alone(TokenTree(), {}, TokenIds{kNear, kFar}, 9);
  EXPECT_EQ(TokenIds(alone.tokens().begin(), alone.tokens().end()), (TokenIds{kNear, kFar}));
  EXPECT_TRUE(at::equal(alone.sees_DD(), at::ones({2, 2}, at::kBool).tril()));
  TokenTree path;
  path.add(TokenIds{5});
  const MaskedDraft behind(path, {0}, TokenIds{kNear}, 2);
  EXPECT_TRUE(at::equal(behind.sees_DD(),
                        at::tensor({1, 0, 0, 0, 1, 0, 1, 0, 1}).view({3, 3}).to(at::kBool)));
}

TEST(MaskedDraft, TheFirstPathHasMasksBeforeOthersAndEachAllOrNone) {
  const TokenTree tree = branching_tree();
  const std::vector<Path> in_order{{}, {0}, {0, 3}, {0, 1}, {0, 1, 2}};
  for (int64_t room = 0; room <= 13; ++room) {
    const MaskedDraft draft(tree, {0, 3}, TokenIds{kNear, kFar}, room);
    const int64_t num_masked = std::min<int64_t>(room / 2, 5);
    ASSERT_EQ(draft.num_masks(), 2 * num_masked) << room;
    ASSERT_EQ(std::ssize(draft.tokens()), 4 + 2 * num_masked);
    const at::Tensor logits_NV = numbered_rows(4 + 2 * num_masked);
    for (int64_t place = 0; place < 5; ++place) {
      const TokenIds expected =
          place < num_masked ? TokenIds{5 + 2 * place, 6 + 2 * place} : TokenIds();
      EXPECT_EQ(draft.guess_behind(in_order[static_cast<size_t>(place)], logits_NV), expected)
          << room << " " << place;
    }
  }
}

TEST(MaskedDraft, WhatIsForcedToGoOnHasNoMasks) {
  const MaskedDraft draft(branching_tree(), {0, 1, 2}, TokenIds{kNear}, 2, {-1, 0, 1});
  EXPECT_EQ(draft.num_masks(), 2);
  const at::Tensor logits_NV = numbered_rows(6);
  EXPECT_TRUE(draft.guess_behind({}, logits_NV).empty());
  EXPECT_TRUE(draft.guess_behind({0, 1}, logits_NV).empty());
  EXPECT_EQ(draft.guess_behind({0, 1, 2}, logits_NV), TokenIds{5});
  EXPECT_EQ(draft.guess_behind({0, 3}, logits_NV), TokenIds{6});
}

TEST(MaskedDraft, WithoutMasksIsTheTree) {
  const TokenTree tree = branching_tree();
  for (const TokenIds& masks : {TokenIds(), TokenIds{kNear, kFar}}) {
    const MaskedDraft draft(tree, {0, 1, 2}, masks, masks.empty() ? 9 : 1);
    EXPECT_EQ(draft.num_masks(), 0);
    EXPECT_TRUE(std::ranges::equal(draft.tokens(), tree.tokens()));
    EXPECT_TRUE(at::equal(draft.sees_DD(), tree.mask_GG()));
    EXPECT_TRUE(draft.guess_behind({}, numbered_rows(4)).empty());
  }
  TokenTree path;
  path.add(TokenIds{5, 6});
  EXPECT_FALSE(MaskedDraft(path, {0, 1}, {}, 9).sees_DD().defined());
}

}  // namespace
}  // namespace predgen
