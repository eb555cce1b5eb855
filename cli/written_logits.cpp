#include "cli/written_logits.h"

#include <algorithm>
#include <cstdio>

#include "checkpoint/logit_check.h"
#include "core/error.h"
#include "core/stop.h"

namespace predgen::cli {

Json check_logits(const MergedWeights& merged, const ModelWeights& stored, const LogitCheck& check,
                  const std::stop_token& stop) {
  const LogitDifference difference =
      compare_logits(merged, stored, check.device, [&] { throw_if_stopped(stop); });
  const double bound = check.max_difference > 0
                           ? check.max_difference
                           : check.share * std::max(1.0, difference.largest_logit);
  if (!(difference.max <= bound)) {  // NaN too
    throw UserError(
        "the merged model's logits differ by {:.3g} from those of base and adapter, more than "
        "{:.3g} (--max-logit-difference): nothing was written",
        difference.max, bound);
  }
  return {{"max_logit_difference", difference.max},
          {"allowed_logit_difference", bound},
          {"mean_logit_difference", difference.mean},
          {"num_positions", difference.num_positions},
          {"num_same_top_token", difference.num_same_top}};
}

void print_logits(const Json& logits, const char* origin) {
  std::printf(
      "logits: right, in float32 against %s: max difference %.3g of %.3g allowed, mean %.3g, same "
      "top token at %ld of %ld positions\n",
      origin, logits["max_logit_difference"].get<double>(),
      logits["allowed_logit_difference"].get<double>(),
      logits["mean_logit_difference"].get<double>(), logits["num_same_top_token"].get<long>(),
      logits["num_positions"].get<long>());
}

}  // namespace predgen::cli
