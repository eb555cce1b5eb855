#include "runtime/cost/roofline.h"

namespace predgen {

std::span<const Card> cards() {
  static constexpr Card kCards[] = {{"rtx4090", "RTX 4090", 1.008e12, 165.2e12},
                                    {"h100", "H100 SXM", 3.35e12, 989.4e12}};
  return kCards;
}

PassCosts roofline(const CostedModel& model, const Card& card) {
  return PassCosts::given(Seconds(model.bytes / card.bytes_per_second),
                          Seconds(model.flops_per_token / card.flops_per_second));
}

}  // namespace predgen
