"""The import rule: who may know whom. What to do when a test here fails is in its message."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("engine", "storage", "inspector", "app", "tests", "bench")

#: Where a file stands -> what of this program it may import. The longest matching place counts, and every
#: file must have one. A name allows the package and all inside.
ALLOWED: dict[str, tuple[str, ...]] = {
    "engine/errors.py": (),
    "engine/core": ("engine.core", "engine.errors"),
    "engine/rules": ("engine.core", "engine.errors", "engine.rules"),
    "engine/drafters": ("engine.core", "engine.errors", "engine.drafters"),
    "engine/mlx_backend": ("engine",),
    "engine": ("engine",),
    "storage": ("engine.core", "engine.errors", "storage"),
    "inspector/view_model.py": ("engine.core", "engine.errors", "engine.rules", "inspector.view_model"),
    "inspector": ("engine", "storage", "inspector"),
    "inspector/ui.py": ("engine.errors", "inspector"),
    "app.py": ("engine", "storage", "inspector"),
}

#: Where a file stands -> the only other packages it may import besides the standard library.
THIRD_PARTY: dict[str, set[str] | None] = {
    "engine/errors.py": set(),
    "engine/core": {"numpy"},
    "engine/rules": {"numpy"},
    "engine/drafters": {"numpy"},
    "engine/fault_probe.py": {"numpy"},  # and reads them
    "engine/faults.py": {"numpy"},  # stands around a scorer, which gives arrays
    "engine": {"platformdirs"},
    "engine/mlx_backend": None,
    "storage": {"numpy", "sqlite_utils", "filelock", "platformdirs"},
    "inspector/view_model.py": {"numpy"},
    "inspector/cli.py": {"click"},
    "inspector/commands": {"click"},
    "inspector/report.py": {"click"},
    "inspector/own_rules.py": {"click"},
    "inspector/ui.py": {"gradio"},
    "inspector/screen": {"gradio", "starlette"},
    "inspector/figures.py": {"plotly"},
    "inspector": {"numpy"},
    "app.py": set(),
}

#: Packages that stand in one place alone, wherever else they would be allowed.
ONLY_IN = {
    "mlx": "engine/mlx_backend",
    "mlx_lm": "engine/mlx_backend",
    "transformers": "engine/mlx_backend",
    "tokenizers": "engine/mlx_backend",
    "huggingface_hub": "engine/mlx_backend",
    "gradio": "inspector",
    "sqlite3": "storage",
    "sqlite_utils": "storage",
}

#: Folders of ours at the edge -> who may know them; what stands behind the edge does not.
EDGES = {
    "inspector.commands": ("inspector/cli.py", "inspector/commands/", "tests/", "bench/"),
    "inspector.screen": ("inspector/ui.py", "inspector/screen/", "tests/", "bench/"),
}

#: Within a package, what may not import gradio: the screen's neighbours that run without one.
NO_GRADIO = ("inspector/controller.py", "inspector/view_model.py", "inspector/cli.py", "inspector/report.py")

FOLDERS = ("engine", "storage", "inspector")
PATHS = [ROOT / "app.py", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))]
FILES = [path.relative_to(ROOT).as_posix() for path in PATHS]

ADVICE = "Move what is needed to where both may see it, or change the tables here and give the reason beside."


def place(file: str, table: dict) -> str:
    """The longest entry of a table that the file lies in."""
    inside = [name for name in table if file == name or file.startswith(name + "/")]
    assert inside, f"{file} lies in no place of tests/test_architecture.py: give it one there"
    return max(inside, key=len)


def imports(source: str) -> set[str]:
    """Every module a source imports, also inside functions; `from a import b` counts as a.b."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide from this test: write the package's name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def faults(file: str, source: str) -> list[str]:
    """What a file imports against the rule."""
    allowed, others = ALLOWED[place(file, ALLOWED)], THIRD_PARTY[place(file, THIRD_PARTY)]
    found = []
    for module in sorted(imports(source)):
        top = module.split(".")[0]
        if top in OURS and not any(within(module, package) for package in allowed):
            found.append(f"{file} imports {module}; it may import {', '.join(allowed) or 'nothing of ours'}")
        home = ONLY_IN.get(top)
        if home and not file.startswith(home + "/"):
            found.append(f"{file} imports {module}; only {home}/ may")
        known = top in OURS or top in sys.stdlib_module_names
        if not known and others is not None and top not in others:
            found.append(f"{file} imports {module}; {place(file, THIRD_PARTY)} may use {sorted(others)}")
        for edge, known_to in EDGES.items():
            if within(module, edge) and not file.startswith(known_to):
                found.append(f"{file} imports {module}; only {', '.join(known_to[:2])} may")
        if top == "gradio" and file in NO_GRADIO:
            found.append(f"{file} imports gradio; it must run without a screen")
    return found


@pytest.mark.parametrize("file", FILES)
def test_a_file_imports_what_its_place_allows(file):
    found = faults(file, (ROOT / file).read_text())
    assert not found, "\n".join([*found, ADVICE])


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("engine/core/loop.py", "import mlx.core as mx"),
        ("engine/core/loop.py", "from engine import rules"),
        ("engine/core/loop.py", "def f():\n    from engine.rules import get"),
        ("engine/core/loop.py", "import scipy"),
        ("engine/rules/block.py", "from engine.drafters import lookup"),
        ("engine/drafters/lookup.py", "from engine.rules import RULES"),
        ("engine/worker.py", "import mlx_lm"),
        ("engine/worker.py", "import sqlite3"),
        ("storage/store.py", "from engine.worker import Run"),
        ("storage/store.py", "from inspector import view_model"),
        ("inspector/view_model.py", "from storage import Store"),
        ("inspector/view_model.py", "from engine.worker import Worker"),
        ("inspector/controller.py", "import gradio as gr"),
        ("inspector/cli.py", "def f():\n    import gradio"),
        ("inspector/controller.py", "import sqlite_utils"),
        ("inspector/controller.py", "from inspector.screen.tail import encode"),
        ("inspector/report.py", "from inspector.commands import live"),
        ("inspector/lanes.py", "import click"),
        ("inspector/ui.py", "from storage import Store"),
        ("inspector/ui.py", "from engine.worker import Worker"),
    ],
)
def test_the_test_sees_what_is_forbidden(file, source):
    assert faults(file, source)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("engine/core/loop.py", "from __future__ import annotations\nimport time\nimport numpy as np"),
        ("engine/mlx_backend/load.py", "import mlx.core as mx\nfrom engine.core.types import Row"),
        ("engine/models.py", "def f():\n    from engine.mlx_backend import load"),
        ("inspector/controller.py", "from storage import Store\nfrom engine.worker import Worker"),
        ("inspector/ui.py", "import gradio as gr\nfrom inspector.controller import Controller"),
    ],
)
def test_the_test_lets_pass_what_is_allowed(file, source):
    assert not faults(file, source)


def modules_of(package: str) -> list[str]:
    folder = ROOT / package.replace(".", "/")
    stems = (path.stem for path in sorted(folder.glob("*.py")))
    return [package if stem == "__init__" else f"{package}.{stem}" for stem in stems]


PURE = [
    *modules_of("engine.core"),
    "engine.rules",
    *modules_of("engine.rules"),
    *modules_of("engine.drafters"),
]
MODELS = ["mlx", "mlx_lm", "transformers", "tokenizers", "huggingface_hub", "torch"]
SCREEN = ["gradio", "starlette", "fastapi", "plotly"]
DATABASE = ["sqlite3", "sqlite_utils"]


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        (PURE, [*MODELS, *SCREEN, *DATABASE, "scipy"]),
        (["engine.worker", "engine.session", "engine.models"], [*MODELS, *SCREEN, *DATABASE]),
        (modules_of("storage"), [*MODELS, *SCREEN]),
        (["inspector.view_model"], [*MODELS, *SCREEN, *DATABASE]),
        (["inspector.controller"], [*MODELS, *SCREEN]),
        (["inspector.cli"], [*MODELS, *SCREEN]),
        (["app"], [*MODELS, *SCREEN]),
    ],
    ids=["core, rules, drafters", "worker", "storage", "view model", "controller", "cli", "app"],
)
def test_importing_it_brings_in_nothing_heavy(modules, absent):
    """In a fresh interpreter, so that what other tests imported does not count."""
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(*(name for name in {absent!r} if name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [], f"importing {modules} brought in {ran.stdout.strip()}"


def test_no_file_grows_beyond_what_one_reads_in_a_sitting():
    long = {file: n for file in FILES if (n := len((ROOT / file).read_text().splitlines())) > 400}
    assert not long, f"split these: {long}"
