#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace predgen::cli {

/// Ticks in which these processors worked, those taken by other virtual machines included; `stat`:
/// text as of /proc/stat.
long busy_ticks(const std::string& stat, const std::vector<int>& processors);

/// What other programs take of the processors that this one may use, since it was made.
class OtherWork {
 public:
  OtherWork();

  /// In processors; 0 where the system does not say.
  double processors() const;
  /// One line for a user whose `num_threads` threads have not had a processor each; else empty.
  std::string warning(int num_threads) const;

 private:
  double seconds() const;

  std::vector<int> processors_;
  std::chrono::steady_clock::time_point begin_;
  double seconds_at_begin_;
};

}  // namespace predgen::cli
