// Python bindings of the kernels between sequences: every argument is checked here.
#include "strings_module.hpp"

#include <string>
#include <vector>

#include "arrays.hpp"
#include "strings.hpp"
#include "strings_words.hpp"

namespace mercer {
namespace {

const int64_t* whole_numbers(nb::handle h, const char* name, int64_t size, int64_t least, int64_t most) {
  const Input a = checked_array<Input>(h, name, 1, "int64");
  if (size >= 0) expect_shape(a, name, {size});
  const int64_t* values = static_cast<const int64_t*>(a.data());
  for (size_t i = 0; i < a.shape(0); ++i)
    if (values[i] < least || values[i] > most)
      throw wrong_value(std::string(name) + " must lie in " + std::to_string(least) + ".." + std::to_string(most) +
                        ", got " + std::to_string(values[i]));
  return values;
}

constexpr int64_t most_letters = int64_t(1) << 31;  // that codes tell apart

struct Table {
  const int32_t* codes;
  const int64_t* starts;
  int64_t letters, count;
  const double* weights;
};

// (codes, starts, letters), a table of sequences, or (codes, starts, letters, weights) where windows have weights.
// Codes may be -1 for no token, where the caller can do with that.
Table read_table(nb::tuple table, int32_t least = no_token) {
  int64_t letters = 0;
  if ((table.size() != 3 && table.size() != 4) || !nb::try_cast(table[2], letters) || letters < 0)
    throw wrong_type("table must be a tuple (codes, starts, letters) or (codes, starts, letters, weights)");
  if (letters > most_letters) throw wrong_value("there may be 2^31 letters, got " + std::to_string(letters));
  const Input codes = checked_array<Input>(table[0], "codes", 1, "int32");
  const int32_t* code = static_cast<const int32_t*>(codes.data());
  for (size_t i = 0; i < codes.shape(0); ++i)
    if (code[i] < least || code[i] >= letters)
      throw wrong_value("codes must lie in " + std::to_string(least) + ".." + std::to_string(letters - 1) + ", got " +
                        std::to_string(code[i]));
  const int64_t total = int64_t(codes.shape(0));
  const int64_t* starts = whole_numbers(table[1], "starts", -1, 0, total);
  const int64_t count = int64_t(checked_array<Input>(table[1], "starts", 1, "int64").shape(0)) - 1;
  for (int64_t q = 0; q < count; ++q)
    if (starts[q] > starts[q + 1]) throw wrong_value("starts must not decrease");
  const double* weights = nullptr;
  if (table.size() == 4) {
    const Input w = checked_array<Input>(table[3], "weights", 1, "float64");
    expect_shape(w, "weights", {total});
    weights = static_cast<const double*>(w.data());
  }
  return {code, starts, letters, count, weights};
}

// A table, then the block asked for.
StringBlock read_block(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                       nb::handle out, int threads, int32_t least = no_token) {
  check_threads(threads);
  const auto [code, starts, letters, count, weights] = read_table(table, least);
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  const int64_t n = int64_t(to.shape(0)), m = int64_t(to.shape(1));
  return {code,
          starts,
          letters,
          whole_numbers(rows, "rows", n, 0, count - 1),
          n,
          whole_numbers(columns, "columns", m, 0, count - 1),
          m,
          whole_numbers(first, "first", n, 0, m),
          whole_numbers(last, "last", n, 0, m),
          static_cast<double*>(to.data()),
          threads,
          weights};
}

std::vector<WindowGroup> read_groups(nb::list groups) {
  std::vector<WindowGroup> read;
  for (nb::handle item : groups) {
    nb::tuple t;
    WindowGroup group;
    if (!nb::try_cast(item, t, false) || t.size() != 3 || !nb::try_cast(t[0], group.span) ||
        !nb::try_cast(t[2], group.weight))
      throw wrong_type("groups must hold tuples (span: int, offsets: array of int64, weight: float)");
    if (group.span < 1) throw wrong_value("span must be at least 1, got " + std::to_string(group.span));
    const Input a = checked_array<Input>(t[1], "offsets", 1, "int64");
    const int64_t* offset = whole_numbers(t[1], "offsets", -1, 0, group.span - 1);
    group.offsets.assign(offset, offset + a.shape(0));
    read.push_back(group);
  }
  return read;
}

void window_matches(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                    nb::list groups, nb::handle out, int threads) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads);
  const std::vector<WindowGroup> read = read_groups(groups);
  const nb::gil_scoped_release released;
  add_window_matches(block, read);
}

void close_windows(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                   int64_t span, nb::handle values, nb::handle out, int threads, const std::string& isa_name) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads);
  if (block.letters > 254) throw wrong_value("there may be 254 letters, got " + std::to_string(block.letters));
  if (span < 1 || span > 254) throw wrong_value("span must lie in 1..254, got " + std::to_string(span));
  const int64_t* value = whole_numbers(values, "values", -1, 0, (int64_t(1) << 48) - 1);
  const size_t count = checked_array<Input>(values, "values", 1, "int64").shape(0);
  if (count > 16) throw wrong_value("there may be 16 values, got " + std::to_string(count));
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  add_close_windows(block, span, std::vector<int64_t>(value, value + count), isa);
}

template <void (*compute)(const StringBlock&, int64_t, double, const Isa&)>
void subsequences(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                  int64_t length, double decay, nb::handle out, int threads, const std::string& isa_name) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads);
  if (length < 1) throw wrong_value("length must be at least 1, got " + std::to_string(length));
  if (!(decay > 0 && decay <= 1)) throw wrong_value("decay must lie above 0 and be at most 1");
  const Isa& isa = isa_named(isa_name);
  const nb::gil_scoped_release released;
  compute(block, length, decay, isa);
}

void matching_runs(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                   nb::handle weights, nb::handle shifts, nb::handle out, int threads) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads);
  const Input w = checked_array<Input>(weights, "weights", 1, "float64");
  const Input by = checked_array<Input>(shifts, "shifts", 1, "float64");
  if (w.shape(0) == 0 || by.shape(0) == 0) throw wrong_value("weights and shifts must not be empty");
  const double* shift = static_cast<const double*>(by.data());
  const nb::gil_scoped_release released;
  run_block(block, static_cast<const double*>(w.data()), int64_t(w.shape(0)),
            std::vector<double>(shift, shift + by.shape(0)));
}

void local_alignments(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                      nb::handle scores, double open, double extend, nb::handle out, int threads) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads, 0);
  const Input s = checked_array<Input>(scores, "scores", 2, "float64");
  expect_shape(s, "scores", {block.letters, block.letters});
  const double* score = static_cast<const double*>(s.data());
  for (int64_t i = 0; i < block.letters * block.letters; ++i)
    if (!(score[i] > 0x1p-200 && score[i] < 0x1p200)) throw wrong_value("scores must lie between 2^-200 and 2^200");
  for (const double gap : {open, extend})
    if (!(gap > 0x1p-200 && gap <= 1)) throw wrong_value("open and extend must lie between 2^-200 and 1");
  const nb::gil_scoped_release released;
  local_block(block, score, open, extend);
}

void edit_distances(nb::tuple table, nb::handle rows, nb::handle columns, nb::handle first, nb::handle last,
                    nb::handle out, int threads) {
  const StringBlock block = read_block(table, rows, columns, first, last, out, threads, 0);
  const nb::gil_scoped_release released;
  edit_block(block);
}

// Some sequences of a table, and a row of numbers for each.
Sequences read_sequences(const Table& table, nb::handle rows) {
  const int64_t* row = whole_numbers(rows, "rows", -1, 0, table.count - 1);
  const int64_t count = int64_t(checked_array<Input>(rows, "rows", 1, "int64").shape(0));
  return {table.codes, table.starts, row, count, table.weights};
}

void window_sums(nb::tuple table, nb::handle rows, int64_t span, nb::handle weights, nb::handle out, int threads) {
  check_threads(threads);
  const Table read = read_table(table);
  const int64_t letters = read.letters - 1;  // the last one stands for tokens that are not known
  const Sequences sequences = read_sequences(read, rows);
  const Input w = checked_array<Input>(weights, "weights", 2, "float64");
  if (span < 1 || letters < 1) throw wrong_value("span and known letters must be at least 1");
  int64_t size = 1;
  for (int64_t k = 0; k < span && size <= int64_t(w.shape(0)); ++k) size *= letters;
  const int64_t outputs = int64_t(w.shape(1));
  expect_shape(w, "weights", {size, outputs});
  const Output to = checked_array<Output>(out, "out", 2, "float64");
  expect_shape(to, "out", {sequences.count, outputs});
  const nb::gil_scoped_release released;
  sum_window_table(sequences, letters, span, static_cast<const double*>(w.data()), outputs,
                   static_cast<double*>(to.data()), threads);
}

void window_squares(nb::tuple table, nb::handle rows, nb::list groups, nb::handle out, int threads) {
  check_threads(threads);
  const Table read = read_table(table);
  const Sequences sequences = read_sequences(read, rows);
  const std::vector<WindowGroup> wanted = read_groups(groups);
  const double most = 18446744073709551616.0;  // 2^64: windows are told apart by their numbers
  for (const WindowGroup& group : wanted) {
    double size = 1;
    for (size_t k = 0; k < group.offsets.size(); ++k) size *= double(read.letters);
    if (size >= most) throw wrong_value("there are too many different windows to number them in 64 bits");
  }
  const Output to = checked_array<Output>(out, "out", 1, "float64");
  expect_shape(to, "out", {sequences.count});
  const nb::gil_scoped_release released;
  sum_window_squares(sequences, read.letters, wanted, static_cast<double*>(to.data()), threads);
}

// A WordTree behind its checks.
class BoundWordTree {
 public:
  BoundWordTree(int64_t letters, int64_t outputs) : tree_(letters, outputs) {
    if (letters < 1 || letters > most_letters || outputs < 1)
      throw wrong_value("letters must lie in 1..2^31 and outputs be at least 1");
  }

  bool add(nb::tuple table, nb::handle rows, nb::handle coef, int64_t span, nb::handle offsets, nb::handle gains,
           bool whole, bool placed, int64_t most_nodes) {
    if (tree_.finished()) throw wrong_value("the tree is finished, nothing can be added");
    const Table read = read_table(table);
    if (read.letters > tree_.letters()) throw wrong_value("the table has more letters than the tree");
    const Sequences sequences = read_sequences(read, rows);
    const Input c = checked_array<Input>(coef, "coef", 2, "float64");
    expect_shape(c, "coef", {sequences.count, tree_.outputs()});
    if (span < 1) throw wrong_value("span must be at least 1, got " + std::to_string(span));
    WordGroup group{span, {}, {}, whole, placed};
    const int64_t* offset = whole_numbers(offsets, "offsets", -1, 0, span - 1);
    const int64_t depth = int64_t(checked_array<Input>(offsets, "offsets", 1, "int64").shape(0));
    group.offsets.assign(offset, offset + depth);
    const Input g = checked_array<Input>(gains, "gains", 1, "float64");
    expect_shape(g, "gains", {depth + 1});
    const double* gain = static_cast<const double*>(g.data());
    group.gains.assign(gain, gain + depth + 1);
    const int64_t most = std::min<int64_t>(most_nodes, (int64_t(1) << 30));
    const nb::gil_scoped_release released;
    return tree_.add(sequences, group, static_cast<const double*>(c.data()), most);
  }

  void finish() {
    if (!tree_.finished()) tree_.finish();
  }

  void sum(nb::tuple table, nb::handle rows, nb::handle out, int threads) const {
    check_threads(threads);
    if (!tree_.finished()) throw wrong_value("finish the tree before words are summed");
    const Sequences sequences = read_sequences(read_table(table), rows);
    const Output to = checked_array<Output>(out, "out", 2, "float64");
    expect_shape(to, "out", {sequences.count, tree_.outputs()});
    const nb::gil_scoped_release released;
    tree_.sum(sequences, static_cast<double*>(to.data()), threads);
  }

  int64_t nodes() const { return tree_.nodes(); }

 private:
  WordTree tree_;
};

}  // namespace

void bind_strings(nb::module_& m) {
  using namespace nb::literals;
  m.def("window_matches", &window_matches, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "groups"_a, "out"_a,
        "threads"_a, "out[i, j] += weighted number of pairs of equal windows, for first[i] <= j < last[i]");
  m.def("close_windows", &close_windows, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "span"_a, "values"_a,
        "out"_a, "threads"_a, "isa"_a = "",
        "out[i, j] += sum of values[places at which two windows differ] over their pairs, for first[i] <= j < last[i]");
  m.def("subsequences", &subsequences<subsequence_block>, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "length"_a, "decay"_a,
        "out"_a, "threads"_a, "isa"_a = "",
        "out[i, j] = gap-weighted number of common subsequences, for first[i] <= j < last[i]");
  m.def("log_subsequences", &subsequences<log_subsequence_block>, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a,
        "length"_a, "decay"_a, "out"_a, "threads"_a, "isa"_a = "",
        "out[i, j] = logarithm of the gap-weighted number of common subsequences, for first[i] <= j < last[i]");
  m.def("matching_runs", &matching_runs, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "weights"_a, "shifts"_a,
        "out"_a, "threads"_a,
        "out[i, j] = sum of weights[length of the run of agreement] over positions, shifts[s] times of those s apart");
  m.def("local_alignments", &local_alignments, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "scores"_a,
        "opened"_a, "extended"_a, "out"_a, "threads"_a,
        "out[i, j] = logarithm of the sum over local alignments, for first[i] <= j < last[i]");
  m.def("edit_distances", &edit_distances, "table"_a, "rows"_a, "columns"_a, "first"_a, "last"_a, "out"_a, "threads"_a,
        "out[i, j] = edit distance, for first[i] <= j < last[i]");
  m.def("window_sums", &window_sums, "table"_a, "rows"_a, "span"_a, "weights"_a, "out"_a, "threads"_a,
        "out[i] += sum of weights[number of the window] over the windows of known letters, all but the last");
  m.def("window_squares", &window_squares, "table"_a, "rows"_a, "groups"_a, "out"_a, "threads"_a,
        "out[i] += weighted sum of the squared numbers of equal windows of a sequence");
  nb::class_<BoundWordTree>(m, "WordTree", "Weights of words, found letter by letter.")
      .def(nb::init<int64_t, int64_t>(), "letters"_a, "outputs"_a)
      .def("add", &BoundWordTree::add, "table"_a, "rows"_a, "coef"_a, "span"_a, "offsets"_a, "gains"_a, "whole"_a,
           "placed"_a, "most_nodes"_a, "Adds gains times coef to the words of all rows; False if there are too many.")
      .def("finish", &BoundWordTree::finish, "Ends adding.")
      .def("sum", &BoundWordTree::sum, "table"_a, "rows"_a, "out"_a, "threads"_a,
           "out[i] += the weights of all words of a sequence.")
      .def_prop_ro("nodes", &BoundWordTree::nodes, "How many beginnings of words there are.");
}

}  // namespace mercer
