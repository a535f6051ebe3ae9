// See pool.hpp.  A job is a body and a number of open places; a worker that wakes up takes a place if one
// is left, and the caller closes the remaining places when its own share is done, so that a thread the
// operating system is slow to wake costs nothing.  Jobs often follow each other within microseconds, so that both
// sides look for a moment before they sleep.  What a body throws is kept, the first of several, and thrown again by the
// caller once no worker is inside the body any more.
#include "pool.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#ifdef _WIN32
#include <process.h>
#define MERCER_PID _getpid
#else
#include <unistd.h>
#define MERCER_PID getpid
#endif

namespace mercer {
namespace {

constexpr std::chrono::microseconds patience{50};  // before a thread sleeps: about what it takes to wake it

// Look until something is true, or patience ends.
template <class F>
void look_for(F&& is_true) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < 64; ++i) {
      if (is_true()) return;
#if defined(__x86_64__) || defined(_M_X64)
      _mm_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
}

class Pool {
 public:
  explicit Pool(long process) : process(process) {}

  void run(int threads, void (*body)(void*, int), void* context) {
    std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return body(context, 0);
    {
      std::lock_guard<std::mutex> lock(state_);
      grow(threads - 1);
      body_ = body;
      context_ = context;
      next_worker_ = 1;
      places_ = threads - 1 < int(workers_.size()) ? threads - 1 : int(workers_.size());
    }
    wake_.notify_all();
    std::exception_ptr own = caught(body, context, 0);
    std::unique_lock<std::mutex> lock(state_);
    places_ = 0;
    if (running_ > 0) {
      lock.unlock();
      look_for([this] { return running_ == 0; });
      lock.lock();
    }
    done_.wait(lock, [this] { return running_ == 0; });
    const std::exception_ptr first = failure_ ? std::exchange(failure_, nullptr) : std::move(own);
    lock.unlock();
    if (first) std::rethrow_exception(first);
  }

  void stop() {
    std::lock_guard<std::mutex> turn(turn_);
    {
      std::lock_guard<std::mutex> lock(state_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  const long process;

 private:
  static std::exception_ptr caught(void (*body)(void*, int), void* context, int worker) noexcept {
    try {
      body(context, worker);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // A machine that cannot start a thread still gets its result, more slowly.
  void grow(int count) {
    try {
      while (int(workers_.size()) < count) workers_.emplace_back([this] { work(); });
    } catch (...) {
    }
  }

  void work() {
    std::unique_lock<std::mutex> lock(state_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || places_ > 0; });
      if (stopping_) return;
      --places_;
      ++running_;
      const int worker = next_worker_++;
      void (*const body)(void*, int) = body_;
      void* const context = context_;
      lock.unlock();
      std::exception_ptr failure = caught(body, context, worker);
      lock.lock();
      if (failure && !failure_) failure_ = std::move(failure);
      if (--running_ == 0) done_.notify_one();
      lock.unlock();
      look_for([this] { return stopping_ || places_ > 0; });
      lock.lock();
    }
  }

  std::mutex turn_;   // held by the caller whose job the pool is doing
  std::mutex state_;  // guards what follows
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  void (*body_)(void*, int) = nullptr;
  void* context_ = nullptr;
  std::exception_ptr failure_;  // of a worker, for the caller
  int next_worker_ = 1;
  std::atomic<int> places_{0}, running_{0};  // changed under the lock, and looked at without it
  std::atomic<bool> stopping_{false};
};

std::atomic<Pool*> current{nullptr};

// A pool inherited through fork has no threads and perhaps locked mutexes: it is abandoned, not destroyed.
Pool& pool() {
  const long process = long(MERCER_PID());
  Pool* found = current.load();
  while (!found || found->process != process) {
    Pool* fresh = new Pool(process);
    if (current.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;
  }
  return *found;
}

}  // namespace

void run_on_threads(int threads, void (*body)(void*, int), void* context) {
  if (threads <= 1) return body(context, 0);
  pool().run(threads, body, context);
}

void stop_threads() {
  Pool* found = current.load();
  if (found && found->process == long(MERCER_PID())) found->stop();
}

}  // namespace mercer
