#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/clock.h"

namespace predgen {

/// What forward passes cost: those of a model, by how many tokens they run (prompt or draft), and
/// those of its draft model. A value; made by given(), measure_costs() or roofline(). By default
/// costs are unknown: all passes cost the same.
class PassCosts {
 public:
  /// A cost for the weights that a pass reads, and one for each token that it runs.
  struct Line {
    Seconds per_pass{0}, per_token{0};
  };
  /// What a pass over `num_tokens` tokens took.
  struct Point {
    int64_t num_tokens = 0;
    Seconds seconds{0};
  };

  PassCosts() = default;
  static PassCosts given(Seconds per_pass, Seconds per_token = Seconds(0));
  /// At least one point, the first over one token, in ascending order. Between two points costs
  /// lie on the line through them, beyond the last on the line through the last two.
  static PassCosts measured(std::vector<Point> points);
  /// These costs, with the model's costs in `own` as those of the draft model.
  PassCosts with_draft_model(const PassCosts& own) const;

  bool is_known() const { return model_.index() != 0; }
  /// Whether additional tokens cost nothing: given so, or not known.
  bool is_flat() const;
  /// Of a pass over `num_tokens`, at least one. Error where that is not known.
  Seconds of(int64_t num_tokens) const;
  /// How many more tokens a pass may have for the cost of `steps` single-token passes. No bound if
  /// that is not known, or tokens cost nothing.
  int64_t tokens_for(double steps) const;
  /// What was given; null if costs were not given.
  const Line* line() const { return std::get_if<Line>(&model_); }

  /// Cost of the draft model's single-token pass, in single-token passes of the model. 1 if either
  /// is not known.
  double draft_cost() const;
  /// The costs of the draft model by itself.
  PassCosts of_draft_model() const;

 private:
  using Curve = std::variant<std::monostate, Line, std::vector<Point>>;
  Curve model_, draft_model_;
};

/// A graphics card, by its maker's data sheet: memory bandwidth, and bfloat16 without sparsity.
struct Card {
  const char* name;   // as a cost
  const char* title;  // as people call it
  double bytes_per_second, flops_per_second;
};

std::span<const Card> cards();

/// What a roofline is made of, and a draft model's share of a cost.
struct CostedModel {
  double bytes = 0;            // that a decoding step reads: weights, without keys and values
  double flops_per_token = 0;  // two for each weight that a token meets
};

/// A pass costs its bytes over the card's bandwidth, and each token its operations over the card's
/// dense bfloat16 peak: the two never overlap, and nothing else takes time.
PassCosts roofline(const CostedModel& model, const Card& card);

}  // namespace predgen
