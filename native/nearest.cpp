// Queries in blocks against blocks of points that stay in the cache; each query keeps the k smallest numbers so far, and
// all candidates within its margin of the largest of them.
#include "nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "buffer.hpp"
#include "tasks.hpp"
#include "versions.hpp"

namespace mercer {
namespace {

constexpr Index strips_per_task = 12;
constexpr Index block_bytes = Index(1) << 17;  // of points that one strip of queries after the other is compared with
constexpr float infinity = std::numeric_limits<float>::infinity();

typedef void (*Comparison)(const NearestArguments&);

struct Candidate {
  float value;
  int64_t index;
};

// A strip of queries with what was found for them.
class Strip {
 public:
  Strip(const NearestSearch& search, Index first) : search_(search), first_(first), rows_(search.dimension * nearest_rows) {
    count_ = int(std::min(nearest_rows, search.m - first));
    for (int i = 0; i < int(nearest_rows); ++i) limit_[i] = i < count_ ? infinity : -infinity;
    for (int i = 0; i < count_; ++i)
      for (Index k = 0; k < search.dimension; ++k)
        rows_.get()[k * nearest_rows + i] = -2.0f * search.queries[(first + i) * search.dimension + k];
  }

  const float* rows() const { return rows_.get(); }
  const float* limit() const { return limit_; }

  static void offer(void* owner, int row, Index panel, const float* values) {
    static_cast<Strip*>(owner)->look(row, panel, values);
  }

  void finish() {
    for (int i = 0; i < count_; ++i) {
      prune(i);
      std::vector<Candidate>& kept = kept_[i];
      const bool fits = !lost_[i] && Index(kept.size()) <= search_.room;
      std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.index < b.index; });
      search_.count[first_ + i] = fits ? int64_t(kept.size()) : -1;
      for (std::size_t c = 0; fits && c < kept.size(); ++c)
        search_.index[(first_ + i) * search_.room + Index(c)] = kept[c].index;
    }
  }

 private:
  void look(int row, Index panel, const float* values) {
    if (row >= count_) return;
    std::vector<float>& best = best_[row];
    for (Index j = 0; j < nearest_columns; ++j) {
      if (!(values[j] < limit_[row])) continue;
      const int64_t index = int64_t(panel * nearest_columns + j);
      if (search_.own >= 0 && index == search_.own + first_ + row) continue;
      kept_[row].push_back({values[j], index});
      if (Index(best.size()) < search_.k) {
        best.push_back(values[j]);
        std::push_heap(best.begin(), best.end());
      } else if (values[j] < best.front()) {
        std::pop_heap(best.begin(), best.end());
        best.back() = values[j];
        std::push_heap(best.begin(), best.end());
      }
      if (Index(best.size()) == search_.k) {
        const double most = double(best.front()) + search_.margin[first_ + row];
        limit_[row] = std::min(limit_[row], std::nextafter(float(most), infinity));
      }
    }
    if (kept_[row].size() > std::size_t(4 * search_.room)) prune(row);
  }

  void prune(int row) {
    std::vector<Candidate>& kept = kept_[row];
    const float limit = limit_[row];
    kept.erase(std::remove_if(kept.begin(), kept.end(), [limit](const Candidate& c) { return !(c.value < limit); }),
               kept.end());
    // More than there is room for, and more to come: the query is lost, and nothing more is looked for.
    if (Index(kept.size()) <= 4 * search_.room) return;
    lost_[row] = true;
    limit_[row] = -infinity;
    kept.clear();
  }

  const NearestSearch& search_;
  Index first_;
  int count_;
  Buffer<float> rows_;
  float limit_[nearest_rows];
  bool lost_[nearest_rows] = {};
  std::vector<float> best_[nearest_rows];
  std::vector<Candidate> kept_[nearest_rows];
};

}  // namespace

void find_candidates(const NearestSearch& search, const Isa& isa) {
  const Comparison compare = MERCER_VERSION(Comparison, isa, compare_points);
  const Index panels = (search.n + nearest_columns - 1) / nearest_columns;
  Buffer<float> columns(panels * search.dimension * nearest_columns), norms(panels * nearest_columns);
  for (Index j = 0; j < panels * nearest_columns; ++j) {
    const Index panel = j / nearest_columns, lane = j % nearest_columns;
    double norm = 0;
    for (Index k = 0; j < search.n && k < search.dimension; ++k) {
      const float x = search.points[j * search.dimension + k];
      columns.get()[(panel * search.dimension + k) * nearest_columns + lane] = x;
      norm += double(x) * double(x);
    }
    norms.get()[j] = j < search.n ? float(norm) : infinity;
  }
  const Index strips = (search.m + nearest_rows - 1) / nearest_rows;
  const Index tasks = (strips + strips_per_task - 1) / strips_per_task;
  const Index step = std::max(Index(1), block_bytes / (4 * nearest_columns * (search.dimension + 1)));
  share_tasks(tasks, useful_threads(search.threads, tasks, double(search.m) * double(search.n)), [&](int, Index task) {
    std::vector<Strip> some;
    some.reserve(std::size_t(strips_per_task));
    for (Index s = task * strips_per_task; s < std::min(strips, (task + 1) * strips_per_task); ++s)
      some.emplace_back(search, s * nearest_rows);
    for (Index first = 0; first < panels; first += step)
      for (Strip& strip : some)
        compare({strip.rows(), search.dimension, columns.get(), norms.get(), first, std::min(step, panels - first),
                 strip.limit(), &strip, Strip::offer});
    for (Strip& strip : some) strip.finish();
  });
}

}  // namespace mercer
