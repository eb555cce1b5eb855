#pragma once

#include <cstdint>
#include <vector>

#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

/// Forced tokens in one pass. What a form has between two answers is shorter.
constexpr int64_t kMostForced = 64;

/// Adds to `tree`, at `place` where it begins and at each of its ends, the tokens that the
/// constraint forces there: at most `most` and kMostForced in all, and no path of the tree gets
/// longer than `deepest`. Returns the tokens, -1 the one before the tree, that have got their next
/// one so. A null `place` forces nothing.
std::vector<int64_t> add_forced(TokenTree& tree, const AnswerConstraint::PlacePtr& place,
                                int64_t most, int64_t deepest);

}  // namespace predgen
