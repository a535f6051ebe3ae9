// What the native core computes, each with numbers that depend on nothing else, for the laws of the driver.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "../alignment.hpp"
#include "../band_squares.hpp"
#include "../divide.hpp"
#include "../half.hpp"
#include "../nearest.hpp"
#include "../paths.hpp"
#include "../smo_parts.hpp"
#include "../smo_path.hpp"
#include "../strings.hpp"
#include "../strings_words.hpp"
#include "../sweep.hpp"
#include "../trees.hpp"
#include "../update.hpp"

namespace mercer {
namespace {

typedef std::vector<double> Numbers;
typedef std::function<Numbers(int threads)> Computation;  // of numbers that depend on nothing else

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::exit(1);
}

double noise(Index i) { return std::sin(12.9898 * double(i) + 4.1414) * 0.9; }

template <class T>
std::vector<T> made_up(Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) values[std::size_t(i)] = T(noise(i));
  return values;
}

// -- what is computed -------------------------------------------------------------------------------------------------

// A Gaussian kernel, with points that outlive the plan.
template <class T>
struct Gauss {
  static constexpr Index n = 450, d = 11;
  const std::vector<T> points = made_up<T>(n * d);
  const Plan<T> plan;
  explicit Gauss(const Isa& isa)
      : plan(isa, n, n, {{Kind::sqdist, 1, d, points.data(), points.data(), true}}, {}, {},
             {{Op::exp, 0, 0, 0, -0.5, 0.0}}) {}
};

template <class T>
Numbers products(const Isa& isa, int threads) {
  typedef Gauss<T> G;
  const G gauss(isa);
  const std::vector<T> V = made_up<T>(G::n * 3);
  Numbers out(3 * G::n * 3, 0.0);
  gauss.plan.product(V.data(), 3, out.data(), 0, G::n, threads);
  gauss.plan.symmetric_product(V.data(), 3, out.data() + G::n * 3, 0, G::n, threads);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < G::n; i += 2) rows.push_back(i);
  gauss.plan.add_rows(rows.data(), Index(rows.size()), V.data(), out.data() + 2 * G::n * 3, 0, G::n, threads);
  Numbers weights(G::n, 0.5), left(G::n * 3, 1.0), back(G::n * 3, 0.0);
  gauss.plan.residuals(V.data(), 3, weights.data(), left.data(), back.data(), 0, G::n, threads);
  out.insert(out.end(), left.begin(), left.end());
  out.insert(out.end(), back.begin(), back.end());
  return out;
}

template <class T>
Numbers matrices(const Isa& isa, int threads) {
  typedef Gauss<T> G;
  const G gauss(isa);
  std::vector<T> dense(G::n * G::n), half(G::n * G::n);
  std::vector<int64_t> rows(static_cast<std::size_t>(G::n));
  for (Index i = 0; i < G::n; ++i) rows[std::size_t(i)] = int64_t(i);
  gauss.plan.dense(dense.data(), rows.data(), G::n, 0, G::n, threads);
  gauss.plan.symmetric_dense(half.data(), 0, G::n, threads);
  for (std::size_t i = 0; i < dense.size(); ++i) expect(std::fabs(double(dense[i] - half[i])) < 1e-5, "both matrices agree");
  return Numbers(dense.begin(), dense.end());
}

template <class T>
Numbers machines(const Isa& isa, int threads) {
  typedef Gauss<T> G;
  const G gauss(isa);
  constexpr Index parts = 6, size = 60;
  std::vector<int64_t> rows;
  Numbers target, lower, upper, beta(parts * size, 0.0), slope(parts * size);
  for (Index i = 0; i < parts * size; ++i) {
    rows.push_back(int64_t(i * 7 % G::n));
    target.push_back(i % 3 ? 1.0 : -1.0);
    lower.push_back(std::min(0.0, 5 * target.back()));
    upper.push_back(std::max(0.0, 5 * target.back()));
  }
  std::vector<PartScratch<T>> scratch(static_cast<std::size_t>(threads));
  share_tasks(parts, threads, [&](int worker, Index p) {
    const Index at = p * size;
    const SmoPart part{size, rows.data() + at, target.data() + at, lower.data() + at, upper.data() + at, beta.data() + at,
                       slope.data() + at};
    solve_part(gauss.plan, part, 0.0, 1e-3, 5000, scratch[std::size_t(worker)]);
  });
  return beta;
}

template <class T>
Numbers perceptrons(const Isa& isa, int threads) {
  typedef Gauss<T> G;
  const G gauss(isa);
  std::vector<int64_t> label, wrong(static_cast<std::size_t>(G::n), -1);
  for (Index i = 0; i < G::n; ++i) label.push_back(i % 5 % 3);
  const Numbers weight(static_cast<std::size_t>(G::n), 0.5);
  Numbers values(3 * G::n, 0.0), coef(values), moment(values);
  std::vector<int64_t> entered(wrong);
  const Ledger ledger{coef.data(), moment.data(), entered.data(), 3};
  sweep(gauss.plan, {G::n, 3, label.data(), weight.data(), values.data(), ledger, wrong.data(), 0, 1.0}, 7, G::n, threads);
  expect(std::count_if(wrong.begin(), wrong.end(), [](int64_t w) { return w >= 0; }) > 0, "points are mistaken");
  values.insert(values.end(), moment.begin(), moment.end());
  return values;
}

// One machine along penalties, on a corner of the matrix.
Numbers paths(const Isa& isa, int) {
  typedef Gauss<float> G;
  const G gauss(isa);
  std::vector<float> K(G::n * G::n);
  gauss.plan.symmetric_dense(K.data(), 0, G::n, 1);
  std::vector<int64_t> fit, held;
  Numbers target, lower, upper;
  for (Index i = 0; i < 131; ++i) {
    (i % 4 ? fit : held).push_back(int64_t(i * 3));
    if (i % 4 == 0) continue;
    target.push_back(i % 3 ? 1.0 : -1.0);
    lower.push_back(std::min(0.0, target.back()));
    upper.push_back(std::max(0.0, target.back()));
  }
  const Numbers penalties{0.1, 1.0, 30.0};
  Numbers values(penalties.size() * held.size());
  follow_path(kernels_of<float>(isa), SmoPath<float>{K.data(), G::n, fit.data(), held.data(), Index(fit.size()),
                                                     Index(held.size()), target.data(), lower.data(), upper.data(),
                                                     penalties.data(), Index(penalties.size()), 0.0, 1e-3, 5000,
                                                     values.data()});
  return values;
}

// Rows of zeros and ones in words of either width, with every bit of a word in use, and more words than a byte counts.
template <class T>
Numbers bits(const Isa& isa, int threads) {
  typedef std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> Word;
  constexpr Index n = 100, d = 70;
  std::vector<Word> words(n * d);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = i < d ? ~Word(0) : Word((i + 1) * 0x9E3779B97F4A7C15u >> (64 - 8 * sizeof(T)));
  std::vector<T> points(words.size()), out(n * n);
  std::memcpy(points.data(), words.data(), words.size() * sizeof(T));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < n; ++i) rows.push_back(i);
  const Plan<T> plan(isa, n, n, {{Kind::bits, 1, d, points.data(), points.data(), true}}, {}, {}, {});
  plan.dense(out.data(), rows.data(), n, 0, n, threads);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      int common = 0;
      for (Index k = 0; k < d; ++k)
        for (Word both = words[std::size_t(i * d + k)] & words[std::size_t(j * d + k)]; both; both &= both - 1) ++common;
      expect(out[std::size_t(i * n + j)] == T(common), "bits that two rows share are counted");
    }
  return Numbers(out.begin(), out.end());
}

// Half of a symmetric matrix, in strips of several heights, against the whole of it.
template <class T>
Numbers halves(const Isa& isa, int threads) {
  constexpr Index n = 517, sides = 3;
  const auto entry = [](Index i, Index j) { return T(noise(std::min(i, j) * n + std::max(i, j))); };
  std::vector<std::vector<T>> strips;
  std::vector<HalfStrip<T>> parts;
  for (Index first = 0, rows = 1; first < n; first += rows, rows = std::min(n - first, rows + 7)) {
    std::vector<T> strip;
    for (Index i = first; i < first + rows; ++i)
      for (Index j = first; j < n; ++j) strip.push_back(entry(i, j));
    strips.push_back(strip);
    parts.push_back({nullptr, rows});
  }
  for (std::size_t s = 0; s < strips.size(); ++s) parts[s].K = strips[s].data();
  const std::vector<T> V = made_up<T>(n * sides);
  Numbers out(n * sides, 1e9);
  multiply_half<T>(parts, {V.data(), sides, n, out.data(), threads}, isa);
  for (Index s = 0; s < sides; ++s)
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index j = 0; j < n; ++j) sum += double(entry(i, j)) * double(V[std::size_t(s * n + j)]);
      const double error = std::fabs(out[std::size_t(s * n + i)] - sum);
      expect(error < (sizeof(T) == 4 ? 1e-3 : 1e-10), "half of a matrix multiplies as the whole");
    }
  constexpr Index rows = 37;
  Numbers others(rows * sides);
  const std::vector<T> A = made_up<T>(rows * n);
  multiply_long<T>(A.data(), rows, {V.data(), sides, n, others.data(), threads}, isa);
  for (Index s = 0; s < sides; ++s)
    for (Index i = 0; i < rows; ++i) {
      double sum = 0;
      for (Index j = 0; j < n; ++j) sum += double(A[std::size_t(i * n + j)]) * double(V[std::size_t(s * n + j)]);
      const double error = std::fabs(others[std::size_t(s * rows + i)] - sum);
      expect(error < (sizeof(T) == 4 ? 1e-3 : 1e-10), "rows are multiplied");
    }
  out.insert(out.end(), others.begin(), others.end());
  constexpr Index wide = 2100;  // columns, which are more than one task
  Numbers sums(wide * sides);
  const std::vector<T> B = made_up<T>(n * wide);
  combine_long<T>(B.data(), wide, {V.data(), sides, n, sums.data(), threads}, isa);
  for (Index s = 0; s < sides; ++s)
    for (Index j = 0; j < wide; ++j) {
      double sum = 0;
      for (Index i = 0; i < n; ++i) sum += double(B[std::size_t(i * wide + j)]) * double(V[std::size_t(s * n + i)]);
      const double error = std::fabs(sums[std::size_t(s * wide + j)] - sum);
      expect(error < (sizeof(T) == 4 ? 1e-3 : 1e-10), "rows are combined");
    }
  out.insert(out.end(), sums.begin(), sums.end());
  // Both at once: what is left of 1 in every row, and the combination of the rows by it.
  const std::vector<T> W = made_up<T>(wide * sides);
  const Numbers right(n * sides, 1.0), scale(n, 0.5);
  Numbers left(n * sides), image(wide * sides);
  reduce_long<T>(B.data(), n, {W.data(), sides, wide, left.data(), threads}, {right.data(), scale.data(), image.data()}, isa);
  for (Index s = 0; s < sides; ++s) {
    Numbers wanted(wide, 0.0);
    for (Index i = 0; i < n; ++i) {
      double rest = 1.0;
      for (Index j = 0; j < wide; ++j) rest -= double(B[std::size_t(i * wide + j)]) * double(W[std::size_t(s * wide + j)]);
      const double error = std::fabs(left[std::size_t(s * n + i)] - rest);
      expect(error < (sizeof(T) == 4 ? 1e-2 : 1e-10), "what a combination of the columns leaves");
      for (Index j = 0; j < wide; ++j) wanted[std::size_t(j)] += 0.5 * rest * double(B[std::size_t(i * wide + j)]);
    }
    for (Index j = 0; j < wide; ++j) {
      const double error = std::fabs(image[std::size_t(s * wide + j)] - wanted[std::size_t(j)]);
      expect(error < (sizeof(T) == 4 ? 1e-1 : 1e-8), "rows are combined by what is left");
    }
  }
  out.insert(out.end(), left.begin(), left.end());
  out.insert(out.end(), image.begin(), image.end());
  return out;
}

// The nearest points: lattices have many at the same distance, and of a point that is there often enough none is told.
Numbers neighbours(const Isa& isa, int threads) {
  constexpr Index m = 203, n = 700, d = 3, k = 5, room = 40;
  std::vector<float> points(n * d);
  for (Index i = 0; i < n * d; ++i) points[std::size_t(i)] = float(i < 60 * d ? 2.0 : std::floor(3 + 3 * noise(i)));
  const Numbers margin(m, 0.25);
  Numbers found;
  for (const Index own : {Index(-1), Index(100)}) {
    const float* queries = points.data() + std::max(own, Index(0)) * d;
    std::vector<int64_t> index(m * room, -1), count(m);
    find_candidates({queries, m, points.data(), n, d, margin.data(), k, room, own, index.data(), count.data(), threads},
                    isa);
    for (Index i = 0; i < m; ++i) {
      Numbers distance;
      for (Index j = 0; j < n; ++j) {
        double sum = j == i + own && own >= 0 ? HUGE_VAL : 0;
        for (Index c = 0; c < d; ++c) sum += std::pow(queries[i * d + c] - points[std::size_t(j * d + c)], 2);
        distance.push_back(sum);
      }
      Numbers sorted(distance);
      std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end());
      std::vector<int64_t> expected;
      for (Index j = 0; j < n; ++j)
        if (distance[std::size_t(j)] <= sorted[std::size_t(k - 1)]) expected.push_back(int64_t(j));
      const int64_t many = Index(expected.size()) > room ? -1 : int64_t(expected.size());
      expect(count[std::size_t(i)] == many, "all nearest points are counted");
      expect(many < 0 || std::equal(expected.begin(), expected.end(), index.begin() + i * room), "and listed in order");
    }
    found.insert(found.end(), index.begin(), index.end());
  }
  return found;
}

// Weights of words where letters are few and where they are many, tables of windows, and squared counts.
Numbers words(const Isa&, int threads) {
  constexpr int64_t count = 400, outputs = 2;
  Numbers out(count * (3 * outputs + 1), 0.0);
  std::vector<int64_t> all;
  for (int64_t q = 0; q < count; ++q) all.push_back(q);
  const Numbers coef = made_up<double>(count * outputs);
  for (const int64_t letters : {4, 30}) {
    std::vector<int32_t> codes;
    std::vector<int64_t> starts{0};
    for (int64_t q = 0; q < count; ++q) {
      for (int64_t i = 0; i < q % 60; ++i) codes.push_back(int32_t((q * i + i * i / 3) % (letters + (q > 300))));
      starts.push_back(int64_t(codes.size()));
    }
    const Sequences known{codes.data(), starts.data(), all.data(), 300}, sequences{codes.data(), starts.data(), all.data(), count};
    WordTree tree(letters, outputs);
    expect(tree.add(known, {3, {0, 1, 2}, {0.0, 1.0, 0.5, 2.0}, false, false}, coef.data(), 1 << 20), "words fit");
    for (const int64_t first : {0, 150}) {  // in two parts
      const Sequences some{codes.data(), starts.data(), all.data() + first, 150};
      expect(tree.add(some, {5, {0, 2, 4}, {0.0, 0.0, 0.0, 1.0}, true, true}, coef.data() + first * outputs, 1 << 20),
             "placed ones, too");
    }
    tree.finish();
    tree.sum(sequences, out.data() + (letters == 4 ? 0 : count * outputs), threads);
    WordTree small(letters, outputs);
    expect(!small.add(known, {3, {0, 1, 2}, {0.0, 0.0, 0.0, 1.0}, true, false}, coef.data(), 9), "too many words are told");
    if (letters > 4) continue;
    const Numbers table = made_up<double>(64 * outputs);
    sum_window_table(sequences, letters, 3, table.data(), outputs, out.data() + 2 * count * outputs, threads);
    sum_window_squares(sequences, letters + 1, {{3, {0, 1, 2}, 1.0}, {9, {0, 1, 2, 4, 5, 6, 7, 8}, 0.5}, {27, {}, 1.0}},
                       out.data() + 3 * count * outputs, threads);
  }
  return out;
}

Numbers strings(const Isa& isa, int threads) {
  constexpr int64_t count = 180, letters = 5;
  std::vector<int32_t> codes;
  std::vector<int64_t> starts{0}, all, none, ends;
  for (int64_t q = 0; q < count; ++q) {
    for (int64_t i = 0; i < 9 + q % 5; ++i) codes.push_back(int32_t((q * i + i / 3) % letters));
    starts.push_back(int64_t(codes.size()));
    all.push_back(q), none.push_back(0), ends.push_back(count);
  }
  Numbers out(7 * count * count, 0.0), each(codes.size(), 0.5);
  const auto block = [&](Index which) {
    return StringBlock{codes.data(), starts.data(), letters,      all.data(), count,  all.data(),
                       count,        none.data(),   ends.data(), out.data() + which * count * count, threads};
  };
  const std::vector<double> weights{0.0, 1.0, 2.0, 4.0};
  add_window_matches(block(0), {{3, {0, 1, 2}, 1.0}, {9, {0, 2, 4, 6, 8}, 0.5}});
  subsequence_block(block(1), 3, 0.7, isa);
  run_block(block(2), weights.data(), int64_t(weights.size()), {1.0, 0.25, 0.125});
  edit_block(block(3));
  add_close_windows(block(4), 6, {300, 20, 1}, isa);
  add_close_windows(block(4), 10, {int64_t(1) << 47, 70000, 9, 8, 7}, isa);
  local_block(block(5), Numbers(letters * letters, 1.5).data(), 0.1, 0.5);
  for (std::size_t i = 0; i < codes.size(); i += 17) codes[i] = no_token;
  StringBlock weighted = block(6);
  weighted.weights = each.data();
  add_window_matches(weighted, {{3, {0, 2}, 1.0}});
  add_close_windows(weighted, 4, {3, 1}, isa);
  add_close_windows(block(4), 4, {3, 1}, isa);
  subsequence_block(block(1), 3, 0.7, isa);
  return out;
}

Numbers trees(const Isa&, int threads) {
  constexpr int64_t count = 100;
  std::vector<int64_t> start{0}, child, group, ends{0}, all;
  for (int64_t t = 0; t < count; ++t) {
    if (t >= 3) child.push_back(t / 2), child.push_back(t / 3);
    start.push_back(int64_t(child.size()));
    group.push_back(t < 3 ? t : 3);
  }
  constexpr int64_t rows = 30;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t t = 0; t < count; ++t) all.push_back(t);
    ends.push_back(int64_t(all.size()));
  }
  const Numbers once(all.size(), 1.0);
  const Subtrees table{count, 4, start.data(), child.data(), group.data()};
  const TreeRows list{rows, ends.data(), all.data(), once.data()};
  constexpr int64_t values = rows * rows + rows;
  Numbers out(3 * values);
  const FragmentRule rule{true, 0.4, 0.3, 1.0, true};
  const Keeping ways[] = {{1 << 20, false, threads}, {1 << 20, true, threads}, {100, false, threads}};
  double* to = out.data();
  for (const Keeping& keeping : ways) {
    fill_block(table, rule, list, list, keeping, to);
    fill_diagonal(table, rule, list, keeping, to + rows * rows);
    to += values;
  }
  return out;
}

// Programmes over pairs of series: with rows and with a table, by levels and by all of them, and in a band.
Numbers signatures(const Isa& isa, int threads) {
  constexpr Index series = 40, length = 11, d = 2, total = 25, groups = 3;
  const Numbers rows = made_up<double>(series * (length + 1) * d), columns = made_up<double>(total * d * path_lanes);
  const Numbers table = made_up<double>((series * (length + 1)) * 30);
  const int64_t begins[groups] = {0, 9, 17}, counts[groups] = {9, 8, 8};
  std::vector<int64_t> row_begin, row_count(series, length), first(series, 0), lane_begin, lane_count;
  for (Index i = 0; i < series; ++i) row_begin.push_back(i * (length + 1));
  for (Index lane = 0; lane < groups * path_lanes; ++lane) lane_begin.push_back(lane % 20), lane_count.push_back(lane % 9);
  const Numbers band(std::size_t(series * groups * path_lanes), 4.0);
  const PathStep steps[] = {{Programme::signature, 0, 2, 2},
                            {Programme::signature, 0, 6, 6},
                            {Programme::truncated, 3, 2, 6},
                            {Programme::warping, 1, 1, 1}};
  Numbers all;
  for (const PathStep& step : steps)
    for (const bool lifted : {false, true}) {
      const bool warping = step.programme == Programme::warping;
      Numbers state(std::size_t(series * total * step.width * path_lanes), warping ? HUGE_VAL : 0.0);
      PathBlock b{};
      b.step = step;
      b.rows = lifted && !warping ? nullptr : rows.data();
      b.table = lifted && !warping ? table.data() : nullptr;
      b.dimension = d, b.table_step = 30;
      b.row_begin = row_begin.data(), b.row_count = row_count.data(), b.first_group = first.data();
      b.series = series, b.groups = groups, b.total = total;
      b.columns = columns.data(), b.column_begin = begins, b.column_count = counts;
      b.lane_begin = lane_begin.data(), b.lane_count = lane_count.data();
      b.band = lifted ? band.data() : nullptr;
      b.state = state.data(), b.threads = threads;
      advance_paths(b, isa);
      for (double value : state) all.push_back(std::isfinite(value) ? value : -1.0);
    }
  return all;
}

template <class T>
Numbers updates(const Isa& isa, int threads) {
  constexpr Index rows = 130, columns = 210, step = columns + 3;
  const std::vector<T> A = made_up<T>(rows * columns), B = made_up<T>(columns * columns);
  Numbers all;
  for (const Part part : {Part::all, Part::lower, Part::upper}) {
    std::vector<T> out(rows * step, T(1));
    update<T>({out.data(), rows, columns, step, columns, {A.data(), 1, columns, false}, {B.data(), columns, 1, true}, T(-2),
               part, threads}, isa);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < step; ++j) {
        const bool counts = j < columns && (part == Part::all || (part == Part::lower ? j <= i : j >= i));
        double wanted = 1.0;
        for (Index k = 0; counts && k < columns; ++k)
          wanted -= 2.0 * double(A[std::size_t(i * columns + k)]) *
                    double(B[std::size_t(std::max(k, j) * columns + std::min(k, j))]);
        const double found = double(out[std::size_t(i * step + j)]);
        expect(std::fabs(found - wanted) < (sizeof(T) == 4 ? 1e-2 : 1e-10), "a product is added where it is asked for");
      }
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

template <class T>
Numbers divisions(const Isa& isa, int threads) {
  constexpr Index n = 45, columns = 130, step = columns + 3;
  std::vector<T> L = made_up<T>(n * n);
  for (Index i = 0; i < n; ++i) L[std::size_t(i * n + i)] = T(8);
  Numbers all;
  for (const bool by_rows : {true, false}) {
    const Index along = by_rows ? step : 1, across = by_rows ? 1 : n;
    const std::vector<T> right = made_up<T>(n * step);
    std::vector<T> V = right;
    divide<T>({n, columns, {L.data(), n, 1, false}, V.data(), along, across, threads}, isa);
    for (Index j = 0; j < columns; ++j)
      for (Index i = 0; i < n; ++i) {
        double back = 0.0;
        for (Index k = 0; k <= i; ++k)
          back += double(L[std::size_t(i * n + k)]) * double(V[std::size_t(k * along + j * across)]);
        const double error = std::fabs(back - double(right[std::size_t(i * along + j * across)]));
        expect(error < (sizeof(T) == 4 ? 1e-4 : 1e-12), "a triangular system is solved in its place");
      }
    all.insert(all.end(), V.begin(), V.end());
  }
  return all;
}

Numbers alignments(const Isa&, int threads) {
  constexpr Index count = 12, length = 15, d = 2;
  const Numbers frames = made_up<double>(count * length * d);
  Numbers out(count * count);
  share_tasks(count * count, threads, [&](int, Index task) {
    std::vector<WideNumber> scratch(2 * length + 1);
    out[std::size_t(task)] = log_alignments(frames.data() + task / count * length * d, length,
                                            frames.data() + task % count * length * d, length, d,
                                            task % 2 == 0, scratch.data());
  });
  return out;
}

template <class T>
Numbers bands(const Isa& isa, int threads) {
  constexpr Index n = 200, width = 9, count = 500;
  Numbers columns = made_up<double>(n * (width + 1)), out(count);
  for (Index j = 0; j < n; ++j) columns[std::size_t(j * (width + 1))] = 8.0;
  const std::vector<T> right = made_up<T>(n * count);
  band_squares<T>(isa, columns.data(), n, width, right.data(), count, out.data(), threads);
  return out;
}

}  // namespace
}  // namespace mercer
