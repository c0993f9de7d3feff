"""Print the names that mean something to Ansible or Jinja2, as JSON."""

import json
import keyword

import jinja2.defaults
import jinja2.parser
from ansible import constants
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar, trust_as_template
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

init_plugin_loader([])
loader = DataLoader()


def magic():
    """Variables of a task that are not set."""
    inventory = InventoryManager(loader=loader, sources=["web1,"])
    manager = VariableManager(loader=loader, inventory=inventory)
    HostVars(inventory=inventory, variable_manager=manager, loader=loader)
    play = Play().load({"hosts": "all", "tasks": [{"debug": {}}]}, variable_manager=manager, loader=loader)
    found = manager.get_vars(play=play, host=inventory.get_hosts()[0], task=play.get_tasks()[0][0])
    return set(found) | set(constants.INTERNAL_STATIC_VARS)


def functions():
    """What templates can call."""
    return set(Templar(loader, {}).environment.globals) | set(jinja2.defaults.DEFAULT_NAMESPACE)


def words():
    """What is no variable where an expression has it."""
    found = set()
    candidates = set(keyword.kwlist) | set(keyword.softkwlist) | set(jinja2.parser._statement_keywords)
    candidates |= {"caller", "context", "false", "item", "kwargs", "loop", "none", "self", "super", "true", "varargs"}
    for word in candidates:
        for text, want in ("{{ %s }}", "value"), ("{{ %s ~ 1 }}", "value1"), ("{{ 1 ~ %s }}", "1value"), ("{{ [%s] | first }}", "value"):
            try:
                if Templar(loader, {word: "value"}).template(trust_as_template(text % word)) != want:
                    found.add(word)
            except Exception:
                found.add(word)
    return found


def settings(definitions):
    """Variables that are settings."""
    if isinstance(definitions, dict):
        for v in definitions.get("vars") or []:
            if isinstance(v, dict) and "name" in v:
                yield v["name"]
        for d in definitions.values():
            yield from settings(d)


print(json.dumps({
    "magic": sorted(magic()),
    "functions": sorted(functions()),
    "words": sorted(words()),
    "settings": sorted(set(settings(constants.config.get_configuration_definitions()))),
}))
