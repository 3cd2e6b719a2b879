"""Bundles on disk: a flat folder or zip of six named files, written the same way every time and read with suspicion.

Reading never writes to the disk: every file is taken into memory once, under a limit of its own, and what is hashed is
what is parsed. A name that is not one of the six, wherever it may point, is never opened.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from verieval.errors import VerievalError
from verieval.leaderboard.reasons import Reason, Rejected, refuse, short

SUBMISSION = "submission.yaml"
SAMPLES = "samples.jsonl.zst"
RESULTS = "results.jsonl"
REPORT = "report.json"
README = "README.md"
HASHES = "manifest.sha256"

MIB = 1 << 20

# The files of a bundle, and the bytes that each may have as it lies there.
SIZES: Mapping[str, int] = {
    README: MIB,
    HASHES: 64 << 10,
    REPORT: 16 * MIB,
    RESULTS: 128 * MIB,
    SAMPLES: 256 * MIB,
    SUBMISSION: MIB,
}

# An honest JSON file deflates by 10 to 50; deflate's own limit is 1,032. Small files may be as regular as they like.
RATIO = 200
RATIO_FROM = 4 * MIB

_ENTRIES = 64  # listed before the rest is not looked at
_CHUNK = 1 << 18
_EPOCH = (1980, 1, 1, 0, 0, 0)
_END = struct.Struct("<4s4H2LH")
_LOCAL = struct.Struct("<4s5H3L2H")
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, ValueError, EOFError)
_NO_BUNDLES = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".json", ".jsonl", ".yaml")


# ---- reading ------------------------------------------------------------------------------------------------------


def read_files(path: Path) -> dict[str, bytes]:
    """The six files of a bundle.

    Raises:
        VerievalError: there is nothing at ``path``.
        Rejected: the bundle lacks a file, holds anything else, or is not safe to read.
        OSError: it cannot be read.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise VerievalError(f"{path} does not exist; give the folder or .zip that `verieval submit` made") from None
    if stat.S_ISDIR(mode):
        files = _read_folder(path)
    elif stat.S_ISREG(mode):
        files = _read_zip(path)
    else:
        raise VerievalError(f"{path} is neither a folder nor a file; give what `verieval submit` made")
    missing = [name for name in SIZES if name not in files]
    if missing:
        raise Rejected(Reason("missing_file", name, "is not in the bundle") for name in missing)
    return files


def name_fault(name: str) -> Reason | None:
    """Why a bundle cannot have an entry of this name; None for the six that it has."""
    shown = short(name, 80)
    if name in SIZES:
        return None
    if name.startswith(("/", "\\")) or re.match("[A-Za-z]:", name):
        return Reason("unsafe_path", shown, "is an absolute path")
    if ".." in re.split(r"[/\\]", name):
        return Reason("unsafe_path", shown, "climbs out of the bundle")
    if not name.isprintable() or not name:
        return Reason("unsafe_path", shown, "is a name with unprintable characters, or none")
    return Reason("extra_file", shown, "is no part of a bundle")


def _read_folder(path: Path) -> dict[str, bytes]:
    reasons, names = [], []
    with os.scandir(path) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            fault = _kind_fault(entry.name, mode) or name_fault(entry.name)
            if fault:
                reasons.append(fault)
            else:
                names.append(entry.name)
            if len(reasons) >= _ENTRIES:
                break
    if reasons:
        raise Rejected(sorted(reasons, key=lambda reason: reason.where))
    return {name: _read_file(path / name, name) for name in sorted(names)}


def _kind_fault(name: str, mode: int) -> Reason | None:
    """Why an entry of this file mode is refused; a zip may leave the type out."""
    if stat.S_ISREG(mode) or stat.S_IFMT(mode) == 0:
        return None
    kind = next((word for test, word in _KINDS if test(mode)), "no plain file")
    return Reason("not_a_file", short(name, 80), f"is {kind}; a bundle holds plain files only")


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _read_file(path: Path, name: str) -> bytes:
    """A plain file, also where it was exchanged for something else since it was listed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise refuse("not_a_file", name, "is a symbolic link; a bundle holds plain files only") from error
        raise
    with os.fdopen(fd, "rb") as file:
        fault = _kind_fault(name, os.fstat(fd).st_mode)
        if fault:
            raise Rejected([fault])
        return _limited(file, name)


def _limited(file: BinaryIO, name: str) -> bytes:
    """Everything that ``file`` gives, as long as that stays within the file's size."""
    limit = SIZES[name]
    taken = io.BytesIO()
    while chunk := file.read(_CHUNK):
        taken.write(chunk)
        if taken.tell() > limit:
            raise refuse("too_large", name, f"has more than {limit:,} bytes, the most that a bundle may have there")
    return taken.getvalue()


def _read_zip(path: Path) -> dict[str, bytes]:
    most = sum(SIZES.values()) + MIB
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise refuse("too_large", path.name, f"has {size:,} bytes, and a bundle at most {most:,}")
        _check_end(file, size, path.name)
        try:
            with zipfile.ZipFile(file) as archive:
                _check_entries(archive.infolist(), archive.start_dir)
                return {info.filename: _read_entry(archive, info) for info in archive.infolist()}
        except _ZIP_FAULTS as error:
            raise refuse("damaged", path.name, f"is a damaged zip ({short(str(error))})") from error


def _check_end(file: BinaryIO, size: int, name: str) -> None:
    """One directory, at the very end, of few entries: so that every reader of the zip sees the same files."""
    file.seek(max(0, size - _END.size))
    tail = file.read(_END.size)
    if len(tail) < _END.size or not tail.startswith(b"PK\5\6"):
        raise refuse("damaged", name, "is no zip, or one with something behind its directory")
    _, disk, start_disk, here, count, length, offset, comment = _END.unpack(tail)
    if count > _ENTRIES:
        raise refuse("extra_file", name, f"has {count} entries, and a bundle {len(SIZES)}")
    if disk or start_disk or comment or here != count or offset + length + _END.size != size:
        raise refuse("damaged", name, "is a zip in several parts, or one with something before or behind it")
    file.seek(0)


def _check_entries(entries: list[zipfile.ZipInfo], directory: int) -> None:
    """Refuse what is not six plain files, each once, none unpacking to more than it may, none sharing its bytes."""
    # `orig_filename`: what the zip says, before the library makes it fit.
    names = Counter(info.orig_filename for info in entries)
    reasons = [
        Reason("duplicate_entry", short(name, 80), "is in the zip twice") for name, count in names.items() if count > 1
    ]
    for info in entries:
        reasons += _entry_faults(info)
    places = sorted((info.header_offset, info.compress_size) for info in entries)
    for (start, length), (following, _) in pairwise([*places, (directory, 0)]):
        if start + _LOCAL.size + length > following:
            reasons.append(Reason("damaged", "the zip", "has entries that share bytes"))
            break
    if reasons:
        raise Rejected(dict.fromkeys(reasons))


def _entry_faults(info: zipfile.ZipInfo) -> Iterator[Reason]:
    name = info.orig_filename
    fault = _kind_fault(name, info.external_attr >> 16) or name_fault(name)
    if fault:
        yield fault
        return
    if info.flag_bits & 0x1:
        yield Reason("damaged", name, "is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield Reason("damaged", name, "is compressed in another way than deflate")
    if info.file_size > SIZES[name]:
        yield Reason("too_large", name, f"unpacks to {info.file_size:,} bytes, and may have {SIZES[name]:,}")
    elif info.file_size > RATIO_FROM and info.file_size > RATIO * info.compress_size:
        yield Reason("too_large", name, f"unpacks to {info.file_size:,} bytes from {info.compress_size:,}: a zip bomb")


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    name = info.orig_filename
    with archive.open(info) as file:
        data = _limited(file, name)  # type: ignore[arg-type]  # IO[bytes] reads as BinaryIO does
    if len(data) != info.file_size:
        raise refuse("damaged", name, "is shorter or longer than the zip says")
    return data


# ---- writing ------------------------------------------------------------------------------------------------------


def check_target(path: Path) -> None:
    """Whether a bundle can be written as ``path``, as far as its name tells.

    Raises:
        VerievalError: the name promises a format that a bundle does not have.
    """
    if path.suffix.lower() in _NO_BUNDLES:
        raise VerievalError(f"a bundle is a folder or a .zip, not a {path.suffix} file; give -o another name")


def write_files(files: Mapping[str, bytes], path: Path) -> None:
    """Write a bundle in one step, as a zip where ``path`` ends in ``.zip``; the same files give the same bytes.

    Where ``path`` holds this very bundle already, nothing is done.

    Raises:
        VerievalError: ``path`` holds something else.
        OSError: it cannot be written; nothing is left behind.
    """
    check_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".zip":
        _write_zip(zip_bytes(files), path)
    else:
        _write_folder(files, path)


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """The zip of a bundle. Entries are stored, so that no version of a compressor can change a byte."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, files[name])
    return target.getvalue()


def _write_zip(data: bytes, path: Path) -> None:
    if path.exists():
        if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
            return
        raise _in_the_way(path)
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o644 & ~_umask())
            _write_synced(file, data)
        Path(temporary).replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_folder(files: Mapping[str, bytes], path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise _in_the_way(path)
    if path.is_dir() and any(path.iterdir()):
        if _same(files, path):
            return
        raise _in_the_way(path)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        for name in sorted(files):
            with (temporary / name).open("wb") as file:
                _write_synced(file, files[name])
        temporary.chmod(0o755 & ~_umask())
        temporary.rename(path)  # onto nothing, or an empty folder
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _same(files: Mapping[str, bytes], path: Path) -> bool:
    try:
        return _read_folder(path) == dict(files)
    except Rejected:
        return False


def _write_synced(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _in_the_way(path: Path) -> VerievalError:
    return VerievalError(f"{path} exists and is another thing than this bundle; remove it or give -o another name")
