#include "bench/traffic/people_within.h"

#include <algorithm>

namespace predgen {

std::optional<double> people_within(double seconds, const std::vector<PeopleTime>& times) {
  double people = 0, highest = 0;
  for (const PeopleTime& time : times) {
    const double next = std::max(highest, time.seconds);
    const auto count = static_cast<double>(time.people);
    if (next > seconds) {
      return people + (count - people) * (seconds - highest) / (next - highest);
    }
    highest = next;
    people = count;
  }
  return std::nullopt;
}

}  // namespace predgen
