#pragma once

#include <string>
#include <vector>

#include "serve/home_names.h"

namespace predgen::serve {

/// What of a home a request can mean.
struct MeantDevices {
  std::vector<HomeDevice> devices{};
  std::vector<std::string> areas{};  // that may be named as a whole
  bool is_kind = false;              // all of a kind in such an area, and not one of them
};

/// Of a home, what the user's words can mean. A small model takes any of the names that it may say;
/// this leaves it those that fit:
/// - devices whose whole name is said, case and punctuation aside, if something can be done with
///   them: "the kitchen temperature" may be a heating's as well as a sensor's;
/// - where an area's name is said, its devices; of one domain only those of which another word is
///   said, too, if there are such; and where a domain's plural is said ("the lights in the
///   kitchen"), all of that domain and no others;
/// - other devices of which a word is said that is of none of these.
/// Where no whole name is said, it is all of the home, as people call things by other names.
MeantDevices meant_by(const std::string& words, const std::vector<HomeDevice>& home);

}  // namespace predgen::serve
