"""Download the archive of a project, as ansible-galaxy downloads the archive of a role, and unpack it.

Directories and files are written first, and links last, so that no path leads through a link of the archive. The
provider checks the targets of links afterwards.
"""

import hashlib
import os
import shutil
import stat
import sys
import tarfile
import zipfile

from ansible import constants
from ansible.galaxy.user_agent import user_agent
from ansible.module_utils.urls import open_url


def download(url, path):
    digest = hashlib.sha256()
    options = {
        "validate_certs": not constants.GALAXY_IGNORE_CERTS,
        "http_agent": user_agent(),
        "timeout": 60,
        "decompress": False,
        # The password is for the host in the URL, not for the targets of its redirects.
        "unredirected_headers": ["Authorization"],
    }
    with open_url(url, **options) as answer, open(path, "wb") as out:
        while part := answer.read(1 << 20):
            digest.update(part)
            out.write(part)
        # A read in parts does not report a connection that ends early, and a truncated tar may look complete.
        if getattr(answer, "length", None):
            raise EOFError("the connection ended before the end of the file")
    return digest.hexdigest()


def in_tar(archive):
    for m in archive:
        kind = stat.S_IFDIR if m.isdir() else stat.S_IFLNK if m.issym() else stat.S_IFREG if m.isreg() or m.islnk() else 0
        yield m.name, kind | stat.S_IMODE(m.mode), m.linkname, lambda: archive.extractfile(m)


def in_zip(archive):
    for m in archive.infolist():
        mode = m.external_attr >> 16
        kind = stat.S_IFDIR if m.is_dir() else stat.S_IFMT(mode) or stat.S_IFREG
        target = os.fsdecode(archive.open(m).read(4096)) if stat.S_ISLNK(mode) else ""
        yield m.filename, kind | stat.S_IMODE(mode), target, lambda: archive.open(m)


def take(members, to):
    links = {}
    for name, mode, target, content in members:
        parts = [p for p in name.split("/") if p not in ("", ".")]
        if name.startswith("/") or ".." in parts:
            raise ValueError(f"{name} is outside of the project")
        path = os.path.join(to, *parts)
        if stat.S_ISDIR(mode):
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if stat.S_ISLNK(mode):
            links[path] = target
        elif stat.S_ISREG(mode):
            with content() as text, open(path, "wb") as out:
                shutil.copyfileobj(text, out)
            os.chmod(path, 0o755 if mode & stat.S_IXUSR else 0o644)
        else:
            raise ValueError(f"{name} is neither a file, a directory nor a link")
    for path, target in links.items():
        if os.path.lexists(path):
            raise ValueError(f"{os.path.relpath(path, to)} is in the archive twice")
        os.symlink(target, path)


def main(url, path, to):
    what = "download the file"
    try:
        digest = download(url, path)
        what = "read the archive"
        os.mkdir(to)
        tar = tarfile.is_tarfile(path)
        if not tar and not zipfile.is_zipfile(path):
            raise ValueError("it is neither a zip nor a tar, plain or compressed with gzip, bzip2 or xz")
        with tarfile.open(path) if tar else zipfile.ZipFile(path) as archive:
            take(in_tar(archive) if tar else in_zip(archive), to)
        os.remove(path)
    except Exception as e:
        sys.exit(f"ERROR! Failed to {what} {url}: {e}".replace("\n", " "))
    print(digest)


if __name__ == "__main__":
    main(*sys.argv[1:])
