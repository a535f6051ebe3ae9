// The native core without Python, for builds with sanitizers: every parallel computation gives the same with one thread
// and with several, called from one thread and from two at once; wherever an allocation fails, the failure reaches the
// caller, after which the next call works; and numbers at the ends of what there is are taken like any others.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "computations.hpp"

// -- allocations that fail when they are told to ----------------------------------------------------------------------

namespace {

std::atomic<long> allowed{-1};  // allocations left before one fails; below 0 all succeed
std::atomic<long> made{0};

void* allocate(std::size_t size, std::size_t alignment) {
  made.fetch_add(1);
  if (allowed.load() >= 0 && allowed.fetch_sub(1) == 0) throw std::bad_alloc();
  void* found = nullptr;
  if (posix_memalign(&found, alignment, size ? size : 1)) throw std::bad_alloc();
  return found;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t to) { return allocate(size, std::size_t(to)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }

namespace mercer {
namespace {

// -- laws -------------------------------------------------------------------------------------------------------------

void same_whatever_the_threads(const std::string& name, const Computation& compute) {
  const Numbers alone = compute(1);
  expect(compute(4) == alone, name + ": four threads give what one gives");
  std::array<Numbers, 2> both;
  std::thread other([&] { both[0] = compute(3); });
  both[1] = compute(3);
  other.join();
  expect(both[0] == alone && both[1] == alone, name + ": two callers at once get what one gets");
}

// Every allocation of a computation fails once (of many, some), whatever thread it happens in.
void failures_reach_the_caller(const std::string& name, const Computation& compute) {
  const Numbers whole = compute(3);
  const long before = made.load();
  compute(3);
  const long count = made.load() - before;
  expect(count > 0, name + ": something is allocated");
  long caught = 0;
  for (long k = 0; k < count; k += std::max(1L, count / 20)) {
    allowed.store(k);
    try {
      compute(3);
    } catch (const std::bad_alloc&) {
      ++caught;
    }
    allowed.store(-1);
  }
  expect(caught > 0, name + ": a failure is thrown on");
  expect(compute(3) == whole, name + ": the next call works");
}

// What is below the normal range may be taken as zero.
template <class T>
bool is_near(T found, T expected, T units) {
  typedef std::numeric_limits<T> Limits;
  if (!std::isfinite(expected)) return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::fabs(found - expected) <= std::max(units * Limits::epsilon() * std::fabs(expected), 2 * Limits::min());
}

// A function of one number is a plan of numbers against a 1.
template <class T>
void extremes_are_numbers_like_others(const Isa& isa) {
  typedef std::numeric_limits<T> Limits;
  const T most = Limits::max(), least = Limits::min(), smallest = Limits::denorm_min(), one = 1;
  std::vector<T> x{0, one, most, most / 2, least, smallest, least / 2, Limits::infinity(), T(88.7), T(709.7), T(1e30)};
  for (std::size_t i = x.size(); i-- > 0;) x.push_back(-x[i]);
  x.push_back(Limits::quiet_NaN());
  const std::pair<Op, double (*)(double)> all[] = {{Op::exp, std::exp}, {Op::log, std::log}, {Op::log1p, std::log1p},
                                                  {Op::tanh, std::tanh}};
  const Index count = Index(x.size());
  for (const auto& [op, exact] : all) {
    const Plan<T> plan(isa, count, 1, {{Kind::dot, 1, 1, x.data(), &one, false}}, {}, {}, {{op, 0, 0, 0, 1.0, 0.0}});
    std::vector<T> found(x.size());
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(i);
    plan.dense(found.data(), rows.data(), count, 0, 1, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T taken = std::fabs(x[i]) < least ? T(0) : x[i], expected = T(exact(double(taken)));
      // In single precision an exponential has the error of x log2(e), rounded.
      const T units = op == Op::exp && sizeof(T) == 4 ? 8 + 2 * std::min(std::fabs(taken), T(90)) : T(8);
      expect(is_near(found[i], expected, units), std::string(isa.name) + ": operation " + std::to_string(int(op)) + " of " +
                                              std::to_string(x[i]) + " is " + std::to_string(found[i]) + ", not " +
                                              std::to_string(expected));
    }
  }
}

// What a task throws arrives, one exception of several, and tasks that wait for it do not wait for ever.
void exceptions_of_tasks_arrive() {
  for (const int threads : {1, 4})
    for (const Index bad : {Index(0), Index(7), Index(49)}) {
      std::atomic<Index> done{0};
      bool arrived = false;
      try {
        share_ordered_tasks(
            50, threads, [&](Index task) { return done.load() == task; },
            [&](int, Index task) {
              if (task == bad) throw std::runtime_error("task");
              done.fetch_add(1);
            });
      } catch (const std::runtime_error&) {
        arrived = true;
      }
      expect(arrived && done.load() == bad, "a task that throws is the last one");
      arrived = false;
      try {
        share_tasks(50, threads, [&](int, Index) { throw std::runtime_error("every task"); });
      } catch (const std::runtime_error&) {
        arrived = true;
      }
      expect(arrived, "one of many exceptions arrives");
    }
}

}  // namespace
}  // namespace mercer

int main(int arguments, char**) {
  using namespace mercer;
  const bool best_only = arguments > 1;  // one instruction set is enough to look for races
  exceptions_of_tasks_arrive();
  for (const Isa* const* isa = available_isas(); *isa && !(best_only && isa != available_isas()); ++isa) {
    const std::pair<const char*, Numbers (*)(const Isa&, int)> all[] = {
        {"products in float32", products<float>}, {"products in float64", products<double>},
        {"matrices in float32", matrices<float>}, {"matrices in float64", matrices<double>},
        {"machines in float32", machines<float>}, {"machines in float64", machines<double>},
        {"perceptrons in float32", perceptrons<float>}, {"perceptrons in float64", perceptrons<double>},
        {"paths", paths}, {"bits in float32", bits<float>}, {"bits in float64", bits<double>},
        {"halves in float32", halves<float>}, {"halves in float64", halves<double>},
        {"updates in float32", updates<float>}, {"updates in float64", updates<double>},
        {"divisions in float32", divisions<float>}, {"divisions in float64", divisions<double>},
        {"neighbours", neighbours}, {"words", words}, {"strings", strings}, {"trees", trees}, {"alignments", alignments},
        {"bands in float32", bands<float>}, {"bands in float64", bands<double>},
        {"signatures and warpings", signatures}};
    for (const auto& [what, compute] : all) {
      const std::string name = std::string((*isa)->name) + ": " + what;
      const auto bound = [&, compute = compute](int threads) { return compute(**isa, threads); };
      same_whatever_the_threads(name, bound);
      if (isa == available_isas()) failures_reach_the_caller(name, bound);  // allocations are the same in all of them
    }
    extremes_are_numbers_like_others<float>(**isa);
    extremes_are_numbers_like_others<double>(**isa);
  }
  stop_threads();
  std::puts("the native core gives the same with any number of threads, takes extreme numbers, and lets failures out");
}
