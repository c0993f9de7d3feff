"""Keep modules that Ansible ships as it sends them, so that no run has to build them.

A process of its own has Ansible build them once, with less priority than runs have, and puts
them into a file. A run has the file in its memory, and finds them where Ansible looks for modules
that it has built before. Modules for this machine are kept a second time, compiled: a
Python of another release reads their source.
"""
import base64
import dataclasses
import importlib.util
import io
import json
import marshal
import mmap
import os
import shutil
import zipfile

ARCHIVE, INDEX = "modules", "modules.json"

# What plays use most. Others are built by each run that uses them, as ever.
USED = """
    apt apt_repository blockinfile command copy cron dnf file find get_url getent git group hostname lineinfile package_facts ping pip
    replace service service_facts setup slurp stat systemd_service tempfile unarchive uri user wait_for
""".split()


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
        def keep(local, name, data):
            index[json.dumps([local, name])] = archive.tell(), len(data)
            archive.write(data)

        for path in _shipped():
            try:
                module_common.modify_module(
                    module_name=os.path.basename(path)[:-3], module_path=path, module_args={}, templar=templar,
                    task_vars={"ansible_python_interpreter": "/usr/bin/python3"}, module_compression=constants.DEFAULT_MODULE_COMPRESSION)
            except Exception:
                continue  # It is built when it is used, and the error is seen there.

        built = os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache")

        for name in sorted(os.listdir(built)):
            if name.endswith(".lock"):
                continue

            with open(os.path.join(built, name), "rb") as file:
                keep(False, name, file.read())

            path = os.path.join(built, "compiled")
            module = module_common._CachedModule.load(os.path.join(built, name))
            dataclasses.replace(module, zip_data=base64.b64encode(_compiled(base64.b64decode(module.zip_data)))).dump(path)

            with open(path, "rb") as file:
                keep(True, name, file.read())

            os.unlink(path)

        shutil.rmtree(built)

    with open(os.path.join(directory, INDEX + ".part"), "w") as file:
        json.dump(index, file)

    os.rename(file.name, os.path.join(directory, INDEX))


def _shipped():
    import ansible.modules

    directory = os.path.dirname(ansible.modules.__file__)

    return [os.path.join(directory, name + ".py") for name in USED]


def _compiled(data):
    """Add compiled files to an archive of Python modules."""
    out = io.BytesIO(data)

    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".py"):
                continue

            source = archive.read(info)
            code = compile(source, info.filename, "exec", dont_inherit=True)
            # PEP 552: by the hash of the source, which is not checked.
            header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
            archive.writestr(zipfile.ZipInfo(info.filename + "c", info.date_time), header + marshal.dumps(code), zipfile.ZIP_DEFLATED)

    return out.getvalue()


class Modules:
    """Modules that were built."""

    def __init__(self, directory):
        with open(os.path.join(directory, INDEX)) as file:
            self._index = json.load(file)

        # An open file would be a way from one run to another: its position, its mode and its attributes.
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

        def put(path, compression, local):
            # What content puts in the place of Ansible's own has to be built in.
            others = [p for p in module_utils_loader._get_paths(subdirs=False) if not p.startswith(own)]
            if path not in shipped or any(map(os.path.isdir, others)):
                return

            name = f"ansible.modules.{os.path.basename(path)[:-3]}-{compression}-none"
            place = self._index.get(json.dumps([local, name]))
            target = os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache", name)

            if place is None or os.path.exists(target):
                return

            os.makedirs(os.path.dirname(target), exist_ok=True)
            part = f"{target}-{os.getpid()}"

            with open(part, "wb") as file:
                file.write(self._archive[place[0]:sum(place)])

            os.rename(part, target)

        def find(**what):
            local, directory = what.get("remote_is_local", False), constants.DEFAULT_LOCAL_TMP
            # Modules for this machine have a place of their own.
            if local:
                constants.DEFAULT_LOCAL_TMP = os.path.join(directory, "localhost")

            try:
                put(what["module_path"], what["module_compression"], local)

                return original(**what)
            finally:
                constants.DEFAULT_LOCAL_TMP = directory

        module_common._find_module_utils = find
