#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/cost/pass_costs.h"
#include "text/token_ids.h"

namespace predgen {

struct DraftWidthConfig {
  PassCosts costs{};
  bool is_by_model = false;     // each guess costs a pass of the draft model, too
  double first_rate = 2.0 / 3;  // assumed share of right guesses until some were checked
  int64_t num_masks = 0;        // after each token at most, to make guesses (MaskedDraft)
  /// The model keeps a state (SequenceState): unless all guesses are right, the right ones run
  /// again.
  bool reruns = false;
};

/// A draft, and the text that it was made for.
struct MadeDraft {
  TokenIds text{}, draft{};
};

/// How many masks after each token, at most `most`, a draft of `width` tokens has room for beside a
/// guess as long: k guessed tokens, and k masks after each and after the token before them.
int64_t masks_within(int64_t width, int64_t most);

/// How many drafted tokens a pass should have: the number that gives the most tokens per second, by
/// what a pass of each width costs and how often guesses were right lately. If the first are right,
/// later ones often are too (an n-gram continues): each place of a draft has its own rate.
class DraftWidth {
 public:
  /// UserError for a width below 1, with masks below 3.
  explicit DraftWidth(int64_t widest, const DraftWidthConfig& config = {});

  /// In [0, widest], guesses and masks together.
  int64_t best() const;
  /// Of `checked` tokens in a row the first `right` were right. 0 checked: nothing was guessed;
  /// after many such passes guesses are tried again.
  void record(int64_t checked, int64_t right);
  /// Records what `tokens`, as they are now, say of a draft; nothing if they are another text.
  void learn(const MadeDraft& made, TokenSpan tokens);

 private:
  /// Guesses at the places 0, 1, 2 - 3, 4 - 7 and from 8 on, after all before them were right.
  struct Place {
    double right = 0, tried = 0;  // lately
  };
  static constexpr double kTried = 3;  // weight, in guesses, of the rate of the places before

  int64_t widest_, num_masks_;
  std::vector<double> costs_;  // of drafts of 0, 1, .. widest_; empty: all cost the same
  double rerun_cost_ = 0;      // of a token that runs again
  Place start_;
  std::array<Place, 5> places_;
};

}  // namespace predgen
