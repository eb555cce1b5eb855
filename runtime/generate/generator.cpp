#include "runtime/generate/generator.h"

#include "core/error.h"

namespace predgen {

std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kStopToken:
      return "stop_token";
    case StopReason::kMaxNewTokens:
      return "max_new_tokens";
    case StopReason::kCacheFull:
      return "cache_full";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kRepetition:
      return "repetition";
  }
  throw Error("unknown stop reason");
}

}  // namespace predgen
