#pragma once

namespace predgen::cli {

/// Of a terminal, in characters.
struct ScreenSize {
  int columns = 80, rows = 24;

  bool operator==(const ScreenSize&) const = default;
};

}  // namespace predgen::cli
