// Python bindings of the sum over all alignments: every argument is checked here.
#include "alignment_module.hpp"

#include <string>
#include <vector>

#include "alignment.hpp"
#include "arrays.hpp"
#include "tasks.hpp"

namespace mercer {
namespace {

struct Sequences {
  const double* frames;
  int64_t total;
  const int64_t *start, *length;
  int64_t count;
};

Sequences read(nb::handle frames, nb::handle start, nb::handle length, int64_t d, const std::string& side) {
  const Input values = checked_array<Input>(frames, side + "frames", 2, "float64");
  const Input starts = checked_array<Input>(start, side + "start", 1, "int64");
  const Input lengths = checked_array<Input>(length, side + "length", 1, "int64");
  const int64_t count = int64_t(starts.shape(0)), total = int64_t(values.shape(0));
  expect_shape(values, side + "frames", {total, d});
  expect_shape(lengths, side + "length", {count});
  const Sequences found{static_cast<const double*>(values.data()), total, static_cast<const int64_t*>(starts.data()),
                        static_cast<const int64_t*>(lengths.data()), count};
  for (int64_t s = 0; s < count; ++s)
    if (found.start[s] < 0 || found.length[s] < 1 || found.start[s] > total - found.length[s])
      throw wrong_value("sequence " + std::to_string(s) + " of " + side + "frames lies outside its " +
                        std::to_string(total) + " rows");
  return found;
}

void alignments(nb::handle left, nb::handle left_start, nb::handle left_length, nb::handle right,
                nb::handle right_start, nb::handle right_length, int64_t shift, bool plain, nb::handle out,
                int threads) {
  check_threads(threads);
  const int64_t d = int64_t(checked_array<Input>(left, "left_frames", 2, "float64").shape(1));
  const Sequences A = read(left, left_start, left_length, d, "left_");
  const Sequences B = read(right, right_start, right_length, d, "right_");
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(to, "out", {A.count, B.count});
  double* result = static_cast<double*>(to.data());
  const nb::gil_scoped_release released;
  int64_t longest = 0;
  double columns = 0, rows = 0;
  for (int64_t j = 0; j < B.count; ++j) longest = std::max(longest, B.length[j]), columns += double(B.length[j]);
  for (int64_t i = 0; i < A.count; ++i) rows += double(A.length[i]);
  const Index tasks = Index(A.count * B.count);
  const int useful = useful_threads(threads, tasks, rows * columns);
  std::vector<std::vector<WideNumber>> scratch(std::size_t(useful), std::vector<WideNumber>(std::size_t(2 * longest + 1)));
  share_tasks(tasks, useful, [&](int worker, Index task) {
    const int64_t i = int64_t(task) / B.count, j = int64_t(task) % B.count;
    if (j < i + shift) return;
    result[task] = log_alignments(A.frames + A.start[i] * d, A.length[i], B.frames + B.start[j] * d, B.length[j], d,
                                  plain, scratch[std::size_t(worker)].data());
  });
}

}  // namespace

void bind_alignment(nb::module_& m) {
  using namespace nb::literals;
  m.def("alignments", &alignments, "left"_a, "left_start"_a, "left_length"_a, "right"_a, "right_start"_a,
        "right_length"_a, "shift"_a, "plain"_a, "out"_a, "threads"_a,
        "out[i, j] = the logarithm of the sum over all alignments of sequence i on the left with j on the right, whose "
        "frames are rows of an array from start on, where pairs count g / (2 - g), or g if plain; entries with "
        "j < i + shift are left as they are.");
}

}  // namespace mercer
