#include "core/error.h"

namespace predgen {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw Error("{} ({}:{}: {})", message, file, line, condition);
}

}  // namespace predgen
