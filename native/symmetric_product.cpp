// K @ V for symmetric matrices: each tile on or above the diagonal is evaluated once and used twice, for
// K[I, J] V[J] and for K[I, J]^T V[I].
//
// A task is a tile of a group of rows I and a group of columns J, and writes to out[I] and out[J]: two
// tasks may run together only if they share neither.  Tasks are laid out like a tournament, so that
// neighbours in the list share nothing, and each waits for the earlier tasks on its two groups.  Every
// element of the result is thus summed in one order, with no copies of the result per thread.
#include <memory>

#include "tasks.hpp"

namespace mercer {
namespace {

struct Tournament {
  std::vector<Index> start;  // group g covers [start[g], start[g + 1])
  std::vector<Match> matches;
};

Tournament tournament(Index n, Index row_start, Index row_stop) {
  Tournament t;
  const Index blocks = (row_stop - row_start + row_block - 1) / row_block;
  const Index size = row_block * std::clamp(blocks / wanted_groups, Index(1), most_group_blocks);
  for (Index at = row_start; at < row_stop; at += size) t.start.push_back(at);
  const Index teams = Index(t.start.size());
  for (Index at = row_stop; at < n; at += column_group) t.start.push_back(at);
  const Index guests = Index(t.start.size()) - teams;
  t.start.push_back(n);

  std::vector<Index> played(std::size_t(teams + guests), 0);
  const auto play = [&](Index i, Index j) {
    const Index before_i = played[std::size_t(i)]++;
    const Index before_j = i == j ? before_i : played[std::size_t(j)]++;
    t.matches.push_back({int(i), int(j), int(before_i), int(before_j)});
  };
  for (Index i = 0; i < teams; ++i) play(i, i);
  // Everyone against everyone, by the circle method: the last seat stays, the others move round.
  const Index seats = teams + teams % 2;
  for (Index round = 0; round + 1 < seats; ++round)
    for (Index pair = 0; pair < seats / 2; ++pair) {
      const Index i = pair == 0 ? seats - 1 : (round + pair) % (seats - 1);
      const Index j = (round + seats - 1 - pair) % (seats - 1);
      if (i < teams && j < teams) play(std::min(i, j), std::max(i, j));
    }
  for (Index round = 0; round < std::max(guests, guests ? teams : Index(0)); ++round)
    for (Index i = 0; i < teams; ++i) {
      const Index most = std::max(teams, guests), j = (i + round) % most;
      if (j < guests) play(i, teams + j);
    }
  return t;
}

}  // namespace

template <class T>
void Plan<T>::symmetric_product(const T* V, Index r, double* out, Index row_start, Index row_stop,
                                int threads) const {
  if (row_stop <= row_start || r == 0) return;
  const Tournament t = tournament(rows_, row_start, row_stop);
  const Index tasks = Index(t.matches.size());
  threads = useful_threads(threads, tasks, double(row_stop - row_start) * double(rows_ - row_start) / 2);

  Index step = 0;
  const Buffer<T> packed = pack_right_hand_sides(V, r, step);
  struct Scratch {
    Worker worker;
    Buffer<double> sums, columns;
    Buffer<T> tile;
  };
  std::vector<Scratch> scratch;
  for (int i = 0; i < threads; ++i)
    scratch.push_back({Worker(*this, 0), Buffer<double>(row_block * r), Buffer<double>(column_group * r),
                       Buffer<T>(column_block_ * r)});
  const std::unique_ptr<std::atomic<Index>[]> played(new std::atomic<Index>[t.start.size()]());

  const auto ready = [&](Index task) {
    const Match& match = t.matches[std::size_t(task)];
    return played[std::size_t(match.i)].load(std::memory_order_acquire) == match.before_i &&
           played[std::size_t(match.j)].load(std::memory_order_acquire) == match.before_j;
  };
  share_ordered_tasks(tasks, threads, ready, [&](int w, Index task) {
    const Match& match = t.matches[std::size_t(task)];
    Scratch& s = scratch[std::size_t(w)];
    const Index row_end = t.start[std::size_t(match.i) + 1];
    const Index column_first = t.start[std::size_t(match.j)], column_end = t.start[std::size_t(match.j) + 1];
    double* columns = s.columns.get();
    std::fill(columns, columns + column_group * r, 0.0);
    for (Index i = t.start[std::size_t(match.i)]; i < row_end; i += row_block) {
      const Index count = std::min(row_block, row_end - i);
      s.worker.load_rows(nullptr, i, count);
      std::fill(s.sums.get(), s.sums.get() + row_block * r, 0.0);
      // On the diagonal the square block of these rows is complete by itself and only gathers.
      const Index square_end = match.i == match.j ? std::min(i + row_block, column_end) : column_first;
      Index j = match.i == match.j ? i : column_first;
      while (j < column_end) {
        const bool scatter = j >= square_end;
        const Index width = std::min(column_block_, (scatter ? column_end : square_end) - j);
        ContractArguments<T> c{nullptr, s.worker.step(), s.worker.padded(width), r, packed.get() + j, nullptr, step,
                               nullptr, s.tile.get(), column_block_};
        if (scatter) std::fill(s.tile.get(), s.tile.get() + column_block_ * r, T(0));
        for (Index strip = 0; strip < s.worker.strips(); ++strip) {
          c.K = s.worker.evaluate(strip, j, width);
          c.v_rows = packed.get() + i + strip * kernels_.strip;
          c.sums = s.sums.get() + strip * kernels_.strip;
          (scatter ? kernels_.gather_scatter : kernels_.gather)(c);
        }
        for (Index k = 0; scatter && k < r; ++k)
          kernels_.widen_add(s.tile.get() + k * column_block_, columns + k * column_group + j - column_first, width);
        j += width;
      }
      for (Index a = 0; a < count; ++a)
        for (Index k = 0; k < r; ++k) out[(i + a) * r + k] += s.sums.get()[k * row_block + a];
    }
    for (Index b = 0; b < column_end - column_first; ++b)
      for (Index k = 0; k < r; ++k) out[(column_first + b) * r + k] += columns[k * column_group + b];

    played[std::size_t(match.i)].store(match.before_i + 1, std::memory_order_release);
    if (match.i != match.j) played[std::size_t(match.j)].store(match.before_j + 1, std::memory_order_release);
  });
}

template void Plan<float>::symmetric_product(const float*, Index, double*, Index, Index, int) const;
template void Plan<double>::symmetric_product(const double*, Index, double*, Index, Index, int) const;

}  // namespace mercer
