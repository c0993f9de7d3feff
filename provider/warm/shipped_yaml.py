"""YAML that Ansible ships, parsed when the image is built.

ansible-playbook of the image imports this module, so that a run loads these documents from a file beside the module,
and does not parse them again. The file needs the same protection as the programs of the image. Documents that are not
in the file are parsed as usual.

    python -m shipped_yaml

runs a playbook, and writes the parsed documents to the file. A warm process has documents of its own, see afresh.py,
and uses only identify of this module.
"""
import contextlib
import hashlib
import io
import json
import os
import pickle
import tempfile

import yaml
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.release import __version__

FILE = os.path.splitext(__file__)[0] + ".pickle"

# A connection of any type has Ansible read the documentation of all types.
PLAYBOOK = [{"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {}}]}]

parse = yaml.load


def identify(stream, Loader):
    """Return a digest of everything that a document depends on; None for a stream that can be read only once."""
    text = stream

    if isinstance(stream, io.BufferedReader) and stream.seekable():
        start = stream.tell()
        text = stream.read()
        stream.seek(start)

    if not isinstance(text, (str, bytes)):
        return None

    # Ansible tags strings with the file that they come from, and with whether they may be templates.
    about = [
        __version__, getattr(Loader, "__module__", ""), getattr(Loader, "__qualname__", ""), isinstance(text, str),
        getattr(stream, "name", ""), sorted(map(repr, AnsibleTagHelper.tags(text))),
    ]
    digest = hashlib.sha256()

    for part in repr(about), text:
        digest.update(part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))

    return digest.digest()


def serve(documents):
    """Have yaml.load return a new copy of a document that was parsed before."""
    def load(stream, Loader):
        document = documents.get(identify(stream, Loader))

        return parse(stream, Loader) if document is None else pickle.loads(document)

    yaml.load = load


def learn():
    """Run a playbook, and return the documents that were parsed."""
    documents = {}

    def load(stream, Loader):
        key, document = identify(stream, Loader), parse(stream, Loader)

        if key:
            documents[key] = pickle.dumps(document)

        return document

    yaml.load = load

    import ansible_runner

    with tempfile.TemporaryDirectory() as directory:
        os.environ.update({
            "ANSIBLE_CALLBACK_PLUGINS": os.path.join(os.path.dirname(ansible_runner.__file__), "display_callback", "callback"),
            "ANSIBLE_STDOUT_CALLBACK": "awx_display",
            "AWX_ISOLATED_DATA_DIR": directory,
        })

        # JSON is not parsed as YAML, so that the playbook is not in the file.
        with open(os.path.join(directory, "main.yml"), "w") as playbook:
            json.dump(PLAYBOOK, playbook)

        from ansible.cli.playbook import main

        try:
            main(["ansible-playbook", "--inventory=localhost,", "--connection=local", playbook.name])
        except SystemExit as end:
            if end.code:
                raise

    return documents


if __name__ == "__main__":
    # Sorted, so that the file is reproducible.
    found = dict(sorted(learn().items()))

    with open(FILE, "wb") as file:
        pickle.dump(found, file)
else:
    with contextlib.suppress(FileNotFoundError), open(FILE, "rb") as file:
        serve(pickle.load(file))
