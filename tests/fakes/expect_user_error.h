#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace predgen {

/// `run` must throw a UserError of one line that holds every one of `parts`.
inline void expect_user_error(const std::function<void()>& run,
                              const std::vector<std::string>& parts) {
  try {
    run();
    ADD_FAILURE() << "no UserError; it should name " << parts.front();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
    }
  }
}

}  // namespace predgen
