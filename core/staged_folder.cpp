#include "core/staged_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace predgen {
namespace fs = std::filesystem;

StagedFolder::StagedFolder(const fs::path& final_name)
    : final_name_(final_name),
      folder_(final_name.parent_path() /
              fmt::format(".{}.partial", final_name.filename().string())) {
  if (final_name.has_parent_path()) make_folder(final_name.parent_path());
  make_folder(folder_);
  lock_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw Error("cannot open {}: {}", folder_.string(), std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    const std::string reason = std::strerror(errno);
    close(lock_);
    if (taken) throw UserError("{}: another process is writing it", final_name.string());
    throw Error("cannot lock {}: {}", folder_.string(), reason);
  }
  for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!published_) fs::remove_all(folder_, ignored);
  close(lock_);
}

void StagedFolder::publish() {
  publish_file(folder_, final_name_);
  published_ = true;
}

}  // namespace predgen
