#pragma once

#include <string>

namespace predgen::evaluate {

/// Share of a text's word 4-grams that occurred earlier in it; 0 for short texts.
double repetition(const std::string& text);

}  // namespace predgen::evaluate
