# SPDX-License-Identifier: Apache-2.0

"""Read an inventory with the plugin that it names, whatever the name of its file."""

from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.plugins.loader import inventory_loader

DOCUMENTATION = """
name: named
short_description: an inventory with the name of its plugin in it
description:
  - Many inventory plugins accept only certain names of files. The inventory of an AnsibleRun has none.
  - This plugin reads such an inventory with the plugin that it names.
author: [crossplane-ansible]
"""


class InventoryModule(BaseInventoryPlugin):
    NAME = "crossplane.ansible.named"

    @staticmethod
    def _named(loader, path):
        return inventory_loader.get(loader.load_from_file(path, cache="none")["plugin"])

    def verify_file(self, path):
        # An error means that the file is no configuration of a plugin. Ansible takes an error for False.
        return super().verify_file(path) and not self._named(DataLoader(), path).verify_file(path)

    def parse(self, inventory, loader, path, cache=True):
        plugin = self._named(loader, path)
        # The plugin auto does the same: from 2.19 on Ansible asks _target_plugin whether templates are trusted.
        inventory._target_plugin = plugin
        plugin.parse(inventory, loader, path, cache=cache)

        if hasattr(plugin, "update_cache_if_changed"):
            plugin.update_cache_if_changed()
