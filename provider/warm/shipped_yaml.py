"""YAML that Ansible ships, parsed when the image was built.

ansible-playbook of the image imports this module, so that a run finds these documents in a file
beside the module, and does not parse them again. The right to write the file is the right to write
the programs of the image, too. What is not in the file is parsed as ever.

    python -m shipped_yaml

plays a playbook, and writes the documents that were parsed meanwhile to the file. A process that plays are forked from
has documents of its own, see afresh.py, and only identifies them as this module does.
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

# A connection of any kind has Ansible read the documentation of all kinds.
PLAYBOOK = [{"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {}}]}]

parse = yaml.load


def identify(stream, Loader):
    """Return a digest of all that a document depends on; None for a stream that may be read only once."""
    text = stream

    if isinstance(stream, io.BufferedReader) and stream.seekable():
        start = stream.tell()
        text = stream.read()
        stream.seek(start)

    if not isinstance(text, (str, bytes)):
        return None

    # Ansible's strings know the file that they come from, and whether they may be templates.
    about = [
        __version__, getattr(Loader, "__module__", ""), getattr(Loader, "__qualname__", ""), isinstance(text, str),
        getattr(stream, "name", ""), sorted(map(repr, AnsibleTagHelper.tags(text))),
    ]
    digest = hashlib.sha256()

    for part in repr(about), text:
        digest.update(part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))

    return digest.digest()


def serve(documents):
    """Have yaml.load return documents that were parsed before, a new copy each time."""
    def load(stream, Loader):
        document = documents.get(identify(stream, Loader))

        return parse(stream, Loader) if document is None else pickle.loads(document)

    yaml.load = load


def learn():
    """Play a playbook, and return the documents that were parsed meanwhile."""
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

        # In JSON it is not parsed as YAML, and is not in the file.
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
    # In an order that is the same each time.
    found = dict(sorted(learn().items()))

    with open(FILE, "wb") as file:
        pickle.dump(found, file)
else:
    with contextlib.suppress(FileNotFoundError), open(FILE, "rb") as file:
        serve(pickle.load(file))
