#pragma once

#include <mutex>

// Which mutex guards a member, and who must hold it, for Clang's thread-safety analysis
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). scripts/check_locks.py asks it; other
// compilers see nothing of it.
#if defined(__clang__)
#define PREDGEN_LOCKS(attribute) __attribute__((attribute))
#else
#define PREDGEN_LOCKS(attribute)
#endif

/// On a member: it is read and written with the mutex only.
#define GUARDED_BY(mutex) PREDGEN_LOCKS(guarded_by(mutex))
/// On a function or lambda: whoever calls it holds the mutex.
#define REQUIRES(mutex) PREDGEN_LOCKS(requires_capability(mutex))
/// On a function that returns a reference to this mutex.
#define RETURNS_MUTEX(mutex) PREDGEN_LOCKS(lock_returned(mutex))

namespace predgen {

/// A std::mutex that the analysis knows.
class PREDGEN_LOCKS(capability("mutex")) Mutex {
 public:
  void lock() PREDGEN_LOCKS(acquire_capability()) { mutex_.lock(); }
  void unlock() PREDGEN_LOCKS(release_capability()) { mutex_.unlock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a mutex to the end of its scope, or to unlock(). A std::condition_variable_any waits with
/// it; its predicate is a lambda that REQUIRES the mutex.
class PREDGEN_LOCKS(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PREDGEN_LOCKS(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
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

}  // namespace predgen
