#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/clock.h"

namespace predgen {

/// What forward passes take: of a model by how many tokens they run, of a prompt and of a draft
/// alike, and of the draft model beside it. A value; made by given(), measure_prices() or
/// roofline(). By default nothing is known of them: all passes cost the same.
class PassPrices {
 public:
  /// So much for the weights that a pass reads, and so much for each token that it runs.
  struct Line {
    Seconds per_pass{0}, per_token{0};
  };
  /// What a pass over so many tokens took.
  struct Point {
    int64_t num_tokens = 0;
    Seconds seconds{0};
  };

  PassPrices() = default;
  static PassPrices given(Seconds per_pass, Seconds per_token = Seconds(0));
  /// At least one point, the first over one token, in ascending order. Between two of them a price
  /// is on the line through them, behind the last on that through the last two.
  static PassPrices measured(std::vector<Point> points);
  /// These, with what `own` says of a model as those of the draft model.
  PassPrices with_draft_model(const PassPrices& own) const;

  bool is_known() const { return model_.index() != 0; }
  /// Whether no token more costs anything: given so, or not known.
  bool is_flat() const;
  /// Of a pass over `num_tokens`, at least one. Error where that is not known.
  Seconds of(int64_t num_tokens) const;
  /// How many more tokens a pass may have for what `steps` passes over one token cost. No bound if
  /// that is not known, or they cost nothing.
  int64_t tokens_for(double steps) const;
  /// What was given; null if these were not.
  const Line* line() const { return std::get_if<Line>(&model_); }

  /// What a pass of the draft model over one token costs, in such passes of the model. 1 where
  /// either is not known.
  double draft_price() const;
  /// Those of the draft model by itself.
  PassPrices of_draft_model() const;

 private:
  using Curve = std::variant<std::monostate, Line, std::vector<Point>>;
  Curve model_, draft_model_;
};

}  // namespace predgen
