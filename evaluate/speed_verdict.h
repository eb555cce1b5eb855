#pragma once

#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// What the figures of make_speed_report() mean, one line each: whether the model keeps up with a
/// voice, how many drafted tokens must be right for a draft to save time, whether Jacobi saves any.
std::string speed_verdict(const Json& report);

}  // namespace predgen::evaluate
