#pragma once

#include "text/token_ids.h"

namespace predgen::train {

/// How much two texts have in common, in [0, 1]: 1 minus the fewest tokens to insert, delete or
/// replace (Levenshtein 1966) to turn one into the other, as a share of the longer one. Two empty
/// texts agree.
double text_agreement(TokenSpan a, TokenSpan b);

}  // namespace predgen::train
