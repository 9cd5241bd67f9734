"""Story folders on a real file system."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from medbay.core import lifecycles
from medbay.core.durations import iso
from medbay.core.workflow import phase_lock, shapes, written
from medbay.core.workflow.phase_lock import PhaseLock
from medbay.core.workflow.records import Story
from medbay.errors import NotAllowed, StaleClaim, UsageError
from medbay.integrations import story_folder
from medbay.integrations.story_folder import FolderProblem, StoryFolders, evidence_hash

NOW = 1_770_000_000_000
HOUR = 3_600_000
STORY = Story(id="S-1", title="Search", criteria=("finds",))
MACHINES = {"story": lifecycles.STORY}


@pytest.fixture
def folders(tmp_path: Path) -> StoryFolders:
    """Of an empty project."""
    return StoryFolders(tmp_path / "stories")


def put(folders: StoryFolders, story: Story, files: dict[str, str] | None = None) -> Path:
    """A story's folder as the conductor leaves it."""
    at = folders.place(story, lifecycles.STORY)
    folders.write(story, files or {})
    return at


def test_a_folder_follows_the_status(folders: StoryFolders) -> None:
    """With everything in it, through every directory of the table."""
    put(folders, STORY, {f"{shapes.FOLDER}/{shapes.PROOF}": "proof\n"})

    for status in lifecycles.STORY.states:
        at = put(folders, replace(STORY, status=status))
        assert at == folders.root / lifecycles.STORY.places[status] / "S-1"
        assert f"status: {status}\n" in (at / "story.md").read_text()
        assert (at / shapes.FOLDER / shapes.PROOF).read_text() == "proof\n"
        assert folders.find("S-1") == at


def test_a_folder_stays_while_a_phase_runs(folders: StoryFolders) -> None:
    """Neither placing nor syncing moves it."""
    at = put(folders, STORY)
    moved = replace(STORY, status="uat")

    assert folders.place(moved, lifecycles.STORY, running="gate") == at
    (said,) = folders.sync([moved], MACHINES, {"S-1": "gate"})
    assert "while gate runs" in said and at.exists()


def test_sync_repairs_what_a_person_moved_and_deleted(folders: StoryFolders) -> None:
    """It says what it did; a second one has nothing to say."""
    at = put(folders, STORY)
    other = replace(STORY, id="S-2")
    put(folders, other)
    (folders.root / "somewhere").mkdir()
    os.rename(at, folders.root / "somewhere" / "renamed")
    (folders.root / "backlog" / "S-2" / "story.md").unlink()
    for path in sorted((folders.root / "backlog" / "S-2").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (folders.root / "backlog" / "S-2").rmdir()
    (folders.root / "backlog" / "notes").mkdir(parents=True)

    said = folders.sync([STORY, other], MACHINES)

    assert said == [
        "S-1: moved from somewhere/renamed/ to backlog/S-1/",
        "S-2: its folder was gone; made again in backlog/ from the store",
        "backlog/notes/: no story of this store; left alone (medbay story new notes makes one)",
    ]
    assert folders.sync([STORY, other], MACHINES) == said[2:]


def test_a_folder_that_cannot_be_put_in_place_does_not_stop_the_others(folders: StoryFolders) -> None:
    """It is named with what stands in its way."""
    folders.root.mkdir()
    (folders.root / "UAT").write_text("a file")

    said = folders.sync([replace(STORY, status="uat"), replace(STORY, id="S-2")], MACHINES)

    assert said[0].startswith("S-1: its folder cannot be put into ")
    assert (folders.root / "backlog" / "S-2").is_dir()
    with pytest.raises(FolderProblem, match="cannot be put into"):
        folders.place(replace(STORY, status="uat"), lifecycles.STORY)


def test_an_id_that_names_no_folder_is_refused(folders: StoryFolders) -> None:
    """It could lead anywhere."""
    with pytest.raises(UsageError):
        folders.place(replace(STORY, id="../x"), lifecycles.STORY)


def test_files_are_written_where_they_differ(folders: StoryFolders) -> None:
    """What a role wrote itself stays; what is ours is as the store says."""
    name, proof = f"{shapes.FOLDER}/{shapes.METRICS}", f"{shapes.FOLDER}/{shapes.PROOF}"
    at = put(folders, STORY, {name: "a: 1\n", proof: "ours\n"})
    before = (at / name).stat().st_ino

    folders.write(STORY, {name: "a: 1\n", proof: "ours, newer\n"})
    assert (at / name).stat().st_ino == before
    assert (at / proof).read_text() == "ours, newer\n"

    (at / proof).write_text("by the developer\n")
    (at / name).write_text("forged: true\n")
    folders.write(STORY, {name: "a: 1\n", proof: "ours, newest\n"})
    assert (at / proof).read_text() == "by the developer\n"
    assert (at / name).read_text() == "a: 1\n"
    assert not list(at.rglob("*.new"))
    assert folders.artifacts("S-1") == ["story.md", name, proof]


def test_a_hand_edit_is_found_once(folders: StoryFolders) -> None:
    """Until the store has taken it over, or it was written over."""
    at = put(folders, STORY)
    assert folders.hand_edit(STORY) is None
    text = (at / "story.md").read_text()
    (at / "story.md").write_text(text.replace("status: pending", "status: completed").replace("Search", "Find"))

    found = folders.hand_edit(STORY)

    assert found is not None
    assert found.said == {"title": "Find", "status": "completed"}
    taken = replace(STORY, title="Find")
    folders.write(taken, {})
    assert "status: pending" in (at / "story.md").read_text()
    assert folders.hand_edit(taken) is None


def test_an_edit_is_no_edit_where_only_the_store_moved_on(folders: StoryFolders) -> None:
    """A crash between the move in the store and the file is no request of a person."""
    put(folders, STORY)

    assert folders.hand_edit(replace(STORY, status="generated", title="New")) is None


def test_a_frontmatter_that_is_not_yaml_is_named_and_left(folders: StoryFolders) -> None:
    """The store stands; the person mends the file."""
    at = put(folders, STORY)
    broken = "---\ntitle: [\n---\nbody\n"
    (at / "story.md").write_text(broken)

    found = folders.hand_edit(STORY)

    assert found is not None and found.said == {} and "not YAML" in found.mistakes[0]
    folders.write(replace(STORY, status="generated"), {})
    assert (at / "story.md").read_text() == broken


def test_a_folder_or_a_link_where_story_md_belongs_is_named(folders: StoryFolders, tmp_path: Path) -> None:
    """Nothing is read from it, nothing is written, and the others go on."""
    at = put(folders, STORY)
    (at / "story.md").unlink()
    for make in (os.mkdir, lambda path: os.symlink(tmp_path, path)):
        make(at / "story.md")
        assert folders.hand_edit(STORY) is None
        with pytest.raises(FolderProblem, match="is no file"):
            folders.write(STORY, {})
        assert folders.sync([STORY], MACHINES) == []
        os.rename(at / "story.md", tmp_path / make.__name__)


def test_nothing_is_written_through_a_link(folders: StoryFolders, tmp_path: Path) -> None:
    """A folder that is a link is refused; a file that is one is replaced by a file."""
    at = put(folders, STORY)
    secret = tmp_path / "secret"
    secret.write_text("kept")
    name = f"{shapes.FOLDER}/{shapes.TRACE}"
    (at / name).symlink_to(secret)

    folders.write(STORY, {name: "{}\n"})
    assert secret.read_text() == "kept" and (at / name).read_text() == "{}\n"

    os.rename(at / shapes.FOLDER, tmp_path / "elsewhere")
    (at / shapes.FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderProblem, match="is a link"):
        folders.write(STORY, {name: "{}\n"})


def test_a_story_without_a_folder_cannot_be_written(folders: StoryFolders) -> None:
    """It has to be placed first."""
    with pytest.raises(FolderProblem, match="has no folder"):
        folders.write(STORY, {})
    assert folders.hand_edit(STORY) is None
    assert folders.artifacts("S-1") == []


def test_what_a_role_wrote_is_never_lost(folders: StoryFolders) -> None:
    """Its own kind of file stays; one that follows from the records is ours, and theirs is kept beside."""
    gate, elab = (f"{shapes.FOLDER}/{name}" for name in (shapes.GATE, shapes.ELAB))
    at = put(folders, STORY, {gate: "ours 1\n", elab: "ours 1\n"})
    put(folders, STORY, {gate: "ours 2\n", elab: "ours 2\n"})
    assert [(at / name).read_text() for name in (gate, elab)] == ["ours 2\n", "ours 2\n"]
    for name in (gate, elab):
        (at / name).write_text("theirs\n")

    put(folders, STORY, {gate: "ours 3\n", elab: "ours 3\n"})

    assert [(at / name).read_text() for name in (gate, elab)] == ["ours 3\n", "theirs\n"]
    (kept,) = (at / written.KEPT).iterdir()
    assert kept.read_text() == "theirs\n" and kept.name.startswith("GATE-")
    put(folders, STORY, {gate: "ours 4\n"})
    assert [kept] == list((at / written.KEPT).iterdir())


def test_a_crash_between_two_files_makes_nothing_of_ours_anothers(
    folders: StoryFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is about to be written is noted before; what was there is known too."""
    gate, elab = (f"{shapes.FOLDER}/{name}" for name in (shapes.GATE, shapes.ELAB))
    at = put(folders, STORY, {gate: "1\n", elab: "1\n"})
    real = story_folder._replace

    def breaks(path: Path, text: str) -> None:
        if path.name == shapes.ELAB:
            raise OSError(5, "gone")
        real(path, text)

    monkeypatch.setattr(story_folder, "_replace", breaks)
    with pytest.raises(FolderProblem):
        put(folders, STORY, {gate: "2\n", elab: "2\n"})
    monkeypatch.setattr(story_folder, "_replace", real)

    put(folders, STORY, {gate: "3\n", elab: "3\n"})

    assert [(at / name).read_text() for name in (gate, elab)] == ["3\n", "3\n"]
    assert not (at / written.KEPT).exists()


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_what_a_dead_process_left_half_written_is_cleared(folders: StoryFolders) -> None:
    """By its name and its number alone: files of the living, of people and behind links stay."""
    at = put(folders, STORY)
    inside, dead, alive = at / shapes.FOLDER, gone(), os.getppid()
    kept = inside / "kept"
    kept.mkdir()
    left = [at / f".story.md.{dead}.new", inside / f".phase-lock.{dead}.new", at / f".story.md.{dead}.old"]
    left += [inside / f".{name}.{dead}.new" for name in ("written.json", shapes.GATE, shapes.PROOF, shapes.TRACE)]
    left += [kept / f".{name}-0123abcd.{end}.{dead}.new" for name, end in (("story", "md"), ("GATE", "yaml"))]
    stay = [
        at / f".story.md.{alive}.new",
        at / f".story.md.{os.getpid()}.new",
        at / "draft.12.new",
        at / ".notes.new",
        inside / f".{dead}.new",
        at / f".notes.{dead}.new",
        at / f".draft.{dead}.old",
        at / f".PROOF.md.{dead}.new",
        inside / f".story.md.{dead}.old",
        inside / f".PROOF.md.{dead}.old",
        kept / f".PROOF.md.{dead}.new",
    ]
    for path in (*left, *stay):
        path.write_text("half")
    os.utime(left[2], (1, 1))
    link = inside / f".{shapes.ELAB}.{dead}.new"
    link.symlink_to(stay[0])

    removed = folders.clear(at)

    assert sorted(removed) == sorted(each.name for each in left)
    assert all(path.exists() for path in stay) and link.is_symlink()
    assert list(kept.iterdir()) == stay[-1:] and folders.clear(at) == []


def test_words_that_were_saved_while_story_md_was_replaced_are_kept(folders: StoryFolders) -> None:
    """The process that would have put them back died: they are in a file of their own."""
    at = put(folders, STORY)
    last = at / f".story.md.{gone()}.old"
    last.write_text("my last words\n")
    os.utime(at / "story.md", (1, 1))

    assert folders.clear(at) == [last.name]
    assert [each.read_text() for each in (at / shapes.FOLDER / "kept").iterdir()] == ["my last words\n"]


def test_before_a_phase_begins_what_is_not_of_its_run_is_set_aside(folders: StoryFolders) -> None:
    """Its own artifact by an earlier run, and whatever has a wrong shape; nothing of ours, and nothing else."""
    audit = "story_id: S-1\nverdict: PASS\nelaborated_at: '2026-01-01T00:00:00Z'\n"
    at = put(folders, STORY, {f"{shapes.FOLDER}/{shapes.METRICS}": "ours: anything\n"})
    (at / shapes.FOLDER / shapes.ELAB).write_text(audit)
    (at / shapes.FOLDER / shapes.PROOF).write_text("proof\n")
    (at / shapes.FOLDER / shapes.GATE).write_text("verdict: [\n")

    assert folders.set_aside(at, shapes.PROOF) == [shapes.GATE]
    assert folders.set_aside(at, shapes.PROOF) == []
    assert folders.set_aside(at, shapes.ELAB) == [shapes.ELAB]

    left = sorted(path.name for path in (at / shapes.FOLDER).iterdir() if not path.name.startswith("."))
    assert left == [shapes.METRICS, shapes.PROOF, "kept"]
    assert sorted(path.read_text() for path in (at / written.KEPT).iterdir()) == [audit, "verdict: [\n"]


def lock_of(at: Path) -> Path:
    return at / shapes.FOLDER / shapes.LOCK


def test_a_lock_is_taken_renewed_and_left(folders: StoryFolders) -> None:
    """By its own run only."""
    at = put(folders, STORY)

    folders.lock(at, phase="implement", command="story implement", run="S-1/1", now_ms=NOW)
    with pytest.raises(NotAllowed, match="Phase in progress: implement by process"):
        folders.lock(at, phase="review", command="story review", run="S-1/2", now_ms=NOW + 1)
    folders.renew(at, run="S-1/1", now_ms=NOW + 2 * HOUR)
    with pytest.raises(NotAllowed, match="Phase in progress"):
        folders.lock(at, phase="review", command="story review", run="S-1/2", now_ms=NOW + 2 * HOUR + 1)

    folders.unlock(at, run="S-1/2")
    folders.renew(at, run="S-1/2", now_ms=NOW)
    found = phase_lock.read(lock_of(at).read_text())
    assert found is not None and (found.run, found.pid) == ("S-1/1", os.getpid())
    folders.unlock(at, run="S-1/1")
    assert not lock_of(at).exists()


@pytest.mark.parametrize("pid", [None, 2**22 + 1])
def test_a_stale_lock_is_taken_over(folders: StoryFolders, pid: int | None) -> None:
    """An hour old, of a person's tool or of a process that is gone."""
    at = put(folders, STORY)
    old = PhaseLock(phase="x", started_at=iso(NOW - HOUR), pid=pid, host=socket.gethostname())
    lock_of(at).write_text(phase_lock.render(old))
    os.utime(lock_of(at), (0, 0))

    folders.lock(at, phase="implement", command="story implement", run="S-1/1", now_ms=NOW)

    assert "run: S-1/1" in lock_of(at).read_text()


@pytest.mark.parametrize("text", ["phase: mine\nstartedAt: {}\n", "just a note"])
def test_a_live_lock_of_a_persons_tool_refuses(folders: StoryFolders, text: str) -> None:
    """Whatever is in it: its own time, or that of the file, counts."""
    at = put(folders, STORY)
    lock_of(at).write_text(text.format(iso(NOW - HOUR + 1)))
    os.utime(lock_of(at), (NOW / 1000 - 5, NOW / 1000 - 5))

    with pytest.raises(NotAllowed, match="Phase in progress"):
        folders.lock(at, phase="implement", command="story implement", run="S-1/1", now_ms=NOW)


def test_our_lock_is_taken_over_after_a_crash(folders: StoryFolders) -> None:
    """The same run goes on, by another process."""
    at = put(folders, STORY)
    mine = PhaseLock(phase="x", started_at=iso(NOW - 1), pid=1, host="elsewhere", run="S-1/1")
    lock_of(at).write_text(phase_lock.render(mine))

    folders.lock(at, phase="x", command="story x", run="S-1/1", now_ms=NOW)

    assert f"pid: {os.getpid()}" in lock_of(at).read_text()


def test_evidence_is_hashed_below_the_project_and_the_folder_only(tmp_path: Path) -> None:
    """Files and folders; what lies outside, or is not there, has no hash."""
    project, folder = tmp_path / "project", tmp_path / "project" / "stories" / "UAT" / "S-1"
    folder.mkdir(parents=True)
    (project / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    (tmp_path / "outside").write_text("x")
    (project / "link").symlink_to(tmp_path / "outside")

    a = evidence_hash(project, "a.txt")
    assert len(a) == 64 and a == evidence_hash(project, str(project / "a.txt"))
    assert evidence_hash(project, "b.txt", folder) and not evidence_hash(project, "b.txt")
    whole = evidence_hash(project, "stories")
    (folder / "b.txt").write_text("c")
    assert whole and evidence_hash(project, "stories") != whole
    for path in ("gone", "../outside", "link", ".", "", str(tmp_path / "outside")):
        assert evidence_hash(project, path) == "", path


def save_in_place(at: Path, text: str) -> None:
    """As some editors do."""
    at.write_text(text)


def save_a_new_file(at: Path, text: str) -> None:
    """As the others do."""
    at.with_name("story.md~").write_text(text)
    at.with_name("story.md~").replace(at)


@pytest.mark.parametrize("save", [save_in_place, save_a_new_file, lambda at, _: at.unlink()])
@pytest.mark.parametrize("moment", ["after edits were looked for", "while the text is written"])
def test_an_edit_between_reading_and_writing_is_not_lost(
    folders: StoryFolders, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path, str], None], moment: str
) -> None:
    """Whatever a person does to the file then is read first."""
    at = put(folders, STORY) / "story.md"
    mine, moved = at.read_text().replace("Search", "Find"), replace(STORY, status="generated")
    assert folders.hand_edit(moved) is None
    real = story_folder._write_new

    def written(path: Path, words: str) -> None:
        real(path, words)
        if path.name.startswith(".story.md"):
            save(at, mine)

    if moment == "after edits were looked for":
        save(at, mine)
    else:
        monkeypatch.setattr(story_folder, "_write_new", written)
    with pytest.raises(StaleClaim, match="edited"):
        folders.write(moved, {})
    monkeypatch.undo()

    assert not at.exists() or at.read_text() == mine
    found = folders.hand_edit(moved)
    assert found is None if not at.exists() else found is not None and found.said == {"title": "Find"}
    folders.write(replace(moved, title="Find"), {})
    assert "status: generated" in at.read_text() and "Find" in at.read_text()
    assert not [each for each in at.parent.iterdir() if each.name.startswith(".story")]


def test_what_is_saved_at_the_very_moment_of_the_write_stands(
    folders: StoryFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that has the file open writes into the one that is taken away."""
    at = put(folders, STORY) / "story.md"
    mine, real = at.read_text().replace("Search", "Find"), os.replace

    def replaced(source: Path, target: Path) -> None:
        if target == at and source.suffix == ".new":
            at.write_text(mine)
        real(source, target)

    monkeypatch.setattr("os.replace", replaced)
    with pytest.raises(StaleClaim):
        folders.write(replace(STORY, status="generated"), {})

    assert at.read_text() == mine


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_crash_between_the_files_is_no_edit(
    folders: StoryFolders, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """Also where the store has moved on twice when the folder is written the next time."""
    at = put(folders, STORY) / "story.md"
    real, count = os.replace, 0

    def dying(source: Path, target: Path) -> None:
        nonlocal count
        real(source, target)
        count += 1
        if count == last:
            raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", dying)
    with pytest.raises(KeyboardInterrupt):
        folders.write(replace(STORY, status="generated", title="New"), {})
    monkeypatch.undo()

    now = replace(STORY, status="in-elaboration", title="Newer")
    assert folders.hand_edit(now) is None
    at.write_text(at.read_text().replace("New", "Mine").replace("Search", "Mine"))
    found = folders.hand_edit(now)
    assert found is not None and found.said == {"title": "Mine"}
