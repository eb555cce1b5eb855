#include "core/version.h"

namespace predgen {

const char* program_version() { return PREDGEN_VERSION; }

}  // namespace predgen
