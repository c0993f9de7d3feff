"""Execute ansible-playbook, the first argument, with short paths of sockets.

Since ansible-core 2.21, a play has a socket in the temporary directory of Python's multiprocessing. The path of a
socket has 107 bytes at most, and paths of runs can be longer, so that it is relative to the project.
"""
import sys

# As if the script was started. Imports follow after this, so that they do not find modules in the project.
del sys.argv[0]
sys.path[0] = sys.argv[0].rpartition("/")[0]

import contextlib  # noqa: E402
import multiprocessing.process  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402


def load_filters():
    """Import Ansible's filters, which takes long."""
    with contextlib.suppress(ImportError):
        import ansible.plugins.filter.core  # noqa: F401


# Ansible forks a process for each task and host. Each of them would import the filters that it uses.
os.register_at_fork(before=load_filters)
multiprocessing.process.current_process()._config["tempdir"] = "../tmp"
runpy.run_path(sys.argv[0], run_name="__main__")
