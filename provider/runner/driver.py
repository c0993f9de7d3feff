"""Execute a run with ansible-runner, and write its events to standard output.

No other process has that descriptor: the output of the play arrives here by a pipe,
and counts as an event only if ansible-runner's callback plugin has made one.
"""
import codecs
import functools
import importlib.metadata
import json
import math
import os
import platform
import re
import select
import subprocess
import sys

import ansible_runner
import ansible_runner.runner
import pexpect


# The name of the one directory of artifacts in a private data directory.
IDENT = "run"
# The largest size of the values that set_stats published, in bytes of JSON.
MAX_PUBLISHED = 4 << 20
# The largest number of hosts with failures that are reported one by one.
MAX_HOSTS = 10_000
# The length of the longest string in an event, in characters: nothing else limits the output of commands. The provider
# takes a string of this length for one that was cut.
MAX_STRING = 256 << 10


def compact(stats):
    """Return short statistics, also for a hundred thousand hosts: counts of hosts other than failed ones are sums."""
    for name, counts in stats.items():
        if name == "artifact_data":
            published = len(json.dumps(counts))
            if published > MAX_PUBLISHED:
                stats = {**stats, name: None, "artifact_size": published}
        elif isinstance(counts, dict):
            hosts = list(counts)[:MAX_HOSTS] if name in ("dark", "failures") else []
            kept = {host: counts[host] for host in hosts}
            stats = {**stats, name: {**kept, "": sum(counts.values()) - sum(kept.values())}}

    return stats


def bound(event):
    """Cut long strings, and leave out numbers that JSON does not have. Values may be nested to any depth."""
    todo = [event]

    while todo:
        values = todo.pop()

        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            if isinstance(value, (dict, list)):
                todo.append(value)
            elif isinstance(value, str):
                values[key] = value[:MAX_STRING]
            elif isinstance(value, float) and not math.isfinite(value):
                values[key] = None


def encode(event):
    """Return the line of an event. An event without a type is text."""
    if event.setdefault("event", "verbose") == "playbook_on_stats":
        event = {**event, "event_data": compact(event["event_data"])}

    bound(event)

    return json.dumps(event).encode() + b"\n"


class Filter(ansible_runner.runner.OutputEventFilter):
    """Finds events in the display of a play.

    The callback plugin marks an event with its id, and writes the data of the event into
    a file. The display also contains untrusted values, for example of hosts: a mark with
    anything other than an id is not an event.
    """

    # The length of the lines that the callback plugin writes.
    EVENT_DATA_RE = re.compile(r"\x1b\[K([A-Za-z0-9+/=]{1,76}\x1b\[\d+D)\x1b\[K")

    def _emit_event(self, buffered_stdout, next_event_data=None):
        ident = next_event_data.get("uuid") if isinstance(next_event_data, dict) else None
        known = isinstance(ident, str) and re.fullmatch(r"[0-9A-Za-z-]+", ident)

        return super()._emit_event(buffered_stdout, {"uuid": ident} if known else {})


def start(argv, cwd, env, output):
    """Start a play that writes all its output to a descriptor."""
    return subprocess.Popen(
        argv, cwd=cwd, env=env, start_new_session=True, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


class Play:
    """Replaces pexpect.spawn in ansible-runner, without a terminal.

    Its attribute argv is the argv of the play, and write is a function that writes an event.

    A terminal belongs to its user: another run of the same user could open it, and
    write into the output of this one.
    """

    def __init__(self, *_, cwd, env, **__):
        output, theirs = os.pipe()
        self._process = start(self.argv, cwd, env, theirs)
        os.close(theirs)

        # The reason of a cold start in a warm process.
        if cold := getattr(self._process, "cold", ""):
            self.write({"event": "start", "uuid": "start", "event_data": {"cold": cold}})

        self._output = os.fdopen(output, "rb", 0)
        self._waiting = [self._output, os.pidfd_open(self._process.pid)]
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.pid = self._process.pid
        self.logfile_read = None

    def isalive(self):
        return self._process.poll() is None

    def expect(self, patterns, timeout=None, **_):
        """Wait until the play writes output or ends, and write the output to logfile_read.

        Prompts get no answer, so that only the timeout among the patterns matches.
        """
        if self.isalive():
            select.select(self._waiting, [], [], timeout)

        if self._output in self._waiting and select.select([self._output], [], [], 0)[0]:
            # The largest capacity of a pipe: all output that is left when the play has ended.
            data = self._output.read(1 << 20)
            self.logfile_read.write(self._decode(data, final=not data))

            if not data:
                self._waiting.remove(self._output)

        return patterns.index(pexpect.TIMEOUT) if isinstance(patterns, list) else 0

    def close(self):
        self._output.close()

    @property
    def exitstatus(self):
        """The exit status in the notation of shells: 128 + the signal."""
        code = self._process.returncode
        return code if code >= 0 else 128 - code


def version(text):
    """The first two numbers of a version."""
    return [int(number) for number in re.findall(r"\d+", text)[:2]]


@functools.cache
def versions():
    """Return the versions of the installed tools."""
    found = {"ansibleRunner": importlib.metadata.version("ansible-runner"), "python": platform.python_version()}

    try:
        found["ansibleCore"] = importlib.import_module("ansible.release").__version__
    except ImportError:
        pass  # ansible-playbook has a Python of its own.

    return found


def tools(core, runner):
    """Return the versions of the installed tools, and why they are too old, given the oldest supported ones."""
    found = versions()
    unfit = [
        f"{name} {found[key]} is too old: {oldest} or newer is needed"
        for name, key, oldest in (("ansible-core", "ansibleCore", core), ("ansible-runner", "ansibleRunner", runner))
        if key in found and version(found[key]) < version(oldest)
    ]

    return {**found, "unfit": "; ".join(unfit)}


def main(directory, facts, core, runner, *argv):
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def write(event):
        events.write(encode(event))
        events.flush()
        return False  # ansible-runner writes no file of the event.

    found = tools(core, runner)
    write({"event": "versions", "uuid": IDENT, "event_data": found})

    if found["unfit"]:
        return 1

    Play.argv, Play.write = list(argv), staticmethod(write)
    ansible_runner.runner.pexpect.spawn = Play
    ansible_runner.runner.OutputEventFilter = Filter

    # Events are read from the stream: a file of the output would be a second copy. fact_cache may be an absolute path.
    settings = {"suppress_output_file": True, "fact_cache": facts or "fact_cache"}

    return ansible_runner.run(
        private_data_dir=directory, playbook=argv[-1], ident=IDENT, settings=settings, quiet=True, event_handler=write,
    ).rc


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
