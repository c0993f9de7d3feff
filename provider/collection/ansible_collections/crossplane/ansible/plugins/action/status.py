# SPDX-License-Identifier: Apache-2.0

"""Report outputs and conditions: the provider reads the result of the task."""

import json
import math
import re

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# The provider has the same limits.
MAX_OUTPUTS = 64 << 10
MAX_CONDITIONS = 20
MAX_MESSAGE = 4 << 10
MAX_DEPTH = 64

# Kubernetes keeps integers of 64 bits exactly.
MAX_INTEGER = (1 << 63) - 1

# Types that content must not set.
RESERVED = (
    "Approved",
    "Checkable",
    "Confined",
    "ContentUpToDate",
    "Deletable",
    "DependentsWatched",
    "Healthy",
    "OutputsWithheld",
    "Permitted",
    "Ready",
    "Responsive",
    "StateAware",
    "Synced",
    "UpToDate",
)

# The rules of metav1.Condition of Kubernetes.
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
TYPE = re.compile(rf"({LABEL}(\.{LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
MAX_TYPE = 316
MAX_REASON = 1024

# The rule of set_stats.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

DETAILS = "connection_details"

ARGUMENTS = {
    "outputs": {"type": "dict"},
    "conditions": {
        "type": "list",
        "elements": "dict",
        "options": {
            "type": {"type": "str", "required": True},
            "status": {"type": "str", "required": True, "choices": ["True", "False", "Unknown"]},
            "reason": {"type": "str", "required": True},
            "message": {"type": "str", "default": ""},
        },
    },
}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _VALID_ARGS = frozenset(ARGUMENTS)
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp=None, task_vars=None):
        if self._task.no_log:
            raise AnsibleActionFail(
                "no_log hides what this task is to report: leave it out here, and publish secrets with"
                f" ansible.builtin.set_stats under {DETAILS}"
            )

        result = super().run(tmp, task_vars)

        _, args = self.validate_argument_spec(argument_spec=ARGUMENTS, required_one_of=[("outputs", "conditions")])

        return {
            **result,
            "changed": False,
            "reported": not self._task.check_mode,
            "outputs": outputs(self.named(args.get("outputs") or {})),
            "conditions": conditions(args.get("conditions") or []),
        }

    def named(self, given):
        """Return outputs with their names templated, as set_stats does."""
        return {self._templar.template(name): item for name, item in given.items()}


def outputs(given):
    for name in given:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise AnsibleActionFail(
                f"outputs: {name!r} is no name of an output: it must start with a letter or an underscore, and have"
                " only letters, digits and underscores"
            )

    if DETAILS in given:
        raise AnsibleActionFail(
            f"outputs: {DETAILS} would be public here: publish it with ansible.builtin.set_stats, which puts it into"
            " the connection secret"
        )

    plain = {str(name): value(item, f"outputs.{name}") for name, item in given.items()}
    size = len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))

    if size > MAX_OUTPUTS:
        raise AnsibleActionFail(f"outputs: {size} bytes of JSON are too many, at most {MAX_OUTPUTS} can be kept")

    return plain


def value(item, path, depth=0):
    """Return a copy that is plain JSON. A value that JSON cannot express is an error."""
    if depth > MAX_DEPTH:
        raise AnsibleActionFail(f"{path}: is nested too deeply, at most {MAX_DEPTH} levels can be kept")

    if item is None or isinstance(item, bool):
        return item

    if isinstance(item, int):
        if -MAX_INTEGER - 1 <= item <= MAX_INTEGER:
            return item

        raise AnsibleActionFail(f"{path}: Kubernetes does not keep the number {item} exactly: write it as a string")

    if isinstance(item, float):
        if math.isfinite(item):
            return item

        raise AnsibleActionFail(f"{path}: JSON has no number {item}: write it as a string")

    if isinstance(item, str):
        return str(item)

    if isinstance(item, (list, tuple)):
        return [value(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(item)]

    if not isinstance(item, dict):
        kind = type(item).__name__.removeprefix("_AnsibleTagged").lower()
        raise AnsibleActionFail(f"{path}: JSON has no {kind}: write it as a string, in quotes")

    for name in item:
        if not isinstance(name, str):
            raise AnsibleActionFail(f"{path}: the key {name!r} must be a string: write it in quotes")

    return {str(k): value(v, f"{path}.{k}", depth + 1) for k, v in item.items()}


def conditions(given):
    if len(given) > MAX_CONDITIONS:
        raise AnsibleActionFail(f"conditions: {len(given)} are too many, at most {MAX_CONDITIONS} can be kept")

    seen = set()

    for i, c in enumerate(given):
        problem = mistake(c)
        if problem is None and c["type"] in seen:
            problem = f"type {c['type']!r} is there twice"

        if problem is not None:
            raise AnsibleActionFail(f"conditions[{i}]: {problem}")

        seen.add(c["type"])

    return [{k: str(c[k]) for k in ("type", "status", "reason", "message")} for c in given]


def mistake(c):
    """Return the mistake in a condition, or None."""
    size = len(c["message"].encode(errors="replace"))

    if not TYPE.fullmatch(c["type"]) or len(c["type"]) > MAX_TYPE:
        return (
            f"type {c['type'][:MAX_TYPE]!r} must be one word in CamelCase such as DatabaseReachable, or one qualified"
            f" by a DNS name such as example.org/DatabaseReachable, at most {MAX_TYPE} characters long"
        )

    if c["type"] in RESERVED:
        return f"type {c['type']!r} is not the content's to set: choose another, such as Site{c['type']}"

    if not REASON.fullmatch(c["reason"]) or len(c["reason"]) > MAX_REASON:
        return (
            f"reason {c['reason'][:80]!r} must be one word in CamelCase such as ConnectionRefused, at most"
            f" {MAX_REASON} characters long; explain it in message"
        )

    if size > MAX_MESSAGE:
        return f"message has {size} bytes, which are too many: at most {MAX_MESSAGE} can be kept"

    return None
