#!/usr/bin/env python3
"""The fixture stores with their models, mapping models and versions, for scripts that run ferry over all of them."""
import json, os, shutil, subprocess
from pathlib import Path

root = Path(__file__).resolve().parent.parent


def folder(words):
    """Returns the folder of fixtures that the words of a command line name, else the default one."""
    default = os.environ.get("FERRY_FIXTURES", root.parent / "shared" / "fixtures")
    return Path(words[0] if words else default).resolve()


def is_store(path):
    if not path.is_file() or path.name.endswith(("-wal", "-shm", "-journal")):
        return False
    with open(path, "rb") as file:
        return file.read(15) == b"SQLite format 3"


def copy(store, to):
    for suffix in ("", "-wal", "-shm"):
        if Path(str(store) + suffix).exists():
            shutil.copy(str(store) + suffix, str(to) + suffix)


def versions(ferry, models):
    names = []
    for model in models:
        found = subprocess.run([ferry, "inspect", model, "--hashes", "--json"], capture_output=True, text=True)
        if found.returncode != 0:
            return []
        names += [(v.get("bundle"), v["name"]) for v in json.loads(found.stdout)["versions"]]
    plain = [name for _, name in names]
    return [name if plain.count(name) == 1 else f"{bundle}/{name}" for bundle, name in names]


def families(ferry, fixtures, part, every):
    """Yields each folder whose name contains a part, with its models, mapping models, stores and target versions.

    Of more than 12 versions these are one of `every` and the two newest.
    """
    for family in sorted(path for path in fixtures.iterdir() if path.is_dir()):
        if part not in family.name:
            continue
        models = [str(p) for p in sorted(family.iterdir()) if p.suffix in (".xcdatamodeld", ".momd", ".xcdatamodel")]
        mappings = [str(p) for p in sorted(family.rglob("*.xcmappingmodel"))]
        stores = [path for path in sorted(family.rglob("*")) if is_store(path)]
        if not models or not stores:
            continue
        targets = versions(ferry, models)
        if len(targets) > 12:
            targets = targets[::every] + targets[-2:]
        yield family, models, mappings, stores, targets
