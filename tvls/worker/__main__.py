"""Entry point of a worker: `<python> -B -u <this file> MODE`; the modes are in `modes.py`.

Runs in the user's interpreter, whatever that turns out to be. This one file therefore keeps to a syntax that every
Python can read: an interpreter that is too old has to say so instead of failing to parse its entry point.
"""

# pyright: reportTypeCommentUsage=false
# (Python 2 and Python 3.5 would not read annotations.)

import os
import sys

OLDEST = (3, 10)


def leave_own_folder():  # type: () -> None
    """Take the folder of this script off `sys.path`: a `trace.py` beside us must not hide the standard one."""
    here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and os.path.realpath(sys.path[0]) == here:
        del sys.path[0]


def standard_library():  # type: () -> list[str]
    """Entries of `sys.path` that hold the standard library and nothing else."""
    library = os.path.dirname(os.path.abspath(os.__file__))

    def is_standard(entry):  # type: (str) -> bool
        if os.path.basename(entry) in ("site-packages", "dist-packages"):
            return False
        inside = os.path.abspath(entry) == library or os.path.dirname(os.path.abspath(entry)) == library
        beside = os.path.basename(entry) == "DLLs" or os.path.basename(entry) == "lib-dynload"
        return inside or beside or entry.endswith(".zip")

    return [entry for entry in sys.path if is_standard(entry)]


def serve_own_packages():  # type: () -> None
    """Make `tvls.worker` and `tvls.capture` importable from beside this file, and no other part of `tvls` at all."""
    import importlib.machinery
    import importlib.util

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    class OwnPackages(object):
        def find_spec(self, fullname, path=None, target=None):
            # type: (str, object, object) -> importlib.machinery.ModuleSpec | None
            if fullname == "tvls":
                init = os.path.join(root, "__init__.py")
                spec = importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=[])
                if spec is not None and spec.submodule_search_locations is not None:
                    del spec.submodule_search_locations[:]  # an empty list was taken for "the folder of the file"
                return spec
            parts = fullname.split(".")
            if parts[0] != "tvls" or parts[1] not in ("worker", "capture"):
                return None
            base = os.path.join(root, *parts[1:])
            init = os.path.join(base, "__init__.py")
            if os.path.isfile(init):
                return importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=[base])
            if os.path.isfile(base + ".py"):
                return importlib.util.spec_from_file_location(fullname, base + ".py")
            return None

    for name in [name for name in sys.modules if name == "tvls" or name.startswith("tvls.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, OwnPackages())


def take_standard_streams():  # type: () -> tuple[int, int]
    """Private copies of descriptors 0 and 1; whatever prints or reads from here on meets stderr and /dev/null."""
    private = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return private


def main(arguments):  # type: (list[str]) -> int
    leave_own_folder()
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:3])
        sys.stdout.write('{"tooOld": "' + version + '"}\n')
        return 3
    streams = take_standard_streams()
    serve_own_packages()
    # PYTHONPATH comes before the standard library; while our own modules load, a `json.py` on it must not.
    everything = list(sys.path)
    sys.path[:] = standard_library() or everything
    try:
        from tvls.worker import modes
    finally:
        sys.path[:] = everything
    return modes.run(arguments, streams)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
