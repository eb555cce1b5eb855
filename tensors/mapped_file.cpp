#include "tensors/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace predgen {

MappedFile::MappedFile(const std::filesystem::path& file)
    : where_(file.string()), descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_.value < 0) {
    throw UserError("{}: cannot be opened: {}", where_, std::strerror(errno));
  }
  struct stat status {};
  const bool regular = fstat(descriptor_.value, &status) == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<size_t>(status.st_size) : 0;
  void* address = MAP_FAILED;
  if (size_ > 0) {
    address = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                   descriptor_.value, 0);
  }
  const int reason = errno;
  if (!regular) throw UserError("{}: is not a file", where_);
  if (size_ == 0) throw UserError("{}: is empty", where_);
  if (address == MAP_FAILED) {
    throw Error("{}: cannot be mapped: {}", where_, std::strerror(reason));
  }
  data_ = static_cast<char*>(address);
}

MappedFile::~MappedFile() { munmap(data_, size_); }

MappedFile::Descriptor::~Descriptor() {
  if (value >= 0) close(value);
}

void MappedFile::forget(size_t begin, size_t end) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::read(char* target, size_t num_bytes, size_t offset) const {
  while (num_bytes > 0) {
    const ssize_t count = pread(descriptor_.value, target, num_bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error("{}: cannot be read: {}", where_, std::strerror(errno));
    if (count == 0) {
      throw UserError("{}: has become shorter while it was read: copy it here again", where_);
    }
    target += count;
    num_bytes -= static_cast<size_t>(count);
    offset += static_cast<size_t>(count);
  }
}

}  // namespace predgen
