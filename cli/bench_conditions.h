#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace predgen::cli {

/// Time since this program was started, in the system's ticks (a hundredth of a second); 0 if
/// unknown.
double seconds_since_start();

/// The part of these files that is in the page cache, before they are read, in [0,1]; nullopt if
/// the system does not say.
std::optional<double> cached_share(const std::vector<std::filesystem::path>& files);

/// Ticks in which these processors were busy, including those taken by other virtual machines;
/// `stat`: text as in /proc/stat.
long busy_ticks(const std::string& stat, const std::vector<int>& processors);

/// How much other programs use the processors that this one may use, since construction.
class OtherWork {
 public:
  OtherWork();

  /// In processors; 0 if the system does not say.
  double processors() const;
  /// One line for the user if `num_threads` threads did not get a processor each; else empty.
  std::string warning(int num_threads) const;

 private:
  double seconds() const;

  std::vector<int> processors_;
  std::chrono::steady_clock::time_point begin_;
  double seconds_at_begin_;
};

}  // namespace predgen::cli
