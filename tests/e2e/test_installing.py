"""Installing as people do: the wheel with pipx and uv, and a container file that keeps to its promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
HASHED = (ROOT / "requirements-hashed.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TIME_LIMIT_S = 600


def run(*words: str | Path, cwd: Path, **more: str) -> str:
    """Run a command that has to succeed; what it printed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MEDBAY_", "PYTHON"))}
    ran = subprocess.run(
        [*map(str, words)], cwd=cwd, env={**environ, **more}, capture_output=True, text=True, timeout=TIME_LIMIT_S
    )
    assert ran.returncode == 0, f"{words}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what people install programs with; the folder of its programs."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "build", "pipx", "uv", cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would be published."""
    out = tmp_path_factory.mktemp("dist")
    run(tools / "python", "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    (made,) = out.glob("*.whl")
    return made


@pytest.mark.long
@pytest.mark.timeout(TIME_LIMIT_S)
@pytest.mark.parametrize("tool", ["pipx", "uv"])
def test_the_wheel_installs_as_a_program_and_works(tool: str, tools: Path, wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, with the migrations and nothing of this checkout."""
    programs = tmp_path / "bin"
    places = {
        "HOME": str(tmp_path),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(programs),
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(programs),
    }
    words = ("pipx", "install") if tool == "pipx" else ("uv", "tool", "install", "--python", sys.executable)
    run(tools / words[0], *words[1:], wheel, cwd=tmp_path, **places)

    home = tmp_path / "project"
    home.mkdir()
    medbay = programs / "medbay"
    run(medbay, "init", cwd=home, **places)
    task = run(medbay, "add", "hello", "--run", "echo hello", cwd=home, **places).strip()
    run(medbay, "up", "--until-idle", cwd=home, **places)

    assert run(medbay, "log", task, cwd=home, **places) == "hello\n"
    assert str(ROOT) not in run(medbay, "--debug", "doctor", "--json", cwd=home, **places)


@pytest.mark.long
@pytest.mark.timeout(TIME_LIMIT_S)
def test_the_hashed_requirements_are_all_it_needs(wheel: Path, tmp_path: Path) -> None:
    """As the container installs it: every file has a known hash, and nothing else is fetched."""
    venv.create(tmp_path / "own", with_pip=True)
    python = tmp_path / "own" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet")
    run(*pip, "--require-hashes", "--requirement", ROOT / "requirements-hashed.txt", cwd=tmp_path)
    run(*pip, "--no-deps", wheel, cwd=tmp_path)

    run(python, "-m", "pip", "check", cwd=tmp_path)
    (tmp_path / "project").mkdir()
    run(tmp_path / "own" / "bin" / "medbay", "init", cwd=tmp_path / "project", HOME=str(tmp_path))


def test_hashed_requirements_have_the_versions_of_the_constraints() -> None:
    """Both are written by `make lock`; every line of the one has a hash."""
    constraints = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().split())
    entries = re.findall(r"^([\w.-]+)==([\w.+-]+)[^\n]*\n((?:    --hash=\S+[^\n]*\n?)*)", HASHED, re.MULTILINE)
    needed = re.findall(r"^([\w-]+)", "\n".join(PROJECT["project"]["dependencies"]), re.MULTILINE)

    assert len(entries) == len(re.findall(r"^\w", HASHED, re.MULTILINE))
    assert [name for name, _, hashes in entries if "sha256:" not in hashes] == []
    known = {name.replace("_", "-"): version for name, version in constraints.items()}
    assert [name for name, version, _ in entries if known.get(name, version) != version] == []
    assert {each.lower() for each in needed} <= {name for name, _, _ in entries}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a container file with their arguments; continued lines are one."""
    joined = re.sub(r"\\\n\s*", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    found = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest.strip()) for word, _, rest in found]


def test_the_container_is_slim_not_root_and_has_one_volume() -> None:
    """What can be seen without an engine that builds it."""
    stages = CONTAINERFILE.split("\nFROM ")
    last = dict(instructions("FROM " + stages[-1]))
    words = [word for word, _ in instructions("FROM " + stages[-1])]

    assert all(re.match(r"python:\$\{PYTHON\}-slim", stage) for stage in stages[1:])
    assert last["USER"] == "medbay"
    assert (words.count("VOLUME"), last["VOLUME"], last["WORKDIR"]) == (1, "/data", "/data")
    assert "MEDBAY_STORE=sqlite:////data/" in last["ENV"]
    assert (last["ENTRYPOINT"], last["CMD"], last["STOPSIGNAL"]) == ('["medbay"]', '["up"]', "SIGTERM")
    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT")
    assert "--require-hashes" in CONTAINERFILE
    assert "apt-get" not in CONTAINERFILE
    assert "curl" not in CONTAINERFILE


def test_the_container_copies_what_is_there() -> None:
    """Every path of a COPY exists, and nothing of a person's project goes along."""
    copied = [rest for word, rest in instructions(CONTAINERFILE) if word == "COPY" and not rest.startswith("--from")]
    sources = [path for rest in copied for path in rest.split()[:-1]]

    assert sources
    assert [path for path in sources if not (ROOT / path).exists()] == []
    assert "." not in sources
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", ".medbay"} <= set(ignored)
