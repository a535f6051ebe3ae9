import numpy as np

StringTable = tuple[np.ndarray, np.ndarray, int] | tuple[np.ndarray, np.ndarray, int, np.ndarray]

def isas() -> list[str]: ...

class Plan:
    def __init__(
        self,
        statistics: list[tuple[str, np.ndarray, np.ndarray | None, float]],
        left: list[np.ndarray],
        right: list[np.ndarray],
        code: list[tuple[str, int, int, int, float, float]],
        isa: str = "",
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def isa(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def row_block(self) -> int: ...
    def product(self, V: np.ndarray, out: np.ndarray, row_start: int, row_stop: int, threads: int) -> None: ...
    def symmetric_product(
        self, V: np.ndarray, out: np.ndarray, row_start: int, row_stop: int, threads: int
    ) -> None: ...
    def residuals(
        self,
        V: np.ndarray,
        weights: np.ndarray,
        errors: np.ndarray,
        out: np.ndarray,
        row_start: int,
        row_stop: int,
        threads: int,
    ) -> None: ...
    def dense(self, out: np.ndarray, rows: np.ndarray, col_start: int, col_stop: int, threads: int) -> None: ...
    def smo_parts(
        self,
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]],
        epsilon: float,
        tolerance: float,
        max_iter: int,
        threads: int,
    ) -> list[tuple[int, float]]: ...
    def add_rows(
        self, rows: np.ndarray, V: np.ndarray, out: np.ndarray, col_start: int, col_stop: int, threads: int
    ) -> None: ...
    def perceptron(
        self,
        label: np.ndarray,
        weight: np.ndarray,
        values: np.ndarray,
        coef: np.ndarray,
        moment: np.ndarray,
        entered: np.ndarray,
        wrong: np.ndarray,
        clock: int,
        bias: float,
        start: int,
        stop: int,
        threads: int,
    ) -> None: ...
    def symmetric_dense(self, out: np.ndarray, row_start: int, row_stop: int, threads: int) -> None: ...
    def workspace(self, r: int, threads: int) -> int: ...
    def residual_workspace(self, r: int, threads: int) -> int: ...

def smo(
    K: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    beta: np.ndarray,
    slope: np.ndarray,
    epsilon: float,
    second: int,
    tolerance: float,
    max_iter: int,
    isa: str = "",
) -> tuple[int, float]: ...
def smo_path(
    K: np.ndarray,
    fit: np.ndarray,
    held: np.ndarray,
    target: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    penalties: np.ndarray,
    out: np.ndarray,
    epsilon: float,
    tolerance: float,
    max_iter: int,
    isa: str = "",
) -> list[tuple[int, float]]: ...
def add_kept_rows(kept: np.ndarray, rows: np.ndarray, weights: np.ndarray, out: np.ndarray, threads: int) -> None: ...
def perceptron(
    K: np.ndarray,
    order: np.ndarray,
    place: np.ndarray,
    label: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    coef: np.ndarray,
    moment: np.ndarray,
    entered: np.ndarray,
    wrong: np.ndarray,
    clock: int,
    bias: float,
    budget: int,
    smallest: bool,
) -> int: ...
def perceptron_votes(
    K: np.ndarray,
    vector: np.ndarray,
    label: np.ndarray,
    wrong: np.ndarray,
    step: np.ndarray,
    survival: np.ndarray,
    bias: float,
    votes: np.ndarray,
) -> None: ...
def nearest_candidates(
    queries: np.ndarray,
    points: np.ndarray,
    margin: np.ndarray,
    k: int,
    own: int,
    index: np.ndarray,
    count: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def half_product(strips: list[np.ndarray], V: np.ndarray, out: np.ndarray, threads: int, isa: str = "") -> None: ...
def long_product(A: np.ndarray, V: np.ndarray, out: np.ndarray, threads: int, isa: str = "") -> None: ...
def long_combination(A: np.ndarray, V: np.ndarray, out: np.ndarray, threads: int, isa: str = "") -> None: ...
def long_remainder(
    A: np.ndarray,
    V: np.ndarray,
    right: np.ndarray,
    scale: np.ndarray,
    left: np.ndarray,
    image: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def add_product(
    out: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    factor: float,
    part: str,
    symmetric: bool,
    threads: int,
    isa: str = "",
) -> None: ...
def divide_by_triangle(triangle: np.ndarray, V: np.ndarray, threads: int, isa: str = "") -> None: ...
def window_matches(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    groups: list[tuple[int, np.ndarray, float]],
    out: np.ndarray,
    threads: int,
) -> None: ...
def window_sums(
    table: StringTable,
    rows: np.ndarray,
    span: int,
    weights: np.ndarray,
    out: np.ndarray,
    threads: int,
) -> None: ...
def window_squares(
    table: StringTable,
    rows: np.ndarray,
    groups: list[tuple[int, np.ndarray, float]],
    out: np.ndarray,
    threads: int,
) -> None: ...

class WordTree:
    def __init__(self, letters: int, outputs: int) -> None: ...
    @property
    def nodes(self) -> int: ...
    def add(
        self,
        table: StringTable,
        rows: np.ndarray,
        coef: np.ndarray,
        span: int,
        offsets: np.ndarray,
        gains: np.ndarray,
        whole: bool,
        placed: bool,
        most_nodes: int,
    ) -> bool: ...
    def finish(self) -> None: ...
    def sum(self, table: StringTable, rows: np.ndarray, out: np.ndarray, threads: int) -> None: ...

def close_windows(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    span: int,
    values: np.ndarray,
    out: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def subsequences(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    length: int,
    decay: float,
    out: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def log_subsequences(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    length: int,
    decay: float,
    out: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def matching_runs(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    weights: np.ndarray,
    shifts: np.ndarray,
    out: np.ndarray,
    threads: int,
) -> None: ...
def local_alignments(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    scores: np.ndarray,
    opened: float,
    extended: float,
    out: np.ndarray,
    threads: int,
) -> None: ...
def edit_distances(
    table: StringTable,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    out: np.ndarray,
    threads: int,
) -> None: ...
def tree_block(
    start: np.ndarray,
    child: np.ndarray,
    group: np.ndarray,
    row_start: np.ndarray,
    row_subtree: np.ndarray,
    row_count: np.ndarray,
    column_start: np.ndarray,
    column_subtree: np.ndarray,
    column_count: np.ndarray,
    partial: bool,
    decay: float,
    vertical_decay: float,
    terminal_factor: float,
    leaves: bool,
    pairs: int,
    logarithms: bool,
    out: np.ndarray,
    threads: int,
) -> None: ...
def tree_diag(
    start: np.ndarray,
    child: np.ndarray,
    group: np.ndarray,
    row_start: np.ndarray,
    row_subtree: np.ndarray,
    row_count: np.ndarray,
    partial: bool,
    decay: float,
    vertical_decay: float,
    terminal_factor: float,
    leaves: bool,
    pairs: int,
    logarithms: bool,
    out: np.ndarray,
    threads: int,
) -> None: ...
def tree_pairs(
    start: np.ndarray,
    child: np.ndarray,
    group: np.ndarray,
    row_start: np.ndarray,
    row_subtree: np.ndarray,
    row_count: np.ndarray,
    column_start: np.ndarray,
    column_subtree: np.ndarray,
    column_count: np.ndarray,
    pairs: int,
) -> int: ...
def alignments(
    left: np.ndarray,
    left_start: np.ndarray,
    left_length: np.ndarray,
    right: np.ndarray,
    right_start: np.ndarray,
    right_length: np.ndarray,
    shift: int,
    plain: bool,
    out: np.ndarray,
    threads: int,
) -> None: ...

path_lanes: int
most_orders: int

def advance_signatures(
    rows: np.ndarray,
    row_begin: np.ndarray,
    row_count: np.ndarray,
    first_group: np.ndarray,
    columns: np.ndarray,
    column_begin: np.ndarray,
    column_count: np.ndarray,
    levels: int,
    order: int,
    state: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def advance_lifted(
    table: np.ndarray,
    row_begin: np.ndarray,
    row_count: np.ndarray,
    first_group: np.ndarray,
    lane_begin: np.ndarray,
    lane_count: np.ndarray,
    column_begin: np.ndarray,
    column_count: np.ndarray,
    levels: int,
    order: int,
    state: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def advance_warpings(
    rows: np.ndarray,
    row_begin: np.ndarray,
    row_count: np.ndarray,
    first_group: np.ndarray,
    columns: np.ndarray,
    column_begin: np.ndarray,
    column_count: np.ndarray,
    first_row: int,
    band: np.ndarray | None,
    state: np.ndarray,
    threads: int,
    isa: str = "",
) -> None: ...
def band_squares(columns: np.ndarray, right: np.ndarray, out: np.ndarray, threads: int, isa: str = "") -> None: ...
