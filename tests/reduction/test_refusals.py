"""What is not taken: every refusal names the argument, what is wrong and what to do."""

from __future__ import annotations

import io
from collections import UserList
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import warpladder as wl
from choosing import large
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import intake
from warpladder.simulator import SimulatedDevice

LONG = np.longdouble(1).itemsize > 8


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1j], r"values: dtype complex128 is not taken; reduce \.real and \.imag"),
        (["a"], "values: dtype <U1 is not taken; only booleans, integers and floats"),
        ([None], "values: NoneType None is no number; give numbers alone"),
        (np.array([1, "x"], object), "values: str 'x' is no number"),
        (np.array(["a"], np.dtypes.StringDType()), r"values: dtype StringDType\(\) is not taken"),
        (np.zeros(2, "m8[s]"), "values: dtype timedelta64"),
        ([2**70], "values: dtype object .* fit 64 bits"),
        (np.array(["2020-01-01"], "M8[D]"), "values: dtype datetime64"),
        (np.zeros(2, [("a", "f4")]), "values: dtype"),
        ([[1], [1, 2]], r"values: cannot be read as an array.*; of arrays .* give iter\(values\)$"),
        (
            {"a": np.ones(2)}.values(),
            r"dict_values is no array.*; of arrays .* give iter\(values\)$",
        ),
        ({1, 2}, "values: set is no array of numbers; give an array or a list"),
        (None, "values: NoneType is no array"),
        (-(2**70), "values: an integer of 71 bits is not taken, of 64 at the most"),
        pytest.param(10**5000, "values: an integer of 16610 bits is not taken", id="16610 bits"),
        (iter([[1.0], [1]]), r"chunk 1 is of int64, those before of float64; .*\.astype\(\)"),
        (iter([["a"]]), "values: chunk 0: dtype"),
        *([(np.ones(2, np.longdouble), r"values: dtype .* use \.astype")] if LONG else []),
    ],
)
def test_values(values, message):
    with pytest.raises(InputTypeError, match=message):
        wl.reduce(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"op": "median"}, "op='median' is not known; use one of sum, prod"),
        ({"op": "nanany"}, "op='nanany' is not known"),
        ({"op": ()}, "op: at least one operation"),
        ({"op": ("sum", "sum")}, "op: 'sum' is asked for twice"),
        ({"accuracy": "best"}, "accuracy='best' is not known; use one of fast"),
        ({"accuracy": "reproducible", "op": "prod"}, "cannot be had for prod"),
        ({"accuracy": "reproducible", "op": ("sum", "logsumexp")}, "cannot be had for logsumexp"),
        (
            {"op": (wl.AssociativeOp(max, 0, "x"), wl.AssociativeOp(min, 0, "x"))},
            "twice; give Assoc",
        ),
        ({"axis": 2}, "axis=2 is out of range for values of 2 dimensions"),
        ({"axis": (0, -2)}, r"axis=\(0, -2\) names an axis twice"),
        ({"axis": ()} | {"op": "argmin"}, "gives indices along one axis"),
        ({"dtype": "i4"}, "dtype=int32 cannot hold sum of float64; use float16, float32 or"),
        ({"dtype": "c16"}, "dtype=complex128 cannot hold sum"),
        ({"dtype": "f4", "op": ("min", "any")}, "dtype=float32 has no meaning for min, any"),
        ({"where": [True, False, True]}, r"where: its shape \(3,\) does not broadcast"),
        ({"where": False, "op": "max"}, "where: max is not defined where the mask leaves no"),
        ({"device": "tpu"}, "device='tpu' is not known"),
        ({"ddof": np.nan, "op": "var"}, "ddof=nan must be finite"),
        ({"ddof": 10**400}, "ddof=1000.* must be finite"),
    ],
)
def test_options(options, message):
    with pytest.raises(InputError, match=message):
        wl.reduce(np.ones((2, 2)), **options)


class Masked(UserList[bool]):
    """An array with a mask as Astropy has them."""

    _mask = np.array([False, True])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"op": 3}, "op: a name, a NumPy ufunc, an AssociativeOp or a tuple"),
        ({"op": ("sum", 3)}, "op: 3 is no name"),
        ({"axis": 1.5}, r"axis=1\.5 must be None, an integer"),
        ({"dtype": "nonsense"}, "dtype='nonsense' is not known"),
        ({"dtype": "(2"}, r"dtype='\(2' is not known"),
        ({"dtype": ",f4"}, "dtype=',f4' is not known"),
        ({"dtype": ("f4", -1)}, r"dtype=\('f4', -1\) is not known"),
        ({"where": [0, 1]}, "where: a mask of booleans is needed, not dtype int64"),
        ({"where": [[True], [True, False]]}, "where: cannot be read as an array of booleans: set"),
        ({"where": np.ma.array([True, False], mask=[1, 0])}, "where: a masked array is no mask"),
        ({"where": Masked([True, False])}, "where: a masked array is no mask"),
        ({"where": [np.ma.array([True, False], mask=[1, 0])]}, "where: a list has arrays with mas"),
        ({"initial": np.ma.masked}, "initial=masked is no real number"),
        ({"axis": True}, "axis=True must be None, an integer"),
        # Which older NumPy takes for an integer.
        ({"axis": np.True_}, "must be None, an integer or a tuple"),
        ({"axis": (0, False)}, r"axis=\(0, False\) must be"),
        ({"ddof": "x"}, "ddof='x' is no number"),
        ({"ddof": True, "op": "var"}, "ddof=True is no number"),
        ({"progress": 3}, "progress=3 cannot be called"),
    ],
)
def test_kinds_of_options(options, message):
    with pytest.raises(InputTypeError, match=message):
        wl.reduce(np.ones((2, 2)), **options)
    with pytest.raises(InputTypeError, match=message):
        # The long way round.
        wl.reduce([[1, 2], [3, 4]], **options)


def plain(a, b):
    return a + b


def indexing(table):
    return lambda a, b: a + b + table[0]


TABLE = [0]


class Bound:
    def method(self, a, b):
        return a + b


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: nothing + a + b, "compile it for int64: name 'nothing' is not defined$"),  # noqa: F821
        (lambda a: a, "too many positional arguments"),
        (
            lambda a, b: plain(a, b) + 1,
            "plain is a plain Python function; decorate it with @numba.njit$",
        ),
        (indexing([0]), "a list or set from outside of it cannot be read; use a tuple or an"),
        (lambda a, b: a + b + TABLE[0], "TABLE, a list from outside of it, cannot be read; use a"),
        (lambda a, b: a.foo + b, "compile it for int64: Unknown attribute 'foo' of type int64$"),
        (
            Bound().method,
            "compile it for int64: it is <class 'method'>; give a function made with def",
        ),
        (lambda a, b: "x"[a + b :], "it returns unicode_type, which is no real number"),
        (lambda a, b: (a + b) / 2, "it returns float64 for int64; give dtype='float64'"),
        (lambda a, b: a // (b - 3), "it raised ZeroDivisionError: integer division by zero"),
    ],
)
def test_operations_that_do_not_work(function, message):
    op = wl.AssociativeOp(function, 0, name="mine")
    with pytest.raises(InputError, match=f"^op mine: .*{message}"):
        wl.reduce(np.arange(1, 6), op)


def test_operations_compiled_for_other_numbers():
    """Numba would hand on 2 for 2.5, and 5 for 2^40 + 5."""
    add = wl.AssociativeOp(njit("int32(int32, int32)")(lambda a, b: a + b), 0, name="add")
    for values in ([2.5, 1.0], [2**40 + 5, 1]):
        with pytest.raises(
            InputError, match=r"^op add: Numba has compiled it for \(int32, int32\) al"
        ):
            wl.reduce(values, add)
    assert wl.reduce(np.array([5, 1], "i4"), add) == 6


def test_parts_of_operations():
    least = wl.AssociativeOp(min, np.inf, name="least")
    for values, dtype in (([1, 2], None), ([1.5], "i8")):
        with pytest.raises(
            InputError, match=r"identity inf is no int64|cannot hold least of float"
        ):
            wl.reduce(values, least, dtype=dtype)
    for identity in (np.nan, 300):
        with pytest.raises(InputError, match=r"the identity .* is no int8"):
            wl.reduce(np.ones(2, "i1"), wl.AssociativeOp(min, identity))
    with pytest.raises(InputError, match=r"the identity 1e\+300 is no float32"):
        wl.reduce(np.ones(2, "f4"), wl.AssociativeOp(min, 1e300))
    for identity in (None, "0", [0.0, [1]], 2**70, 1j):
        with pytest.raises(InputTypeError, match=r"identity=.* is no real number of 64 bits"):
            wl.AssociativeOp(min, identity)
    with pytest.raises(InputTypeError, match="name=3 is no text"):
        wl.AssociativeOp(min, 0, name=3)
    with pytest.raises(InputTypeError, match="a Callable has no hash"):
        wl.AssociativeOp(type("Callable", (), {"__call__": min, "__hash__": None})(), 0)


def test_missing_values():
    """NumPy would make NaNs of them, and floats of integers."""
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    series = pd.Series([1, None], dtype="Int64")
    table = pa.table({"a": [1, 2], "b": [1, None]})
    for values in (series, series.to_frame(), pa.array([1, None]), table, iter([series])):
        with pytest.raises(InputTypeError, match=r"some are missing \(null or NA\); drop or fill"):
            wl.reduce(values)
    assert wl.reduce(series.dropna()) == 1
    assert wl.reduce(table["a"]) == 3
    assert np.isnan(wl.reduce(pd.Series([1.0, None])))
    assert wl.reduce(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), axis=0).tolist() == [3, 7]


def test_missing_values_inside_lists():
    """NumPy makes an array of what lies below a mask, and NaN of what is missing."""
    masked = np.ma.array([1, 99], mask=[0, 1])
    whole = np.array([1, 2])
    for values in (
        [masked],
        ([[1, 2], masked],),
        [np.ma.array([1, 2]), masked],
        [[1, 2], whole, (3, 4), masked],
        [[[1, 2], [3, 4]], [whole, masked]],
        [np.zeros((2, 2), int), [[1, 2], masked]],
    ):
        with pytest.raises(InputTypeError, match="values: a list has arrays with masked elements"):
            wl.reduce(values, "max")
    with pytest.raises(InputTypeError, match="values: chunk 0: a list has arrays with masked"):
        wl.reduce(iter([[masked]]), "max")
    assert wl.reduce(np.ma.array([masked, masked]), "max") == 1
    assert wl.reduce([np.ma.array([1, 2]), [4, 3]], "max") == 4
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputTypeError, match="some are missing"):
        wl.reduce([pd.Series([1, None], dtype="Int64")])
    assert wl.reduce([pd.Series([1, 2], dtype="Int64")]) == 3


def test_integers_in_lists_that_numpy_would_round():
    large = 2**63 + 1
    for values in (
        [large, -1], [[large], [-1]], (np.uint64(large), np.int64(-1)),
        [np.array([large], "u8"), np.array([-1])], iter([[large, -1]]),
    ):  # fmt: skip
        with pytest.raises(InputTypeError, match=r"no integer dtype holds both -1 and 9223372036"):
            wl.reduce(values, "max")
    for values in (
        [large, 1], [1, large], [[large], [1]], (np.uint64(large), np.int64(1)), [large, True],
        [np.array([large], "u8"), np.array([1])], iter([[large, 1]]),
    ):  # fmt: skip
        found = wl.reduce(values, "sum")
        assert (found, found.dtype) == (large + 1, np.uint64)
    columns = wl.reduce([[[large, 1], [2, large + 4]], [[0, 5], [3, 0]]], "max", axis=(0, 1))
    assert columns.tolist() == [large, large + 4]
    # Rounded to what is no larger than numbers that floats hold.
    for one, dtype in ((1, np.uint64), (-1, np.int64)):
        found = wl.reduce([2**53 + 1, np.uint64(3), np.int64(one)])
        assert (found, found.dtype) == (2**53 + 4 + one, dtype)
    assert wl.reduce([large], "max") == large
    assert wl.reduce([2.0**63, 1]) == 2.0**63
    assert wl.reduce([np.uint64(1), np.int64(2)]) == 3


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_integers_in_tables_that_numpy_would_round(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    told = "values: no integer dtype holds columns of (int64 and uint64|Int64 and UInt64)"
    with pytest.raises(InputTypeError, match=told):
        wl.reduce(make({"a": np.array([2**53 + 1]), "b": np.array([1], "u8")}))
    assert wl.reduce(make({"a": np.array([3]), "b": np.array([1], "u8")})) == 4
    assert wl.reduce(make({"a": np.array([2.0**60]), "b": np.array([1])})) == 2.0**60


def test_results_that_memory_does_not_hold():
    with pytest.raises(wl.TooLargeError, match="values: the results take 8,192 GiB"):
        wl.reduce(np.empty((0, 2**40), "u1"), axis=0)


def test_lists_and_arrays_in_lists_are_not_asked_one_by_one(monkeypatch):
    """That would take several times as long as to make an array of them."""
    asked = []
    monkeypatch.setattr(intake, "refuse_missing", lambda one, _: asked.append(one))
    monkeypatch.setattr(np.ma, "is_masked", asked.append)
    for values in ([[1.0, 2, 3]] * 9, [np.ones(3)] * 9, [[1, True], (2.5, 3)], [[np.ones(2)]] * 9):
        intake.as_array(values, "values")
        assert len(asked) == 1
        assert asked.pop() is values


def test_an_open_file_and_what_only_can_read_files():
    with pytest.raises(InputTypeError, match="values: an open file is not taken; give its path"):
        wl.reduce(io.BytesIO(b"1"))
    ways = {"read": None, "__array__": lambda *_, **__: np.zeros(2, "i4,f4")}
    with pytest.raises(InputTypeError, match=r"values: dtype \[.*\] is not taken"):
        wl.reduce(type("Table", (), ways)())


def test_missing_values_of_polars():
    """As Polars has it: a method, and integers with nulls as floats with NaNs."""
    ways = {"null_count": lambda _: 1, "__array__": lambda *_, **__: np.array([1, np.nan])}
    series = type("Series", (), {**ways, "__module__": "polars.series"})()
    with pytest.raises(InputTypeError, match="some are missing"):
        wl.reduce(series)


def test_integers_of_128_bits_of_polars():
    pl = pytest.importorskip("polars", minversion="1.20")
    wide = pl.Series("n", [1, 2], dtype=pl.Int128)
    for call in (wl.reduce, wl.shortest_paths, lambda phi: wl.advect(phi, courant=1, steps=1)):
        for given in (wide, pl.DataFrame([wide])):
            with pytest.raises(wl.InputTypeError, match="with Int128 is not taken; cast it to"):
                call(given)


@pytest.mark.large
def test_missing_values_inside_elements_of_polars():
    pl = pytest.importorskip("polars")
    pairs, triples = pl.Array(pl.Int8, 2), pl.Array(pl.Array(pl.Int8, 3), 2)
    for values in (
        pl.Series([[1, None], [3, 4]], dtype=pairs),
        pl.Series([[[1, 2, 3], [4, 5, None]]], dtype=triples),
        pl.DataFrame({"a": [1, None], "b": [2, 3]}).to_struct(),
        pl.Series([[{"a": 1}, {"a": None}]], dtype=pl.Array(pl.Struct({"a": pl.Int8}), 2)),
    ):
        with pytest.raises(InputTypeError, match="some are missing"):
            wl.reduce(values)
    assert wl.reduce(pl.Series([[1, 2], [3, 4]], dtype=pairs), axis=0).tolist() == [4, 6]
    records = pl.DataFrame({"a": [1, 5], "b": [2, 3]}).to_struct()
    assert wl.reduce(records, axis=1).tolist() == [3, 8]


def test_missing_values_that_elements_of_arrow_share():
    pa = pytest.importorskip("pyarrow")
    for kept, message in (([1, None], "some are missing"), ([1, 7], None)):
        by_runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(kept))
        by_number = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(kept))
        for values in (by_runs, by_number, pa.chunked_array([by_runs]), pa.table({"a": by_number})):
            if message:
                with pytest.raises(InputTypeError, match=message):
                    wl.reduce(values)
            else:
                assert wl.reduce(values) == 9


def test_what_cannot_be_converted(tmp_path):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("use detach()")

    with pytest.raises(InputTypeError, match=r"cannot be read as an array .*: use detach\(\)"):
        wl.reduce(Tensor())
    path = tmp_path / "numbers.csv"
    path.write_text("1\n")
    with path.open() as file, pytest.raises(InputTypeError, match="give its path instead"):
        wl.reduce(file)


@pytest.mark.parametrize("op", ["min", "argmax", "nanmin", *large("max", "argmin")])
def test_nothing_has_no_extremum(op):
    for values, axis in ((np.empty(0), None), (np.empty((3, 0)), 1), (np.empty((0, 2), "i4"), 0)):
        with pytest.raises(InputError, match=f"values: {op.removeprefix('nan')}|values: {op}"):
            wl.reduce(values, op, axis=axis)
    with pytest.raises(InputError, match="is not defined"):
        wl.reduce(iter([]), op)


def test_dtypes_of_others():
    """Ml_dtypes has one of 8 bits that has the letter of uint64."""
    foreign = SimpleNamespace(char="L", kind="V", type=float)
    with pytest.raises(InputTypeError, match=r"is not taken; use \.astype\('float32'\)"):
        intake.check_dtype(foreign, "values")


def test_sums_of_exponentials_are_never_reproducible():
    for op in ("logsumexp", "nanlogsumexp"):
        with pytest.raises(InputError, match=f"cannot be had for {op}"):
            wl.reduce([1, 2], op, accuracy="reproducible")


def test_only_nan_has_no_index():
    with pytest.raises(InputError, match="values: nanargmin is not defined where there are only"):
        wl.reduce([[np.nan, np.nan], [1.0, 2.0]], "nanargmin", axis=1)


def test_chunks_have_no_mask():
    with pytest.raises(InputError, match="where: it has no meaning for chunks; reduce an array"):
        wl.reduce(iter([[1.0]]), where=True)


def test_sparse_matrices():
    """Their zeros are not stored, and it is for the caller to say whether they count."""
    sp = pytest.importorskip("scipy.sparse")
    matrix = sp.coo_array(([3.0, -4.0], ([0, 2], [1, 0])), shape=(3, 3))
    for values in (matrix, matrix.tocsr(), sp.dia_matrix(matrix), sp.dok_array(matrix)):
        with pytest.raises(
            InputTypeError, match=r"values: a sparse .*\.tocsr\(\)\.data .*\.toarray"
        ):
            wl.reduce(values)
    with pytest.raises(InputTypeError, match="values: chunk 0: a sparse csr_array"):
        wl.reduce(iter([matrix.tocsr()]))
    assert wl.reduce(matrix.tocsr().data, ("l2", "mean")) == (5, -1 / 2)
    assert wl.reduce(matrix.toarray(), ("l2", "mean")) == (5, -1 / 9)


@pytest.mark.parametrize(
    ("op", "where_it_runs"),
    [
        *(("max", "cpu"), ("max", "there")),
        *(("nanmax", "cpu"), ("nanmax", "there"), ("nanmax", "through")),
        *large(("max", "through"), ("nanmin", "cpu"), ("nanmin", "there"), ("nanmin", "through")),
    ],
)
def test_a_mask_that_leaves_nothing(op, where_it_runs):
    """An extremum of nothing is refused, that of NaNs alone is NaN, as NumPy has it."""
    gpu = SimulatedDevice(counters=False, checks=False, multiprocessors=1)
    values = np.array([[1.0, np.nan], [np.nan, np.nan]])
    given = gpu.to_device(values) if where_it_runs == "there" else values
    device = "cpu" if where_it_runs == "cpu" else gpu
    nothing = f"where: {op} is not defined where the mask leaves no element"
    for options in (
        {"where": np.array(False)},
        {"where": np.array([[True, True], [False, False]]), "axis": 1},
        {"where": np.array([[True], [False]]), "axis": 1},
        {"where": np.array([False, True]), "axis": 0},
    ):
        with pytest.raises(InputError, match=nothing):
            wl.reduce(given, op, device=device, **options)
    some = np.array([[True, False], [False, True]])
    found = wl.reduce(given, op, axis=1, where=some, device=device)
    found = found.copy_to_host() if hasattr(found, "copy_to_host") else found
    np.testing.assert_array_equal(found, [1, np.nan])


def test_a_mask_that_leaves_no_index():
    values = np.array([1.0, np.nan, 2.0])
    for mask in ([False, True, False], [False] * 3):
        with pytest.raises(InputError, match=r"where: nanargmax .* leaves no element but NaNs"):
            wl.reduce(values, "nanargmax", where=mask)
    # The folds of test_laws.test_a_mask_is_a_choice, so that they are compiled once.
    ops = ("argmax", "sum", "min", "mean", "count_nonzero")
    with pytest.raises(InputError, match=r"where: argmax .* leaves no element$"):
        wl.reduce(values, ops, where=[False] * 3)
