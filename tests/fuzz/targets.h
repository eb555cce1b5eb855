#pragma once

#include <span>
#include <string_view>

namespace predgen {

/// A reader of files that come from elsewhere. `read` gives it `input` as the file's contents and
/// uses what it gives back. Whatever the input, it may only return or throw UserError.
struct FuzzTarget {
  const char* name;  // of its folder in tests/fuzz/seeds/
  void (*read)(std::string_view input);
};

std::span<const FuzzTarget> fuzz_targets();

/// Returns whether the input was taken. Lets every exception but UserError through.
bool takes(const FuzzTarget& target, std::string_view input);

}  // namespace predgen
