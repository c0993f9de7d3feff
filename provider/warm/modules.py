"""Keep modules that Ansible ships in the form in which it sends them, so that no run has to build them.

A separate process with a lower priority has Ansible build them once, and writes them into a file. A run maps the file
into memory, and puts a module where Ansible looks for modules that it has built before. The archive of each module is
kept a second time, compiled for this machine: that saves half of a module's time. Another Python at the same path would
run the source.
"""
import base64
import dataclasses
import functools
import importlib.util
import io
import json
import marshal
import mmap
import os
import pickle
import shutil
import sys
import zipfile

ARCHIVE, INDEX = "modules", "modules.json"

# The modules that plays use most. Other modules are built by each run.
USED = """
    apt apt_repository blockinfile command copy cron dnf file find get_url getent git group hostname lineinfile package_facts ping pip
    replace service service_facts setup slurp stat systemd_service tempfile unarchive uri user wait_for
""".split()

# The file that a module imports first from its archive. AS_SOURCE gives compiled code the file names and lines of the
# source, so that paths and errors of a module do not change.
FIRST = "ansible/__init__.py"
AS_SOURCE = """
import _imp, zipimport
def as_source(self, name, original=zipimport._get_module_code, fix=_imp._fix_co_filename):
    code, package, path = original(self, name)
    path = path.removesuffix("c")
    fix(code, path)
    return code, package, path

zipimport._get_module_code = as_source
del _imp, zipimport, as_source
"""


def build(directory):
    """Build modules, and write them and their index to files of a directory."""
    from ansible import constants
    from ansible.executor import module_common
    from ansible.parsing.dataloader import DataLoader
    from ansible.plugins.loader import init_plugin_loader
    from ansible.template import Templar

    init_plugin_loader()
    index, templar = {}, Templar(loader=DataLoader())

    with open(os.path.join(directory, ARCHIVE), "wb") as archive:
        def keep(data):
            archive.write(data)

            return archive.tell() - len(data), archive.tell()

        for path in _shipped():
            try:
                module_common.modify_module(
                    module_name=os.path.basename(path)[:-3], module_path=path, module_args={}, templar=templar,
                    task_vars={"ansible_python_interpreter": "/usr/bin/python3"}, module_compression=constants.DEFAULT_MODULE_COMPRESSION)
            except Exception:
                continue  # A run that uses it shows the error.

        built = os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache")

        for name in sorted(os.listdir(built)):
            if name.endswith(".lock"):
                continue

            with open(os.path.join(built, name), "rb") as file:
                module = file.read()

            index[name] = keep(module), keep(base64.b64encode(_compiled(base64.b64decode(pickle.loads(module).zip_data))))

        shutil.rmtree(built)

    with open(os.path.join(directory, INDEX + ".part"), "w") as file:
        json.dump(index, file)

    os.rename(file.name, os.path.join(directory, INDEX))


def _shipped():
    import ansible.modules

    directory = os.path.dirname(ansible.modules.__file__)

    return [os.path.join(directory, name + ".py") for name in USED]


def _compiled(data):
    """Return an archive of Python modules with compiled files added."""
    out = io.BytesIO(data)

    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".py"):
                continue

            code = _code(info.filename, archive.read(info))
            archive.writestr(zipfile.ZipInfo(info.filename + "c", info.date_time), code, zipfile.ZIP_DEFLATED)

    return out.getvalue()


@functools.cache
def _code(name, source):
    """Return a compiled file. It is cached, since the archives of modules have most files in common."""
    code = compile(AS_SOURCE.encode() + source if name == FIRST else source, name, "exec", dont_inherit=True)

    # PEP 552: the hash of the source, which Python does not check.
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source) + marshal.dumps(code)


class Modules:
    """Modules that were built."""

    def __init__(self, directory):
        with open(os.path.join(directory, INDEX)) as file:
            self._index = json.load(file)

        # Runs would share an open file: its position, its mode and its attributes.
        with open(os.path.join(directory, ARCHIVE), "rb") as file:
            self._archive = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)

    def attach(self):
        """Have the Ansible of this process find the modules."""
        from ansible import constants
        from ansible.executor import module_common
        from ansible.plugins.loader import module_utils_loader

        shipped = set(_shipped())
        own = os.path.dirname(os.path.dirname(module_common.__file__))
        original = module_common._find_module_utils

        def put(path, compression):
            """Put a module where Ansible looks for it, and return its two archives, or None for an unknown module."""
            # A module with replacements of Ansible's own module_utils has to be built.
            others = [p for p in module_utils_loader._get_paths(subdirs=False) if not p.startswith(own)]
            if path not in shipped or any(map(os.path.isdir, others)):
                return None

            name = f"ansible.modules.{os.path.basename(path)[:-3]}-{compression}-none"
            if name not in self._index:
                return None

            module, compiled = (self._archive[start:end] for start, end in self._index[name])
            target = os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache", name)

            if not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                part = f"{target}-{os.getpid()}"

                with open(part, "wb") as file:
                    file.write(module)

                os.rename(part, target)

            return pickle.loads(module).zip_data, compiled

        def find(**what):
            archives = put(what["module_path"], what["module_compression"])
            built = original(**what)

            # If Ansible has built the module anew, it does not contain the archive, and is not changed.
            if archives and built.shebang == "#!" + sys.executable:
                built = dataclasses.replace(built, b_module_data=built.b_module_data.replace(*archives))

            return built

        module_common._find_module_utils = find
