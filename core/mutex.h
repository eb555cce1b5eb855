#pragma once

#include <mutex>
#include <shared_mutex>

// Which mutex guards a member, and who must hold it, for Clang's thread-safety analysis
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). scripts/check_locks.py runs it; other
// compilers ignore all of this.
#if defined(__clang__)
#define PREDGEN_LOCKS(attribute) __attribute__((attribute))
#else
#define PREDGEN_LOCKS(attribute)
#endif

/// On a member: it is read and written only while holding the mutex.
#define GUARDED_BY(mutex) PREDGEN_LOCKS(guarded_by(mutex))
/// On a function or lambda: the caller holds the mutex.
#define REQUIRES(mutex) PREDGEN_LOCKS(requires_capability(mutex))
/// On a function that returns a reference to this mutex.
#define RETURNS_MUTEX(mutex) PREDGEN_LOCKS(lock_returned(mutex))

namespace predgen {

/// A std::mutex known to the analysis.
class PREDGEN_LOCKS(capability("mutex")) Mutex {
 public:
  void lock() PREDGEN_LOCKS(acquire_capability()) { mutex_.lock(); }
  void unlock() PREDGEN_LOCKS(release_capability()) { mutex_.unlock(); }
  bool try_lock() PREDGEN_LOCKS(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a mutex to the end of its scope, or to unlock(). A std::condition_variable_any waits with
/// it; its predicate is a lambda that REQUIRES the mutex.
class PREDGEN_LOCKS(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PREDGEN_LOCKS(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  /// Adopts a mutex that try_lock() has locked.
  Lock(Mutex& mutex, std::adopt_lock_t adopt) REQUIRES(mutex) : lock_(mutex.mutex_, adopt) {}
  ~Lock() PREDGEN_LOCKS(release_capability()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() PREDGEN_LOCKS(acquire_capability()) { lock_.lock(); }
  void unlock() PREDGEN_LOCKS(release_capability()) { lock_.unlock(); }
  /// For a std::condition_variable.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// A std::shared_mutex known to the analysis: many readers or one writer.
class PREDGEN_LOCKS(capability("mutex")) SharedMutex {
 private:
  friend class ReadLock;
  friend class WriteLock;
  std::shared_mutex mutex_;
};

/// Holds it for reading to the end of its scope.
class PREDGEN_LOCKS(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) PREDGEN_LOCKS(acquire_shared_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~ReadLock() PREDGEN_LOCKS(release_capability()) {}
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// Holds it for writing to the end of its scope.
class PREDGEN_LOCKS(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) PREDGEN_LOCKS(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~WriteLock() PREDGEN_LOCKS(release_capability()) {}
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace predgen
