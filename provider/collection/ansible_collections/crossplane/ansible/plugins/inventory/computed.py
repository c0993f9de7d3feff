# SPDX-License-Identifier: Apache-2.0

"""Add groups and hosts with names that the author of an XR may have chosen.

The names must be new: a name of another inventory would give its variables, for example a password, to a host of the
author's choice. Ansible reads inventories in their order, and this one last, so that it knows all others, whichever
plugins and scripts they come from.
"""

import os
import sys

from ansible.plugins.inventory import BaseFileInventoryPlugin
from ansible.plugins.inventory.yaml import InventoryModule as Groups

DOCUMENTATION = """
name: computed
short_description: Hosts and groups with computed names
description:
  - Reads inventories that function-ansible generates. It is for internal use.
options:
  plugin: {description: The name of this plugin., type: str, required: true}
  names: {description: The computed names of hosts and groups., type: list, elements: str, required: true}
  inventory: {description: An inventory as in YAML., type: dict, required: true}
"""

REFUSED = (
    "inventory: computed names must be new, and these are also in another inventory of the run, or in host_vars or "
    "group_vars of its project: "
)
# The number of names in a message.
SHOWN = 10


def with_variables(project):
    """Return the hosts and groups for which a project has variables, beside any inventory or playbook."""
    for path, directories, _ in os.walk(project):
        for name in {"host_vars", "group_vars"}.intersection(directories):
            for entry in os.listdir(os.path.join(path, name)):
                yield from (entry, os.path.splitext(entry)[0])


class InventoryModule(Groups):
    NAME = "crossplane.ansible.computed"

    def verify_file(self, path):
        return BaseFileInventoryPlugin.verify_file(self, path)

    def parse(self, inventory, loader, path, cache=True):
        BaseFileInventoryPlugin.parse(self, inventory, loader, path, cache)

        config = self._read_config_data(path)
        taken = {*inventory.hosts, *inventory.groups, *with_variables(os.getcwd())}

        if found := sorted(taken.intersection(config["names"])):
            # After an error, Ansible would try other plugins, and its configuration may ignore the failure.
            sys.exit("[ERROR]: " + REFUSED + ", ".join(found[:SHOWN]))

        for name, group in config["inventory"].items():
            self._parse_group(name, group)
