"""Changes of what a model file holds, for files whose checksums are right all the same."""

from tests.files.models import npy

HOSTILE = [
    None, True, -1, 0, 2**63, 1e308, -0.5, "", "x", "__class__", [], {}, [[]], {"decode": 1}, {"_array": 1},
    {"object": "Kernel", "state": {}}, {"object": "os.system", "state": {"x": "true"}}, {"object": "PUSVC"},
    {"object": ["PUSVC"], "state": {}}, {"object": "Normalizer", "state": {"n_features_in_": 3}},
    {"array": "support_.npy"}, {"array": "../x"}, {"array": []}, {"float": "nan"}, {"float": "inf"}, {"float": 1},
    {"tuple": []}, {"tuple": 1}, {"dict": {"a": 1}}, {"dict": []}, {"numpy": ["float64", {"float": "nan"}]},
    {"numpy": ["int8", 300]}, {"numpy": ["float32", 1e300]}, {"numpy": ["object", 1]}, {"numpy": [[], 1]},
    {"numpy": ["bool", True]}, {"strings": [[1], ["a"]]}, {"strings": [[2**39, 2**39, 0], []]},
    {"strings": [[2], ["a"]]}, {"strings": [["a"], 1]}, {"csr": []}, {"csr": ["csr_array", [1, 1], 1, 2, 3]},
    {"csr": [{}, 1, 2, 3, 4]}, {"random_state": [1, 2, 3, 4]}, {"random_state": []}, {"a": 1, "b": 2},
    {"dict": {"a": {"dict": {"b": {"tuple": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]}}}}},
]  # fmt: skip
"""Values that a file may hold anywhere in its description."""


def forge(manifest, entries, name, array):
    """Another array in the place of one."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    listed = {"dtype": array.dtype.str, "shape": list(array.shape), "order": order}
    return {**manifest, "arrays": {**manifest["arrays"], name: listed}}, {**entries, name: npy(array)}


def places(tree, at=()):
    """The paths to all values of a JSON tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in items:
        yield (*at, key)
        yield from places(part, (*at, key))


def changed(tree, at, value):
    """A copy of the tree with another value at a path."""
    copy = tree.copy()
    if len(at) > 1:
        copy[at[0]] = changed(tree[at[0]], at[1:], value)
    elif value is ...:
        del copy[at[0]]
    else:
        copy[at[0]] = value
    return copy
