"""Be ansible-playbook, the first argument, with sockets whose paths are short.

From ansible-core 2.21 on a play has a socket in the directory for temporary files of Python's multiprocessing. Its path
may have 107 bytes, and those of runs can be longer, so that it is relative to the project.
"""
import sys

# As if the script was started. Only now can a module be found, none of the project.
del sys.argv[0]
sys.path[0] = sys.argv[0].rpartition("/")[0]

import multiprocessing.process  # noqa: E402
import runpy  # noqa: E402

multiprocessing.process.current_process()._config["tempdir"] = "../tmp"
runpy.run_path(sys.argv[0], run_name="__main__")
