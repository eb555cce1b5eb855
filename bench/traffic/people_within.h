#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace predgen {

/// How a time grows with the number of people.
struct PeopleTime {
  int64_t people = 0;
  double seconds = 0;
};

/// How many people have at most this time: between two counts by a straight line; a time that falls
/// with more people counts as the one before it. Nothing: more than the last. `times` ascend.
std::optional<double> people_within(double seconds, const std::vector<PeopleTime>& times);

}  // namespace predgen
