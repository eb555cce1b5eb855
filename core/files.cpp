#include "core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.h"

namespace predgen {

namespace fs = std::filesystem;

namespace {

void sync_path(const fs::path& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) throw Error("cannot open {}: {}", path.string(), std::strerror(errno));
  const int result = fsync(descriptor);
  const int reason = errno;
  close(descriptor);
  if (result != 0) throw Error("cannot write {}: {}", path.string(), std::strerror(reason));
}

/// For an output file whose name the user has chosen.
[[noreturn]] void fail_to_open(const fs::path& file, int reason) {
  std::error_code error;
  const fs::path folder = file.parent_path();
  if (reason == ENOENT && !folder.empty() && !fs::exists(folder, error)) {
    throw UserError("cannot write {}: there is no folder {}", file.string(), folder.string());
  }
  throw UserError("cannot write {}: {}", file.string(), std::strerror(reason));
}

}  // namespace

std::string read_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) throw UserError("{}: no such file", file.string());
  if (fs::is_directory(file, error)) throw UserError("{}: is a folder, not a file", file.string());
  std::ifstream stream(file, std::ios::binary);
  std::string contents((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) throw UserError("{}: cannot be read: {}", file.string(), std::strerror(errno));
  return contents;
}

void publish_file(const fs::path& temporary, const fs::path& file) {
  sync_path(temporary, O_RDONLY);
  std::error_code error;
  fs::rename(temporary, file, error);
  if (error) throw Error("cannot write {}: {}", file.string(), error.message());
  sync_path(file.has_parent_path() ? file.parent_path() : fs::path("."), O_RDONLY | O_DIRECTORY);
}

void write_file(const fs::path& file, std::string_view contents) {
  write_file(file, [&](std::ostream& stream) {
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  });
}

void write_file(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  fs::path temporary = file;
  temporary += ".tmp";
  try {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream) fail_to_open(file, errno);
    write(stream);
    stream.close();
    if (!stream) throw Error("cannot write {}: {}", file.string(), std::strerror(errno));
    publish_file(temporary, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code unusable;
  if (!fs::is_directory(folder, unusable)) {
    throw UserError("{}: cannot make this folder: {}", folder.string(), error.message());
  }
}

fs::path path_beside_configs(const fs::path& path, const fs::path& config) {
  std::error_code ignored;
  if (path.empty() || path.is_absolute() || fs::exists(path, ignored)) return path;
  fs::path folder = fs::absolute(config, ignored).lexically_normal().parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() != "configs") continue;
    fs::path beside = folder.parent_path() / path;
    if (fs::exists(beside, ignored)) return beside;
  }
  return path;
}

std::string expand_variables(std::string_view text) {
  std::string result;
  while (true) {
    const size_t start = text.find("${");
    result += text.substr(0, start);
    if (start == std::string_view::npos) return result;
    const size_t end = text.find('}', start);
    if (end == std::string_view::npos) throw UserError("\"{}\": ${{ without }}", text);
    const std::string_view body = text.substr(start + 2, end - start - 2);
    const size_t fallback = body.find(":-");
    const std::string name(body.substr(0, fallback));
    if (const char* value = std::getenv(name.c_str()); value && *value) {
      result += value;
    } else if (fallback != std::string_view::npos) {
      result += body.substr(fallback + 2);
    } else {
      throw UserError("environment variable {} is not set", name);
    }
    text.remove_prefix(end + 1);
  }
}

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
