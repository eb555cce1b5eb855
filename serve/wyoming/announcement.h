#pragma once

#include <string>

#include "core/helper_process.h"

namespace predgen::serve {

/// Tells the local network of a Wyoming service by zeroconf, as long as it exists: Home Assistant
/// then offers it. Avahi's own program does that, avahi-publish-service, which waits for Avahi
/// where that does not run.
class Announcement {
 public:
  /// `name`: that people are shown.
  Announcement(const std::string& name, int port);

  /// False: the program is not there.
  bool is_made() const { return is_made_; }

 private:
  HelperProcess process_;
  bool is_made_;
};

}  // namespace predgen::serve
