"""Archives that unpack to more than is published, and links in them."""

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from qaexp.data.fetch.local_archives import Copies
from qaexp.data.fetch.remotes import Content
from qaexp.errors import MissingDataError

SECRET = "the file that a link leads to\n"


def zipped(path: Path, name: str, content: bytes, link: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777 if link else stat.S_IFREG | 0o644) << 16
        archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return path


def tarred(path: Path, name: str, kind: bytes, target: str) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        archive.addfile(info, io.BytesIO())
    return path


@pytest.mark.parametrize("packed", ["zip", "gz"])
def test_unpacking_stops_at_the_size_that_is_known(packed: str, tmp_path: Path) -> None:
    bomb, part = bytes(10**7), tmp_path / "part"
    if packed == "zip":
        source = zipped(tmp_path / "data.zip", "train.txt", bomb)
    else:
        source = tmp_path / "train.txt.gz"
        source.write_bytes(gzip.compress(bomb))
    with pytest.raises(MissingDataError, match="has more than 3 bytes"):
        Copies(source).copy(Content("train.txt", blob_id="00", size=3), part)
    assert not part.exists()


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    secret = str(tmp_path / "secret")
    archives = [
        zipped(tmp_path / "a.zip", "train.txt", secret.encode(), link=True),
        tarred(tmp_path / "b.tar.gz", "train.txt", tarfile.SYMTYPE, secret),
        tarred(tmp_path / "c.tar.gz", "train.txt", tarfile.LNKTYPE, secret),
    ]
    for archive in archives:
        with pytest.raises(MissingDataError, match="not in"):
            Copies(archive).copy(Content("train.txt"), tmp_path / "part")


def test_a_member_is_found_by_its_last_name_and_written_where_it_belongs(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "data.zip", "../../../train.txt", b"a\n")
    (tmp_path / "in").mkdir()
    Copies(archive).copy(Content("train.txt"), tmp_path / "in" / "part")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.zip", "in", "part"]
