#include "train/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"

namespace predgen::train {

OutputLock::OutputLock(const std::filesystem::path& folder) {
  make_folder(folder);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (reason == EWOULDBLOCK) {
    throw UserError("{}: another run writes there: wait for it, or output=... starts elsewhere",
                    folder.string());
  }
  spdlog::warn("{} cannot be locked ({}): start no second run with it meanwhile", folder.string(),
               strerror(reason));
}

OutputLock::~OutputLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace predgen::train
