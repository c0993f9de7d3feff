"""Keep a process that has imported Ansible, and start runs by forking it.

Most of the time of a short run is spent on the start of Ansible: on imports, and on YAML that Ansible ships. This
process does both once. It sees nothing of a run: its child reads the request from a socket that only the provider has,
too.

    warm.py DIRECTORY ANSIBLE-PLAYBOOK

The directory has driver.py, and belongs to this process alone. Descriptor 3 is a socket to the provider, which sends
the socket of each run on it, and receives the id of the process that becomes the run's supervisor.
"""
import array
import atexit
import contextlib
import ctypes
import fcntl
import gc
import io
import json
import multiprocessing
import os
import pickle
import platform
import resource
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import types

import afresh
import modules
import shipped_yaml

CONTROL = 3
# The first descriptor after the standard streams, which serves for a short time.
FIRST = 3
# The descriptors of a request: standard output and error of the run, the lifeline and the lock of the supervisor, and
# the ruleset of Landlock, if any.
DESCRIPTORS = 5

# PyDLL keeps Python's lock during a call: the child of a clone has only one thread.
LIBC = ctypes.PyDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
# linux/prctl.h, linux/sched.h, linux/capability.h, asm/unistd.h
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CLONE_PARENT = 0x8000
CAPABILITY_VERSION_3 = 0x20080522
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
SYS_LANDLOCK_RESTRICT_SELF = 446

# The exit status of a supervisor that failed itself: see package supervisor.
FAILURE = 125

PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
  - ansible.builtin.set_fact: {a: "{{ lookup('ansible.builtin.env', 'HOME') | default('') | string }}"}
  - ansible.builtin.debug: {msg: "{{ a }}"}
    loop: [1]
    when: a is defined
  - ansible.builtin.set_stats: {data: {a: 1}}
  - ansible.builtin.copy: {content: a, dest: "{{ directory }}/copied", mode: "0600"}
  - ansible.builtin.command: "true"
"""


def call(function, *args):
    """Call a function of the C library. An error of it raises OSError."""
    result = function(*args)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

    return result


def prctl(option, *args):
    call(LIBC.prctl, ctypes.c_int(option), *map(ctypes.c_ulong, (args + (0, 0, 0, 0))[:4]))


class Warm:
    """The imported Ansible."""

    def __init__(self, directory, script):
        self._directory, self._script = directory, script
        self._memo, self._reads = afresh.Memo(), afresh.Reads()
        self._modules = None

        import ansible.constants as constants

        with self._reads.record(constants):
            import ansible.cli.playbook
            import ansible.executor.module_common
            import ansible.executor.playbook_executor
            import ansible.executor.process.worker
            import ansible.executor.task_queue_manager
            import driver
            from ansible.utils import path

            # Ansible has made its directory for temporary files for this process. Children must not remove it.
            atexit.unregister(path.cleanup_tmp_file)
            self._memo.attach()
            self.driver = driver
            driver.start = self.start
            driver.versions()

        self._settings = afresh.Settings(constants, self._reads)
        learned = self._learn()

        with self._reads.record(constants):
            for method, *args in learned:
                getattr(self._memo, method)(*args)

        # Loading has read settings, too.
        self._settings = afresh.Settings(constants, self._reads)

    def build(self):
        """Have another process build modules, unless that was done."""
        if os.path.exists(os.path.join(self._directory, modules.INDEX)) or os.fork() != 0:
            return

        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.nice(5)
        os.close(CONTROL)
        finish(lambda: modules.build(self._directory))

    def look(self):
        """Use modules if they have been built meanwhile."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

        # An empty archive cannot be mapped.
        with contextlib.suppress(OSError, ValueError):
            self._modules = self._modules or modules.Modules(self._directory)

    @property
    def learns(self):
        """True in a process that runs the playbook to learn from."""
        return self._memo.learn is not None

    def _learn(self):
        """Have another process run a playbook, and return the methods of Memo and arguments that it would have used."""
        path = os.path.join(tempfile.mkdtemp(dir=self._directory), "learned")
        pid = os.fork()

        if pid == 0:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

            def write(*what):
                with open(path, "ab", 0) as file:
                    file.write(pickle.dumps(what))

            self._memo.learn = write
            finish(self._practise)

        if os.waitpid(pid, 0)[1] != 0:
            raise RuntimeError("the playbook to learn from has failed")

        learned = []

        # A play that started cold has written no file.
        with contextlib.suppress(EOFError), open(path, "rb") as file:
            while True:
                learned.append(pickle.load(file))

        return learned

    def _practise(self):
        run = tempfile.mkdtemp(dir=self._directory)

        for name in "project", "inventory", "tmp":
            os.mkdir(os.path.join(run, name))

        for name, text in {
            "project/main.yml": PLAYBOOK,
            "inventory/hosts": f"localhost ansible_connection=local ansible_python_interpreter={sys.executable} directory={run}\n",
        }.items():
            with open(os.path.join(run, name), "w") as file:
                file.write(text)

        descriptor = os.open(os.path.join(run, "events"), os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(descriptor, 1)

        return self.driver.main(run, "", "0", "0", sys.executable, "-u", self._script, "--inventory=../inventory/hosts", "main.yml")

    def start(self, argv, cwd, env, output):
        """Start a play, for the driver."""
        return Play(self, argv, cwd, env, output)

    def become(self, argv):
        """Make this process like a new one that was started with an argv of ansible-playbook.

        Raises afresh.Cold if that is impossible.
        """
        if argv[0] != sys.executable or self._script not in argv:
            raise afresh.Cold("another Python")

        sys.argv, sys.path[0] = argv[argv.index(self._script):], os.path.dirname(self._script)
        sys.stdout, sys.stderr = stream(1, "strict"), stream(2, "backslashreplace")
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        tempfile.tempdir = None
        # play.py of package runner does the same.
        multiprocessing.current_process()._config["tempdir"] = "../tmp"
        time.tzset()
        # Content that imports these names means modules of its own.
        for name in afresh.__name__, modules.__name__, shipped_yaml.__name__, self.driver.__name__:
            sys.modules.pop(name, None)

        sys.modules["__main__"] = types.ModuleType("__main__")
        sys.modules["__main__"].__file__ = self._script

        from ansible.utils import vars
        from ansible.utils.display import Display

        self._settings.read()
        Display().__init__()
        # Values that are random, but fixed in a process.
        vars.random_int = secrets.token_hex(4)
        multiprocessing.current_process().authkey = os.urandom(32)

        if self._modules:
            self._modules.attach()


class Play:
    """A play in a forked process, with the methods of subprocess.Popen that the driver needs."""

    def __init__(self, warm, argv, cwd, env, output):
        self.returncode = None
        why, tell = os.pipe()
        self.pid = os.fork()

        if self.pid == 0:
            leave(lambda: self._play(warm, argv, cwd, env, output, tell))

        os.close(tell)

        with open(why) as file:
            self.cold = file.read()

    def poll(self):
        if self.returncode is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

        return self.returncode

    @staticmethod
    def _play(warm, argv, cwd, env, output, tell):
        os.setsid()

        # The process to learn from has no supervisor that would end this one.
        if warm.learns:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        descriptors(os.open(os.devnull, os.O_RDONLY), output, output, tell)
        tell = FIRST
        os.set_inheritable(tell, False)
        os.chdir(cwd)

        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD:
            signal.signal(number, signal.SIG_DFL)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(env)

        try:
            warm.become(argv)
        except Exception as error:
            # A new Python is not affected by the error, whatever it is.
            os.write(tell, (str(error) or type(error).__name__).encode()[:1000])
            signals()
            os.execvpe(argv[0], argv, env)

        os.close(tell)

        from ansible.cli.playbook import main

        finish(lambda: main(sys.argv))


def signals():
    """Restore the default action of signals that Python ignores."""
    for number in signal.SIGPIPE, signal.SIGXFSZ:
        signal.signal(number, signal.SIG_DFL)


def stream(number, errors):
    """Return standard output or error, unbuffered, as Python opens it."""
    return io.TextIOWrapper(open(number, "wb", 0, closefd=False), sys.__stdout__.encoding, errors, "\n", write_through=True)


def descriptors(*numbers):
    """Make some descriptors the first ones of this process, and close all others."""
    # Move them out of the way first, so that none is overwritten.
    numbers = [fcntl.fcntl(n, fcntl.F_DUPFD, len(numbers)) for n in numbers]

    for place, number in enumerate(numbers):
        os.dup2(number, place)

    os.closerange(len(numbers), 1 << 20)


def leave(main):
    """Call a function that should not return, and end this process if it does."""
    try:
        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(FAILURE)


def finish(main):
    """End this process as Python does, with the result of a function as its exit status."""
    try:
        code = main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1

    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1

    threading._shutdown()
    atexit._run_exitfuncs()

    for file in sys.stdout, sys.stderr:
        with contextlib.suppress(OSError, ValueError):
            file.flush()

    os._exit(code or 0)


def enter(confinement, ruleset):
    """Enter the domain of a run for good: see package sandbox."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(confinement["oomScoreAdj"]))

    for number, most in confinement["limits"] or ():
        _, hard = resource.getrlimit(number)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (most, most))

    if not confinement["confined"]:
        return

    prctl(PR_SET_NO_NEW_PRIVS, 1)

    if ruleset is not None:
        call(LIBC.syscall, *map(ctypes.c_long, (SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)))

    # A process that may not change the bounding set needs no change: it gains no capability without new privileges.
    with contextlib.suppress(OSError):
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)

    call(LIBC.capset, (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())


def receive(connection):
    """Read a request to its end: its text in JSON, and its descriptors."""
    text, numbers = b"", array.array("i")

    while True:
        data, ancillary, *_ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(DESCRIPTORS * numbers.itemsize))

        for _, _, raw in ancillary:
            numbers.frombytes(raw)

        if not data:
            request = json.loads(text)
            request["environment"] = dict(variable.split("=", 1) for variable in request["environment"])

            return request, numbers

        text += data


def supervise(warm, connection):
    """Fork the process of a run, and become its supervisor."""
    os.setsid()
    request, (out, err, lifeline, lock, *ruleset) = receive(connection)
    # The setting survives execve.
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent, pid = os.getpid(), os.fork()

    if pid == 0:
        leave(lambda: carry_out(warm, request, parent, out, err, *ruleset))

    try:
        descriptors(os.open(os.devnull, os.O_RDONLY), out, err, lifeline, lock)
        signals()
        os.execve(request["supervisor"][0], [*request["supervisor"], f"--child={pid}"], request["environment"])
    finally:
        os.kill(pid, signal.SIGKILL)


def carry_out(warm, request, parent, out, err, *ruleset):
    """Carry a run out, confined."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    if os.getppid() != parent:
        return

    descriptors(os.open(os.devnull, os.O_RDONLY), out, err, *ruleset)
    # Like a new process. Runs in other domains cannot trace it.
    prctl(PR_SET_DUMPABLE, 1)
    enter(request["confinement"], FIRST if ruleset else None)
    os.closerange(FIRST, FIRST + 1)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    finish(lambda: warm.driver.main(*request["arguments"]))


def serve(warm, control):
    """Start runs until the provider closes the socket."""
    while True:
        data, ancillary, *_ = control.recvmsg(1, socket.CMSG_SPACE(4))
        if not data:
            return

        (_, _, raw), = ancillary
        warm.look()

        with socket.socket(fileno=int.from_bytes(raw, sys.byteorder)) as connection:
            pid = call(LIBC.syscall, *map(ctypes.c_long, (SYS_CLONE[platform.machine()], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)))

            if pid == 0:
                leave(lambda: supervise(warm, connection))

        control.send(str(pid).encode())


def main(directory, script):
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # No other process can read its memory. It ends with the provider, also during its start.
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.set_inheritable(CONTROL, False)

    warm = Warm(directory, script)
    control = socket.socket(fileno=CONTROL)

    gc.collect()
    gc.freeze()
    warm.build()
    control.send(b"ready")
    serve(warm, control)


if __name__ == "__main__":
    main(*sys.argv[1:])
