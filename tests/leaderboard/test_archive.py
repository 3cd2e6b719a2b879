"""Hostile zips and folders: what is wrong is named, nothing is unpacked, nothing beyond a limit is read."""

from __future__ import annotations

import io
import os
import random
import stat
import struct
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from verieval.errors import VerievalError
from verieval.leaderboard import archive
from verieval.leaderboard.archive import name_fault, read_files, write_files, zip_bytes
from verieval.leaderboard.bundle import Bundle
from verieval.leaderboard.contents import hash_list, read_contents
from verieval.leaderboard.reasons import Reason, Rejected

FILES = {name: f"{name}\n".encode() for name in archive.SIZES}
Entry = tuple[str | zipfile.ZipInfo, bytes]


def refusal(path: Path) -> tuple[Reason, ...]:
    with pytest.raises(Rejected) as caught:
        read_files(path)
    return caught.value.reasons


def write_zip(path: Path, *extra: Entry, without: str = "", method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in [*((n, d) for n, d in FILES.items() if n != without), *extra]:
            file.writestr(name, data)
    return path


# ---- round trip ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bundle.zip", "bundle"])
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    write_files(FILES, tmp_path / "new" / name)
    assert read_files(tmp_path / "new" / name) == FILES
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = zip_bytes(FILES)
    assert zip_bytes(dict(reversed(FILES.items()))) == first
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        assert file.namelist() == sorted(FILES)
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["bundle.zip", "bundle"])
def test_what_is_there_is_never_overwritten(name: str, tmp_path: Path) -> None:
    write_files(FILES, tmp_path / name)
    write_files(FILES, tmp_path / name)  # the same once more is no conflict
    with pytest.raises(VerievalError, match="exists and is another thing"):
        write_files(FILES | {archive.README: b"other"}, tmp_path / name)
    assert read_files(tmp_path / name) == FILES


def test_a_folder_with_something_else_in_it_is_kept(tmp_path: Path) -> None:
    write_files(FILES, tmp_path / "bundle")
    (tmp_path / "bundle" / "mine").write_text("x")
    with pytest.raises(VerievalError, match="exists and is another thing"):
        write_files(FILES, tmp_path / "bundle")
    assert (tmp_path / "bundle" / "mine").read_text() == "x"


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    write_files(FILES, tmp_path / "bundle")
    assert read_files(tmp_path / "bundle") == FILES


@pytest.mark.parametrize("name", ["b.tar.gz", "b.tgz", "b.zst", "b.7z"])
def test_other_formats_are_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match=r"a folder or a \.zip"):
        write_files(FILES, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".zip", ""])
def test_a_full_disk_leaves_nothing(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_files(FILES, tmp_path / f"bundle{suffix}")
    assert caught.value.filename == str(tmp_path / f"bundle{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_deflated_zip_is_read(tmp_path: Path) -> None:
    """Someone may have packed it again."""
    assert read_files(write_zip(tmp_path / "b.zip", method=zipfile.ZIP_DEFLATED)) == FILES


# ---- names --------------------------------------------------------------------------------------------------------

BAD_NAMES = {
    "../submission.yaml": ("unsafe_path", "climbs out"),
    "a/../../submission.yaml": ("unsafe_path", "climbs out"),
    "..\\submission.yaml": ("unsafe_path", "climbs out"),
    "..": ("unsafe_path", "climbs out"),
    "/etc/passwd": ("unsafe_path", "absolute"),
    "\\\\server\\share": ("unsafe_path", "absolute"),
    "C:\\x": ("unsafe_path", "absolute"),
    "C:x": ("unsafe_path", "absolute"),
    "submission.yaml\0.txt": ("unsafe_path", "unprintable"),
    "\x1b[2J": ("unsafe_path", "unprintable"),
    "sub/submission.yaml": ("extra_file", "no part"),
    "./submission.yaml": ("extra_file", "no part"),
    "Submission.yaml": ("extra_file", "no part"),
    "payload.sh": ("extra_file", "no part"),
    ".hidden": ("extra_file", "no part"),
}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_a_bundle_cannot_have(name: str, tmp_path: Path) -> None:
    code, words = BAD_NAMES[name]
    fault = name_fault(name)
    assert fault is not None
    assert fault.code == code
    assert words in fault.detail
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    if "\0" not in name:  # the writing library cuts it there
        reasons = refusal(write_zip(tmp_path / "b.zip", (info, b"x")))
        assert [reason.code for reason in reasons] == [code]
    assert [path.name for path in tmp_path.iterdir()] in ([], ["b.zip"])


def test_a_nul_in_a_zip_name_is_seen(tmp_path: Path) -> None:
    """The library would cut the name there, and read the entry as another."""
    data = write_zip(tmp_path / "b.zip", ("README.mdX.txt", b"x")).read_bytes()
    (tmp_path / "b.zip").write_bytes(data.replace(b"README.mdX.txt", b"README.md\0.txt"))
    assert [reason.code for reason in refusal(tmp_path / "b.zip")] == ["unsafe_path"]


def test_good_names() -> None:
    assert [name_fault(name) for name in archive.SIZES] == [None] * 6


# ---- entries that are no plain files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "words"),
    [(stat.S_IFLNK, "symbolic link"), (stat.S_IFDIR, "folder"), (stat.S_IFIFO, "pipe"), (stat.S_IFCHR, "device")],
)
def test_a_zip_entry_that_is_no_file(mode: int, words: str, tmp_path: Path) -> None:
    info = zipfile.ZipInfo(archive.README)
    info.external_attr = (mode | 0o777) << 16
    reasons = refusal(write_zip(tmp_path / "b.zip", (info, b"/etc/passwd"), without=archive.README))
    assert [(reason.code, reason.where) for reason in reasons] == [("not_a_file", archive.README)]
    assert words in reasons[0].detail


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe", "link to a folder"])
def test_a_folder_entry_that_is_no_file(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    write_files(FILES, folder)
    path = folder / archive.REPORT
    path.unlink()
    (tmp_path / "outside").write_text("secret")
    {
        "link": lambda: path.symlink_to(tmp_path / "outside"),
        "dangling": lambda: path.symlink_to("nowhere"),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link to a folder": lambda: path.symlink_to(tmp_path),
    }[kind]()
    reasons = refusal(folder)
    assert [(reason.code, reason.where) for reason in reasons] == [("not_a_file", archive.REPORT)]


def test_a_file_exchanged_for_a_link_after_it_was_listed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / archive.REPORT).symlink_to(tmp_path / "outside")
    with pytest.raises(Rejected, match="symbolic link"):
        archive._read_file(tmp_path / archive.REPORT, archive.REPORT)


@pytest.mark.parametrize("name", ["extra.txt", ".DS_Store", "sub"])
def test_a_folder_with_more_in_it(name: str, tmp_path: Path) -> None:
    write_files(FILES, tmp_path / "bundle")
    if name == "sub":
        (tmp_path / "bundle" / name).mkdir()
    else:
        (tmp_path / "bundle" / name).write_text("x")
    assert refusal(tmp_path / "bundle")[0].where == name


@pytest.mark.parametrize("missing", archive.SIZES)
def test_a_missing_file(missing: str, tmp_path: Path) -> None:
    reasons = refusal(write_zip(tmp_path / "b.zip", without=missing))
    assert reasons == (Reason("missing_file", missing, "is not in the bundle"),)


# ---- zips that lie ------------------------------------------------------------------------------------------------


def test_a_duplicate_entry(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write_zip(tmp_path / "b.zip", (archive.RESULTS, b"other\n"))
    assert refusal(path) == (Reason("duplicate_entry", archive.RESULTS, "is in the zip twice"),)


def test_many_entries_are_not_listed_one_by_one(tmp_path: Path) -> None:
    extra = [(f"x{number}", b"") for number in range(5000)]
    reasons = refusal(write_zip(tmp_path / "b.zip", *extra))
    assert [reason.code for reason in reasons] == ["extra_file"]
    assert "5006 entries" in reasons[0].detail


@pytest.mark.parametrize("name", [archive.RESULTS, archive.SUBMISSION])
def test_a_zip_bomb_is_refused_before_it_is_unpacked(name: str, tmp_path: Path) -> None:
    size = archive.SIZES[name] + 1
    path = write_zip(tmp_path / "b.zip", (name, b"0" * size), without=name, method=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < size / 100
    tracemalloc.start()
    reasons = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(reason.code, reason.where) for reason in reasons] == [("too_large", name)]
    assert f"unpacks to {size:,} bytes" in reasons[0].detail
    assert peak < 1 << 20


def test_a_zip_bomb_within_the_size_of_its_file(tmp_path: Path) -> None:
    data = b"0" * archive.SIZES[archive.REPORT]
    path = write_zip(tmp_path / "b.zip", (archive.REPORT, data), without=archive.REPORT, method=zipfile.ZIP_DEFLATED)
    assert "a zip bomb" in refusal(path)[0].detail


def test_a_zip_bomb_that_declares_a_small_size(tmp_path: Path) -> None:
    size = 64 << 20
    path = write_zip(
        tmp_path / "b.zip", (archive.REPORT, b"0" * size), without=archive.REPORT, method=zipfile.ZIP_DEFLATED
    )
    path.write_bytes(path.read_bytes().replace(struct.pack("<L", size), struct.pack("<L", 1000)))
    tracemalloc.start()
    reasons = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [reason.code for reason in reasons] == ["damaged"]
    assert peak < 4 << 20


def test_a_folder_file_that_is_too_large(tmp_path: Path) -> None:
    write_files(FILES, tmp_path / "bundle")
    os.truncate(tmp_path / "bundle" / archive.SUBMISSION, archive.SIZES[archive.SUBMISSION] + 1)
    assert [(r.code, r.where) for r in refusal(tmp_path / "bundle")] == [("too_large", archive.SUBMISSION)]


def test_a_zip_larger_than_all_its_files_may_be(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.touch()
    os.truncate(path, 1 << 40)  # sparse
    assert [reason.code for reason in refusal(path)] == ["too_large"]


def test_entries_that_share_bytes(tmp_path: Path) -> None:
    """Two directory entries for one place: the trick of bombs that overlap."""
    data = bytearray(write_zip(tmp_path / "b.zip").read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as file:
        first, second = file.infolist()[:2]
    place = data.index(struct.pack("<L", second.header_offset), data.index(b"PK\1\2"))
    data[place : place + 4] = struct.pack("<L", first.header_offset)
    (tmp_path / "b.zip").write_bytes(bytes(data))
    assert "share bytes" in refusal(tmp_path / "b.zip")[0].detail


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"#!/bin/sh\n" + data,
        lambda data: data + b"\n",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"not a zip at all, but long enough to hold a directory\n",
        lambda data: data + data,
    ],
)
def test_a_zip_with_something_around_it(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(change(zip_bytes(FILES)))
    assert [reason.code for reason in refusal(tmp_path / "b.zip")] == ["damaged"]


@pytest.mark.parametrize(("flag", "words"), [(0x1, "encrypted"), (0, "another way than deflate")])
def test_a_zip_in_another_way(flag: int, words: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "b.zip", without=archive.README)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED if flag else zipfile.ZIP_BZIP2) as file:
        file.writestr(archive.README, b"x")
    data = bytearray(path.read_bytes())
    if flag:
        entry = data.rindex(b"PK\1\2")
        data[entry + 8] |= flag
    path.write_bytes(bytes(data))
    assert words in refusal(path)[0].detail


def test_no_such_path(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match="does not exist"):
        read_files(tmp_path / "nothing.zip")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VerievalError, match="neither a folder nor a file"):
        read_files(tmp_path / "pipe")


# ---- any change ---------------------------------------------------------------------------------------------------


def test_any_changed_byte_is_found_or_changes_nothing(bundle: Bundle, tmp_path: Path) -> None:
    """Wherever a byte of the zip changes: either the bundle is refused, or its files are the same (a time stamp)."""
    data = zip_bytes(bundle.files)
    draw = random.Random(0)
    refused = 0
    for place in [*draw.sample(range(len(data)), 250), *range(len(data) - 22, len(data))]:
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        (tmp_path / "b.zip").write_bytes(bytes(changed))
        try:
            files = read_files(tmp_path / "b.zip")
            read_contents(files)
        except Rejected:
            refused += 1
        else:
            assert files == bundle.files, place
    assert refused > 200


def test_any_cut_is_found(bundle: Bundle, tmp_path: Path) -> None:
    data = zip_bytes(bundle.files)
    for length in random.Random(1).sample(range(len(data)), 100):
        (tmp_path / "b.zip").write_bytes(data[:length])
        assert refusal(tmp_path / "b.zip")


def test_the_hashes_are_those_of_sha256sum(bundle: Bundle, tmp_path: Path) -> None:
    write_files(bundle.files, tmp_path / "bundle")
    listed = subprocess.run(
        ["sha256sum", *sorted(set(bundle.files) - {archive.HASHES})],
        cwd=tmp_path / "bundle",
        capture_output=True,
        check=True,
    ).stdout
    assert listed == bundle.files[archive.HASHES] == hash_list(bundle.files)
