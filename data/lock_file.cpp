#include "data/lock_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace predgen::data {
namespace {

struct flock one_byte(short type, int64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

ByteLock::~ByteLock() {
  if (descriptor_ < 0) return;
  struct flock lock = one_byte(F_UNLCK, byte_);
  fcntl(descriptor_, F_OFD_SETLK, &lock);
}

LockFile::LockFile(const std::filesystem::path& file)
    : file_(file), descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw Error("{}: cannot be written ({})", file.string(), strerror(errno));
}

LockFile::~LockFile() { close(descriptor_); }

std::optional<ByteLock> LockFile::try_lock(int64_t byte) const {
  if (!request(F_OFD_SETLK, byte)) return std::nullopt;
  return ByteLock(descriptor_, byte);
}

ByteLock LockFile::lock(int64_t byte) const {
  request(F_OFD_SETLKW, byte);
  return {descriptor_, byte};
}

bool LockFile::request(int command, int64_t byte) const {
  struct flock lock = one_byte(F_WRLCK, byte);
  while (fcntl(descriptor_, command, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno == EINTR) continue;
    throw UserError(
        "{}: cannot be locked ({}), and by locks processes share the work: choose an output on "
        "another file system",
        file_.string(), strerror(errno));
  }
  return true;
}

void LockFile::overwrite(const std::string& text) const {
  bool done = ftruncate(descriptor_, 0) == 0;
  for (size_t written = 0; done && written < text.size();) {
    const ssize_t count = pwrite(descriptor_, text.data() + written, text.size() - written,
                                 static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    done = count > 0;
    written += done ? static_cast<size_t>(count) : 0;
  }
  if (!done || fsync(descriptor_) != 0) {
    throw Error("{}: cannot be written ({})", file_.string(), strerror(errno));
  }
}

}  // namespace predgen::data
