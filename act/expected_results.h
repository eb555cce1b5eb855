#pragma once

#include <deque>
#include <optional>
#include <string>

#include "act/tool.h"
#include "core/json.h"
#include "core/mutex.h"

namespace predgen::act {

/// What calls with effects have said, so that an answer can be drafted before the next one is made:
/// it will say what the same call said; or else what the last one of its tool, or of another tool
/// of its server, with the same names of arguments said, with the new texts in the place of the
/// old. A client's calls are guessed by its own alone. Thread-safe.
class ExpectedResults {
 public:
  /// Of a call that was done; what is long is not kept. `arguments`: a JSON object.
  void learn(const std::string& client, const Tool& tool, const std::string& arguments,
             const std::string& result);
  /// nullopt: no such call is known.
  std::optional<std::string> find(const std::string& client, const Tool& tool,
                                  const std::string& arguments) const;

 private:
  struct Known {
    std::string client, server, name;
    Json arguments;  // canonical_arguments(), so that the same ones are equal
    std::string result;
  };

  mutable Mutex mutex_;
  std::deque<Known> known_ GUARDED_BY(mutex_);  // the newest in front, each call once
};

}  // namespace predgen::act
